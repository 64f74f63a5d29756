use proc_macro2::TokenStream;
use quote::quote;

use super::*;
use crate::syntax::{self, SourceFile};

fn parse(source: &str) -> SourceFile {
    let file = syntax::parse_file(source).unwrap();
    assert!(file.errors.is_empty(), "{:?}", file.errors);
    file
}

/// The text of tokens, whichever way they end lists of generics.
fn plain(tokens: impl ToString) -> String {
    let text = tokens.to_string().replace(">>", "> >");
    text.replace(", >", ">")
        .replace(" >", ">")
        .replace(" <", "<")
}

/// `tokens` must hold `part` as a run of tokens.
#[track_caller]
fn assert_has(tokens: &TokenStream, part: TokenStream) {
    let (text, part) = (plain(tokens), plain(part));
    assert!(text.contains(&part), "`{part}` is not in\n{text}");
}

#[track_caller]
fn assert_lacks(tokens: &TokenStream, part: TokenStream) {
    let (text, part) = (plain(tokens), plain(part));
    assert!(!text.contains(&part), "`{part}` is in\n{text}");
}

/// The Rust items of the only operation of a source.
fn op(source: &str) -> TokenStream {
    let file = parse(source);
    let tokens = emit_op(&file.ops[0], 7);
    syn::parse2::<syn::File>(tokens.clone()).unwrap();
    tokens
}

/// The Rust items of the only block of a source.
fn block(source: &str) -> TokenStream {
    let file = parse(source);
    let (block, functions) = &file.blocks[0];
    let mut tokens = emit_struct(block);
    tokens.extend(emit_block(block, functions, 7));
    syn::parse2::<syn::File>(tokens.clone()).unwrap();
    tokens
}

#[test]
fn a_struct_has_the_generics_of_its_block_and_no_members() {
    let tokens = block(
        "
        /// Docs.
        #[block]
        #[require(H > 0)]
        pub struct B<H: Dim, N: Dim = Const<3>, T: Float = bf16, I: Int = i8, A: DType = bool> {
            #[param] weight: Tensor![H; T],
        }
        #[block]
        impl B {}
        ",
    );
    let members = "\n# Members\n\n```text\n#[require(H > 0)]\n#[param] weight: Tensor![H; T]\n```";
    assert_has(
        &tokens,
        quote! {
            #[doc = " Docs."]
            #[doc = #members]
            #[allow(dead_code)]
            pub struct B<
                H: ::linnet_runtime::Dim,
                N: ::linnet_runtime::Dim = ::linnet_runtime::Const<3>,
                T: ::linnet_runtime::Float = ::linnet_runtime::bf16,
                I: ::linnet_runtime::Int = ::core::primitive::i8,
                A: ::linnet_runtime::Element = ::core::primitive::bool
            >
        },
    );
    assert_has(
        &tokens,
        quote! {
            ::std::vec![
                ::linnet_runtime::StaticArg::Dim(<H as ::linnet_runtime::Dim>::STATIC),
                ::linnet_runtime::StaticArg::Dim(<N as ::linnet_runtime::Dim>::STATIC),
                ::linnet_runtime::StaticArg::DType(<T as ::linnet_runtime::Element>::DTYPE),
                ::linnet_runtime::StaticArg::DType(<I as ::linnet_runtime::Element>::DTYPE),
                ::linnet_runtime::StaticArg::DType(<A as ::linnet_runtime::Element>::DTYPE)
            ]
        },
    );
    assert_has(
        &tokens,
        quote!(::linnet_runtime::__private::is_block::<
            B<
                ::linnet_runtime::Dyn,
                ::linnet_runtime::Dyn,
                ::core::primitive::f32,
                ::core::primitive::i32,
                ::core::primitive::f32,
            >,
        >()),
    );
    assert_has(&tokens, quote!(::core::fmt::Debug for B));
    assert_lacks(&tokens, quote!(weight:));
}

