use proc_macro2::TokenStream;
use quote::quote;

use super::*;
use crate::ast::SignatureKind;
use crate::ir::{GenericKind, Receiver};
use crate::syntax;

const SOURCE: &str = "
    /// Docs.
    #[block]
    #[require(H > 0, H % Heads == 0)]
    pub struct Attention<H: Dim, Heads: Dim = Const<2>, T: Float = bf16> {
        /// Docs.
        #[param] weight: Tensor![H, 3 * H; T],
        #[param] bias: Option<Tensor![H; T]>,
        #[state] cache: Tensor![Heads, H / Heads; T],
        sub: nn::Linear<H, { 4 * H }, T>,
        many: [Block<H, 2, f32>; Heads],
        maybe: Option<Norm<H>>,
    }
    #[block]
    impl Attention {
        /// Docs.
        #[entry]
        #[require(S <= H, pos + S <= H, distinct(slots))]
        pub fn prefill<S: Dim>(&mut self, slots: Tensor![S; i32], pos: i32) -> Tensor![S; T] { x }
        fn helper<S: Shape>(&self, x: Tensor![*S, H; T]) -> (Tensor![*S; T], Option<f32>) { x }
        fn nothing(&self) {}
    }
    #[op(kernel = fast)]
    #[require(N > 0)]
    pub fn write<N: Dim, T: DType>(cache: &mut Tensor![N; T], x: Tensor![N; T], pos: i32) {}
";

/// What a chain of the answers of these items ends with.
fn answers(names: &[&str]) -> TokenStream {
    let file = syntax::parse_file(SOURCE).unwrap();
    assert!(file.errors.is_empty(), "{:?}", file.errors);
    let list = names.iter().map(|name| {
        let answer = match *name {
            "Attention" => block_answer(&file.blocks[0].0, &file.blocks[0].1.functions),
            "write" => op_answer(&file.ops[0]),
            _ => broken_answer(),
        };
        let kind = quote::format_ident!("{}", answer.kind);
        let name = quote::format_ident!("{}", name);
        let declaration = answer.declaration;
        quote!({ #kind { crate::of::#name } #declaration })
    });
    quote!(#(#list)*)
}

#[test]
fn a_block_arrives_as_it_was_declared() {
    let parsed = parse_answers(answers(&["Attention"])).unwrap();
    assert!(!parsed.any_broken);
    let [signature] = parsed.signatures.as_slice() else {
        panic!("one signature");
    };
    assert_eq!(syntax::text(&signature.path), "crate::of::Attention");
    let SignatureKind::Block(block, functions) = &signature.kind else {
        panic!("a block");
    };
    assert_eq!(block.name, "Attention");
    assert_eq!(block.requires.len(), 2);
    assert_eq!(
        block
            .generics
            .iter()
            .map(|generic| generic.default.is_some())
            .collect::<Vec<_>>(),
        [false, true, true]
    );
    assert_eq!(block.members.len(), 6);
    let [prefill, helper, nothing] = functions.as_slice() else {
        panic!("three functions");
    };
    assert!(prefill.entry && matches!(prefill.vis, syn::Visibility::Public(_)));
    assert!(!helper.entry && matches!(helper.vis, syn::Visibility::Inherited));
    assert_eq!(prefill.receiver, Receiver::Mut);
    assert_eq!(helper.receiver, Receiver::Ref);
    assert_eq!(prefill.requires.len(), 3);
    assert_eq!(helper.generics[0].kind, GenericKind::Shape);
    assert_eq!(syntax::text(&nothing.ret.tokens), "()");
    assert!(functions.iter().all(|function| function.body.is_none()));

    // To answer again with what arrived changes nothing.
    let again = block_answer(block, functions);
    let first = answers(&["Attention"]).to_string();
    assert!(first.contains(&again.declaration.to_string()));
}

#[test]
fn an_operation_arrives_as_it_was_declared() {
    let parsed = parse_answers(answers(&["write"])).unwrap();
    let SignatureKind::Op(op) = &parsed.signatures[0].kind else {
        panic!("an operation");
    };
    assert_eq!(op.function.name, "write");
    assert_eq!(
        op.function
            .params
            .iter()
            .map(|param| param.by_mut)
            .collect::<Vec<_>>(),
        [true, false, false]
    );
    assert_eq!(op.function.requires.len(), 1);
}

#[test]
fn a_broken_item_says_so_and_hides_no_other() {
    let parsed = parse_answers(answers(&["write", "unfinished", "Attention"])).unwrap();
    assert!(parsed.any_broken);
    assert_eq!(parsed.signatures.len(), 2);
}

#[test]
fn an_answer_of_another_form_is_an_error() {
    for tokens in [
        quote!(hello),
        quote!({ block }),
        quote!({ model { Path } { struct X; } {} }),
        quote!({ block { Path } { enum X {} } {} }),
        quote!({ block { Path } { struct X; } }),
        quote!({ op { Path } {} }),
        quote!({ op { Path } { fn f(x: usize); } }),
    ] {
        let error = parse_answers(tokens.clone()).expect_err(&tokens.to_string());
        assert!(error.to_string().contains("version of linnet"), "{error}");
    }
}

#[test]
fn a_chain_asks_each_in_turn_and_ends_with_the_payload() {
    let paths = [
        syn::parse_quote!(Conv1D),
        syn::parse_quote!(crate::nn::gelu),
        syn::parse_quote!(softmax),
    ];
    let asked = ask(&paths, &quote!(::finish), &quote!({ a } { b }));
    assert_eq!(
        asked.to_string(),
        quote! {
            Conv1D! { @ask [] [{crate::nn::gelu} {softmax}] {Conv1D} {{::finish} { { a } { b } }} }
            crate::nn::gelu! { @exists }
            softmax! { @exists }
        }
        .to_string()
    );
    let asked = ask(&[], &quote!(::finish), &quote!({ a }));
    assert_eq!(
        asked.to_string(),
        quote!(::finish! { { { a } } [] }).to_string()
    );
}

#[test]
fn only_a_public_item_exports_its_macro() {
    let name = quote::format_ident!("gelu");
    let answer = broken_answer();
    let public = answer_macro(&name, &syn::parse_quote!(pub), 1, &answer).to_string();
    assert!(public.contains("macro_export"));
    assert!(public.contains("pub use __linnet_gelu_0000000000000001 as gelu"));
    for vis in [syn::parse_quote!(), syn::parse_quote!(pub(crate))] {
        let tokens = answer_macro(&name, &vis, 1, &answer).to_string();
        assert!(!tokens.contains("macro_export"));
        assert!(tokens.contains("use __linnet_gelu_0000000000000001 as gelu"));
    }
    let other = answer_macro(&name, &syn::parse_quote!(pub), 2, &answer).to_string();
    assert!(!other.contains("__linnet_gelu_0000000000000001"));
}
