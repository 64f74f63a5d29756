use quote::quote;

use super::*;
use crate::ast::{MemberKind, RequirementKind, SignatureKind, TypeKind};
use crate::ir::{Comparison, GenericKind, Receiver};

fn messages(errors: &[Diagnostic]) -> Vec<String> {
    errors
        .iter()
        .map(|error| format!("{}: {}", text(&error.tokens), error.rule.message()))
        .collect()
}

#[test]
fn a_block_with_every_kind_of_member() {
    let parsed = parse_struct(quote! {
        /// Docs.
        #[require(H % Heads == 0, 0 < Heads)]
        pub struct Attention<H: Dim, Heads: Dim = Const<4>, T: Float = bf16> {
            #[param] weight: Tensor![H, 3 * H; T],
            #[param] bias: Option<Tensor![H; T]>,
            #[state] cache: Tensor![Heads, H / Heads; T],
            sub: Linear<H, { 4 * H }, T>,
            many: [nn::Block<H, 2, f32>; Heads],
            maybe: Option<Norm<H>>,
        }
    })
    .unwrap();
    assert_eq!(messages(&parsed.errors), [""; 0]);
    let block = parsed.item;
    assert_eq!(block.attrs.len(), 1);
    assert_eq!(block.requires.len(), 2);
    assert_eq!(
        block.generics.iter().map(|g| g.kind).collect::<Vec<_>>(),
        [GenericKind::Dim, GenericKind::Dim, GenericKind::Float]
    );
    let kinds: Vec<_> = block
        .members
        .iter()
        .map(|member| match &member.kind {
            MemberKind::Param(ty) => match ty.kind {
                TypeKind::Option(_) => "param?".to_owned(),
                _ => "param".to_owned(),
            },
            MemberKind::State(_) => "state".to_owned(),
            MemberKind::Sub {
                ty,
                length,
                optional,
            } => format!(
                "{} {} {} {}",
                text(&ty.path),
                ty.args.len(),
                length.is_some(),
                optional
            ),
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "param",
            "param?",
            "state",
            "Linear 3 false false",
            "nn::Block 3 true false",
            "Norm 1 false true"
        ]
    );
}

#[test]
fn functions_with_receivers_packs_and_requirements() {
    let parsed = parse_impl(quote! {
        impl Model {
            #[entry]
            #[require(pos + S <= MaxSeq, 0 <= tokens, distinct(slots))]
            pub fn prefill<S: Dim>(
                &mut self, tokens: Tensor![Batch, S; i32], slots: Tensor![S; i32], pos: i32,
            ) -> Tensor![Batch, Vocab; T] {
                x
            }
            fn helper<S: Shape>(&self, x: Tensor![*S, H; T]) -> (Tensor![*S; T], Option<f32>) {
                x
            }
        }
    })
    .unwrap();
    assert_eq!(messages(&parsed.errors), [""; 0]);
    let [prefill, helper] = parsed.item.functions.as_slice() else {
        panic!("two functions");
    };
    assert!(prefill.entry && !helper.entry);
    assert_eq!(
        (prefill.receiver, helper.receiver),
        (Receiver::Mut, Receiver::Ref)
    );
    assert_eq!(prefill.params.len(), 3);
    assert!(matches!(
        prefill.requires[0].kind,
        RequirementKind::Compare(_, Comparison::Le, _)
    ));
    assert!(matches!(
        prefill.requires[2].kind,
        RequirementKind::Distinct(_)
    ));
    assert_eq!(helper.generics[0].kind, GenericKind::Shape);
    assert!(matches!(&helper.ret.kind, TypeKind::Tuple(parts) if parts.len() == 2));
}

#[test]
fn an_operation_with_a_kernel_and_an_updated_tensor() {
    let parsed = parse_op(
        quote!(kernel = gelu),
        quote! {
            pub fn write_at<S: Dim, T: DType>(cache: &mut Tensor![S; T], x: Tensor![S; T], pos: i32) {
                *cache = x;
            }
        },
    )
    .unwrap();
    assert_eq!(messages(&parsed.errors), [""; 0]);
    assert_eq!(text(parsed.item.kernel.unwrap()), "gelu");
    assert!(parsed.item.function.params[0].by_mut);
    assert!(!parsed.item.function.params[1].by_mut);
}

#[test]
fn every_error_of_a_block_is_reported() {
    let parsed = parse_struct(quote! {
        #[require(H = 3)]
        struct B<H: Dim, S: Shape, T: Float, U: Clone, const N: usize> {
            weight: Tensor![H; T],
            #[param] sub: Linear<H>,
            #[param] #[state] both: Tensor![H; T],
            scale: f32,
            eps: T,
            #[param] wide: Tensor![H; f64],
            #[param] shape: Tensor![H && 2; f32],
        }
    })
    .unwrap();
    assert_eq!(
        messages(&parsed.errors),
        [
            "H = 3: a requirement is a comparison, `distinct(..)` or `packed(..)`",
            "Clone: `Clone` is no kind of generic",
            "const N: usize: `B` has only type parameters",
            "S: a block has no shape pack",
            "weight: the tensor `weight` is neither `#[param]` nor `#[state]`",
            "#[param]: `sub` is a block, which has its own params and states",
            "#[state]: a member is either `#[param]` or `#[state]`",
            "f32: a member is a tensor or a block, not a scalar",
            "T: a member is a tensor or a block, not a scalar",
            "f64: `f64` is no dtype",
            "&&: `&&` is no operator of dimensions",
        ]
    );
}