#[test]
fn documentation_shows_members_and_functions_as_written() {
    let file = parse(
        "
        /// Docs.
        #[block]
        pub struct B<H: Dim, T: Float> {
            /// What it is.
            many: [nn::Linear<H, { 4 * H }, T>; 1 + 2],
            maybe: Option<Norm<H>>,
            #[state] cache: Tensor![H / 2; T],
        }
        #[block]
        impl B {
            /// Adds.
            /// ```
            #[require(0 <= pos, distinct(slots))]
            pub fn f<S: Shape>(&mut self, x: Tensor![*S, H; T], slots: Tensor![3; i32], pos: i32)
                -> Tensor![*S, H; T] { x }
            pub fn g(&self) {}
            fn own(&self) {}
        }
        ",
    );
    let (block, functions) = &file.blocks[0];
    assert_eq!(
        docs::members(block),
        "
# Members

```text
/// What it is.
many: [nn::Linear<H, { 4 * H }, T>; 1 + 2]
maybe: Option<Norm<H>>
#[state] cache: Tensor![H / 2; T]
```"
    );
    assert_eq!(
        docs::functions(&functions.functions),
        "The functions that other blocks call on it.

```text
/// Adds.
/// '''
#[require(0 <= pos, distinct(slots))]
fn f<S: Shape>(&mut self, x: Tensor![*S, H; T], slots: Tensor![3; i32], pos: i32) -> Tensor![*S, H; T]
```

```text
fn g(&self)
```"
    );
}

#[test]
fn an_author_who_derives_debug_has_it_once() {
    let tokens = block("#[block] #[derive(Clone, Debug)] struct B { } #[block] impl B {}");
    assert_has(&tokens, quote!(#[derive(Clone, Debug)]));
    assert_lacks(&tokens, quote!(::core::fmt::Debug for B));
}

#[test]
fn only_entries_become_methods() {
    let tokens = block(
        "
        #[block]
        pub struct B<H: Dim, Batch: Dim, T: Float> {}
        #[block]
        impl B {
            /// Docs.
            #[entry]
            #[require(S > 0)]
            pub fn prefill<S: Dim>(&mut self, tokens: Tensor![Batch, S; i32], pos: i32)
                -> Tensor![Batch, 3 * H; T] { x }
            pub fn forward(&self, x: Tensor![H; T]) -> Tensor![H; T] { x }
            #[entry]
            fn read(&self, bias: Option<Tensor![1 + 1; T]>) -> (Tensor![; T], Option<T>) { x }
            #[entry]
            fn nothing(&self) {}
        }
        ",
    );
    assert_has(
        &tokens,
        quote! {
            #[doc = " Docs."]
            #[doc = ""]
            #[doc = "# Errors"]
        },
    );
    assert_has(
        &tokens,
        quote! {
            pub fn prefill<S: ::linnet_runtime::Dim>(
                &mut self,
                tokens: &::linnet_runtime::Tensor<(Batch, S,), ::core::primitive::i32>,
                pos: ::core::primitive::i32
            ) -> ::linnet_runtime::Result<::linnet_runtime::Tensor<
                (Batch, ::linnet_runtime::dim::Mul<::linnet_runtime::Const<3>, H>,), T
            >> {
                self.__instance.call("prefill", &mut [
                    ::linnet_runtime::IntoArgument::into_argument(tokens),
                    ::linnet_runtime::IntoArgument::into_argument(pos)
                ])?.into_typed()
            }
        },
    );
    assert_has(
        &tokens,
        quote! {
            fn read(
                &self,
                bias: ::core::option::Option<&::linnet_runtime::Tensor<(::linnet_runtime::Const<2>,), T>>
            ) -> ::linnet_runtime::Result<(
                ::linnet_runtime::Tensor<(), T>,
                ::core::option::Option<T>,
            )>
        },
    );
    assert_has(
        &tokens,
        quote!(fn nothing(&self,) -> ::linnet_runtime::Result<()>),
    );
    assert!(!tokens.to_string().contains("fn forward <"));
    assert_eq!(tokens.to_string().matches("fn forward").count(), 1);
}

#[test]
fn an_operation_is_a_function_and_a_type_of_one_name() {
    let tokens = op("
        #[op]
        pub(crate) fn write<N: Dim, T: DType>(cache: &mut Tensor![N; T], x: Tensor![N; T]) {}
    ");
    assert_has(
        &tokens,
        quote!(
            pub(crate) enum write {}
        ),
    );
    assert_has(&tokens, quote!(impl ::linnet_runtime::Op for write));
    assert_has(
        &tokens,
        quote! {
            pub(crate) fn write<N: ::linnet_runtime::Dim, T: ::linnet_runtime::Element>(
                cache: &mut ::linnet_runtime::Tensor<(N,), T>,
                x: &::linnet_runtime::Tensor<(N,), T>
            ) -> ::linnet_runtime::Result<()>
        },
    );
}

#[test]
fn a_lone_pack_is_a_shape_and_a_pack_beside_others_an_open_one() {
    let tokens = op("#[op] fn f<S: Shape, T: Float>(x: Tensor![*S; T]) -> Tensor![*S; T] { x }");
    assert_has(&tokens, quote!(x: &::linnet_runtime::Tensor<S, T>));
    assert_has(
        &tokens,
        quote!(::linnet_runtime::Result<::linnet_runtime::Tensor<S, T>>),
    );

    let tokens = op("
        #[op]
        fn linear<S: Shape, In: Dim, Out: Dim, T: Float>(
            x: Tensor![*S, In; T], w: Tensor![Out, In; T],
        ) -> Tensor![*S, Out; T] { x }
    ");
    assert_has(
        &tokens,
        quote! {
            fn linear<In: ::linnet_runtime::Dim, Out: ::linnet_runtime::Dim, T: ::linnet_runtime::Float>(
                x: &::linnet_runtime::Tensor<impl ::linnet_runtime::Shape, T>,
                w: &::linnet_runtime::Tensor<(Out, In,), T>
            ) -> ::linnet_runtime::Result<::linnet_runtime::Tensor<::linnet_runtime::AnyShape, T> >
        },
    );
}

#[test]
fn what_no_type_tells_is_open_and_what_no_argument_tells_has_no_function() {
    let tokens = op("
        #[op]
        fn halve<N: Dim, T: Float>(x: Tensor![2 * N; T]) -> Tensor![N, N + 1; T] { x }
    ");
    assert_has(
        &tokens,
        quote! {
            fn halve<T: ::linnet_runtime::Float>(
                x: &::linnet_runtime::Tensor<(impl ::linnet_runtime::Dim,), T>
            ) -> ::linnet_runtime::Result<::linnet_runtime::Tensor<
                (::linnet_runtime::Dyn, ::linnet_runtime::Dyn,), T
            >>
        },
    );
    let tokens =
        op("#[op] fn split<A: Dim, B: Dim>(x: Tensor![A * B; f32]) -> Tensor![A, B; f32] { x }");
    assert_has(
        &tokens,
        quote!(
            enum split {}
        ),
    );
    assert_lacks(&tokens, quote!(fn split));
}

#[test]
fn names_that_the_checker_reports_are_kept_from_rustc() {
    let tokens = block(
        "
        #[block]
        struct B<H: Dim, T: Float = i32> {}
        #[block]
        impl B {
            #[entry]
            fn f<H: Dim>(&self, x: Tensor![H, Missing; Absent], y: Tensor![T; H]) -> Lost { x }
            #[entry]
            fn f(&self) {}
        }
        ",
    );
    for name in ["Missing", "Absent", "Lost"] {
        assert!(!tokens.to_string().contains(name), "{name}");
    }
    assert_has(
        &tokens,
        quote!(struct B<H: ::linnet_runtime::Dim, T: ::linnet_runtime::Float>),
    );
    assert_eq!(tokens.to_string().matches("fn f (").count(), 1);
}

#[test]
fn constants_of_a_descriptor_keep_their_value() {
    use crate::ir::{
        Body, DTypeExpr, DimExpr, Function, Literal, Node, NodeOp, OpDescriptor, Receiver, Type,
    };
    let literal = |literal| Node {
        out: 0,
        ty: Type::Scalar(DTypeExpr::Generic("T".to_owned())),
        op: NodeOp::Literal(literal),
        line: 12,
    };
    let lowered = OpDescriptor {
        function: Function {
            name: "f".to_owned(),
            public: true,
            entry: false,
            receiver: Receiver::None,
            generics: Vec::new(),
            requires: Vec::new(),
            params: Vec::new(),
            ret: Type::Unit,
            body: Body {
                nodes: vec![
                    literal(Literal::Float(-0.5)),
                    literal(Literal::Float(0.1)),
                    literal(Literal::Float(f64::NEG_INFINITY)),
                    literal(Literal::Float(f64::INFINITY)),
                    literal(Literal::Float(f64::NAN)),
                    literal(Literal::Int(i64::MIN)),
                    literal(Literal::Int(-3)),
                    literal(Literal::Bool(true)),
                    Node {
                        op: NodeOp::Dim(DimExpr::Max(
                            Box::new(DimExpr::Generic("H".to_owned())),
                            Box::new(DimExpr::Const(4)),
                        )),
                        ..literal(Literal::Bool(true))
                    },
                ],
                result: Some(3),
            },
            n_values: 9,
        },
        kernel: Some(syn::parse_quote!(gelu)),
    };
    let name = quote::format_ident!("f");
    let tokens = emit_op_descriptor(&name, 7, &lowered);
    syn::parse2::<syn::File>(tokens.clone()).unwrap();
    for value in [
        quote!(Literal::Float(-0.5f64)),
        quote!(Literal::Float(0.1f64)),
        quote!(Literal::Float(::core::primitive::f64::NEG_INFINITY)),
        quote!(Literal::Float(::core::primitive::f64::INFINITY)),
        quote!(Literal::Float(::core::primitive::f64::NAN)),
        quote!(Literal::Int(::core::primitive::i64::MIN)),
        quote!(Literal::Int(-3)),
        quote!(Literal::Bool(true)),
        quote!(__d::DimExpr::Max(
            &__d::DimExpr::Generic("H"),
            &__d::DimExpr::Const(4)
        )),
        quote!(line: 12),
        quote!(result: ::core::option::Option::Some(3)),
        quote!(kernel: ::core::option::Option::Some(&::linnet_runtime::kernel::gelu)),
    ] {
        assert_has(&tokens, value);
    }

    let elsewhere = OpDescriptor {
        kernel: Some(syn::parse_quote!(my::FAST)),
        ..lowered.clone()
    };
    assert_has(
        &emit_op_descriptor(&name, 7, &elsewhere),
        quote!(Some(&my::FAST)),
    );
    let in_scope = OpDescriptor {
        kernel: Some(syn::parse_quote!(LinearKernel)),
        ..lowered
    };
    assert_has(
        &emit_op_descriptor(&name, 7, &in_scope),
        quote!(Some(&LinearKernel)),
    );
}

#[test]
fn tensor_types_outside_blocks() {
    for (tokens, ty) in [
        (quote!(; f32), quote!(::linnet_runtime::Tensor<(), f32>)),
        (
            quote!(Const<1>, S; f32),
            quote!(::linnet_runtime::Tensor<(Const<1>, S,), f32>),
        ),
        (
            quote!(2, 3 * H; bf16),
            quote!(
                ::linnet_runtime::Tensor<
                    (
                        ::linnet_runtime::Const<{ 2 }>,
                        ::linnet_runtime::dim::Mul<::linnet_runtime::Const<{ 3 }>, H>,
                    ),
                    ::linnet_runtime::bf16,
                >
            ),
        ),
        (quote!(*S; T), quote!(::linnet_runtime::Tensor<S, T>)),
        (
            quote!(my::Width, min(A, B); T),
            quote!(::linnet_runtime::Tensor<(my::Width, ::linnet_runtime::dim::Min<A, B>,), T>),
        ),
    ] {
        let found = emit_tensor_type(tokens).unwrap();
        assert_eq!(plain(found), plain(ty));
    }
    for (tokens, message) in [
        (quote!(*S, H; T), "AnyShape"),
        (quote!(H, *S; T), "AnyShape"),
        (quote!(H), "expected `,`"),
        (quote!(H; T, U), "nothing after"),
        (quote!(f(x); T), "expected a dimension"),
    ] {
        let error = emit_tensor_type(tokens).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