#[test]
fn every_error_of_a_function_is_reported() {
    let parsed = parse_impl(quote! {
        impl B {
            pub async fn f(self, mut x: f32, (a, b): (f32, f32), y: &Tensor![H; T]) -> usize { x }
            fn no_block(x: f32) {}
            const N: usize = 1;
        }
    })
    .unwrap();
    assert_eq!(
        messages(&parsed.errors),
        [
            "async: functions here are not `async`",
            "self: a function takes its block as `&self` or `&mut self`",
            "mut: a parameter is not `mut`",
            "(a, b): a parameter is a plain name",
            "&Tensor![H; T]: values are passed without references here",
            "usize: `usize` is no dtype",
            "no_block: `no_block` takes no block",
            "const N: usize = 1;: a block has only functions",
        ]
    );
}

#[test]
fn an_impl_that_repeats_the_generics_is_one_error() {
    for tokens in [
        quote!(
            impl<H: Dim> B<H> {}
        ),
        quote!(impl B<H> {}),
        quote!(
            impl<H: Dim> B {}
        ),
    ] {
        let parsed = parse_impl(tokens).unwrap();
        assert_eq!(parsed.errors.len(), 1);
        assert_eq!(
            parsed.errors[0].rule.message(),
            "the generics of a block are not repeated"
        );
    }
    let errors = parse_impl(quote!(impl a::B {})).unwrap_err();
    assert_eq!(
        messages(&errors),
        ["a::B: `#[block] impl` names a block of the same module"]
    );
    let parsed = parse_impl(quote!(impl Clone for B {})).unwrap();
    assert_eq!(
        messages(&parsed.errors),
        ["Clone: a block implements no trait here"]
    );
}

#[test]
fn an_entry_is_one_that_plain_rust_can_call() {
    let parsed = parse_impl(quote! {
        impl B {
            #[entry]
            fn f<N: Dim, M: Dim, T: Float>(&self, x: (f32, f32), y: Tensor![N * M; f32]) {}
            fn g<N: Dim>(&self, x: (f32, f32)) -> Tensor![N; f32] {}
            #[entry(now)]
            #[test]
            fn h(&self) {}
        }
    })
    .unwrap();
    assert_eq!(
        messages(&parsed.errors),
        [
            "(f32, f32): an entry has no tuple as a parameter",
            "N: no argument of the entry determines `N`",
            "M: no argument of the entry determines `M`",
            "T: no argument of the entry determines `T`",
            "#[entry(now)]: `#[entry]` takes no arguments",
            "#[test]: a function here has no such attribute",
        ]
    );
}

#[test]
fn an_operation_may_not_take_a_name_of_the_language() {
    let parsed = parse_op(
        quote!(),
        quote!(
            fn exp(x: f32) -> f32 {
                x
            }
        ),
    )
    .unwrap();
    assert_eq!(
        messages(&parsed.errors),
        ["exp: `exp` is a function of the language itself"]
    );
    let parsed = parse_op(
        quote!(kernels = a),
        quote!(
            fn f(x: f32) -> f32 {
                x
            }
        ),
    )
    .unwrap();
    assert_eq!(
        messages(&parsed.errors),
        ["kernels = a: `#[op]` has no such argument"]
    );
}

#[test]
fn callees_are_found_in_nested_bodies_once_and_never_builtins() {
    let file = parse_file(
        "
        #[block]
        struct B<T: Float> { a: nn::Linear<1, 2, T>, many: [Block<T>; 3], own: Option<B<T>> }
        #[block]
        impl B {
            fn f(&self, x: Tensor![1; T]) -> Tensor![1; T] {
                let y = if true { first(x) } else { ops::second::<1, _>(exp(x)) };
                for i in 0..3 { third(first(y)); }
                match self.own { Some(z) => { let w = (fourth(z), 1); w.0 } None => fifth(x) };
                let c = { self.f(sixth(x)) };
                let q = index!([i] = exp(x[i]));
                min(-seventh(x), T::eighth(x), Self::ninth(x)).reshape([tenth(1)])
            }
        }
        ",
    )
    .unwrap();
    let (block, implementation) = &file.blocks[0];
    let paths: Vec<_> = block_callee_paths(implementation, block)
        .iter()
        .map(text)
        .collect();
    assert_eq!(
        paths,
        [
            "nn::Linear",
            "Block",
            "first",
            "ops::second",
            "third",
            "fourth",
            "fifth",
            "sixth",
            "seventh",
            "tenth"
        ]
    );
}

#[test]
fn a_file_gives_signatures_without_bodies() {
    let file = parse_file(
        "
        pub mod ops { #[linnet_runtime::op] pub fn f(x: f32) -> f32 { x } }
        #[block] pub struct B { a: C }
        #[block] impl B { pub fn g(&self, x: f32) -> f32 { ops::f(x) } }
        fn plain() {}
        ",
    )
    .unwrap();
    assert!(file.errors.is_empty());
    let paths = [
        syn::parse_quote!(ops::f),
        syn::parse_quote!(B),
        syn::parse_quote!(missing),
    ];
    let signatures = file.signatures(&paths);
    assert_eq!(signatures.len(), 2);
    assert!(matches!(&signatures[0].kind, SignatureKind::Op(op) if op.function.body.is_none()));
    assert!(
        matches!(&signatures[1].kind, SignatureKind::Block(_, functions) if functions[0].body.is_none())
    );
}
