//! The stages in order: what each macro of `linnet-macros` does.
//!
//! | macro | does |
//! | --- | --- |
//! | `#[block] struct` | emits the Rust struct, and [tells](crate::protocol::struct_macro) the `impl` below of it |
//! | `#[block] impl` | [asks](crate::protocol::ask_struct) for the struct |
//! | `declare_block!` | has both: answers for the block from now on, and asks all items that it names |
//! | `check_block!` | has their answers: checks, and emits the descriptor |
//! | `#[op] fn` | answers for the operation, and asks all items that it names |
//! | `check_op!` | has their answers: checks, and emits the descriptor |
//!
//! An item answers, and its Rust types and functions are emitted, before it is
//! checked, so that errors in its bodies are no obstacle to those who use it.
//! Errors in its declaration are: then it answers that it is broken, and those
//! who use it are left unchecked until it is repaired. An item that is not
//! checked or has errors gets no descriptor, and the crate does not compile.

use proc_macro2::{Delimiter, Group, Literal, TokenStream, TokenTree};
use quote::quote;

use crate::ast::{BlockDecl, ImplDecl};
use crate::diagnostic::Diagnostic;
use crate::syntax::Parsed;
use crate::{check, emit, protocol, syntax};

/// `#[block]` on a struct or on its `impl`. `hash` differs between any two
/// items of a crate.
pub fn expand_block(args: TokenStream, item: TokenStream, hash: u64) -> TokenStream {
    let mut out = no_arguments(&args, "#[block]");
    out.extend(match item_keyword(&item).as_deref() {
        Some("impl") => expand_impl(item, hash),
        _ => expand_struct(item, hash),
    });
    out
}

fn expand_struct(item: TokenStream, hash: u64) -> TokenStream {
    match syntax::parse_struct(item.clone()) {
        Ok(Parsed {
            item: block,
            errors,
        }) => {
            let errors = compile_errors(&errors);
            let rust_struct = emit::emit_struct(&block);
            let finish = quote!(::linnet_runtime::__private::declare_block);
            let tell = protocol::struct_macro(&block.name, hash, &item, &finish);
            quote!(#errors #rust_struct #tell)
        }
        Err(errors) => compile_errors(&errors),
    }
}

fn expand_impl(item: TokenStream, hash: u64) -> TokenStream {
    match syntax::parse_impl(item.clone()) {
        Ok(parsed) => {
            let hash = Literal::u64_unsuffixed(hash);
            protocol::ask_struct(&parsed.item.block, &quote!({ #item } { #hash }))
        }
        Err(errors) => compile_errors(&errors),
    }
}

/// `declare_block! { { struct } { { impl } { hash } } }`.
pub fn declare_block(tokens: TokenStream) -> TokenStream {
    let Some([declaration, rest]) = groups(tokens) else {
        return misuse("declare_block");
    };
    let Some([implementation, hash]) = groups(rest.stream()) else {
        return misuse("declare_block");
    };
    let (block, functions) = match parse_block(&declaration, &implementation) {
        Ok(parsed) => parsed,
        Err(errors) => return compile_errors(&errors),
    };
    let is_sound = block.errors.is_empty() && functions.errors.is_empty();
    let answer = match is_sound {
        true => protocol::block_answer(&block.item, &functions.item.functions),
        false => protocol::broken_answer(),
    };
    // Those of the struct are reported where the struct stands.
    let errors = compile_errors(&functions.errors);
    let (block, functions) = (block.item, functions.item);
    let number = parse_hash(&hash);
    let answers = protocol::answer_macro(&block.name, &block.vis, number, &answer);
    let items = emit::emit_block(&block, &functions, number);
    let finish = quote!(::linnet_runtime::__private::check_block);
    let paths = syntax::block_callee_paths(&functions, &block);
    let ask = protocol::ask(&paths, &finish, &quote!(#declaration #implementation #hash));
    quote!(#errors #answers #items #ask)
}

/// `check_block! { { { struct } { impl } { hash } } [ answers ] }`.
pub fn check_block(tokens: TokenStream) -> TokenStream {
    let Some([payload, answers]) = groups(tokens) else {
        return misuse("check_block");
    };
    let Some([declaration, implementation, hash]) = groups(payload.stream()) else {
        return misuse("check_block");
    };
    let (block, functions) = match parse_block(&declaration, &implementation) {
        Ok(parsed) => parsed,
        Err(errors) => return compile_errors(&errors),
    };
    let answers = match protocol::parse_answers(answers.stream()) {
        Ok(answers) => answers,
        Err(error) => return error.into_compile_error(),
    };
    if answers.any_broken || !block.errors.is_empty() || !functions.errors.is_empty() {
        return TokenStream::new();
    }
    let checked = check::check_block(&block.item, &functions.item, &answers.signatures);
    match checked.value {
        Some(lowered) if checked.diagnostics.is_empty() => {
            emit::emit_block_descriptor(&block.item.name, parse_hash(&hash), &lowered)
        }
        _ => compile_errors(&checked.diagnostics),
    }
}

/// Both halves of a block. The struct comes out of a macro; its tokens are
/// moved to where they were written, which the tokens of the `impl` know.
type ParsedBlock = (Parsed<BlockDecl>, Parsed<ImplDecl>);

fn parse_block(
    declaration: &Group,
    implementation: &Group,
) -> Result<ParsedBlock, Vec<Diagnostic>> {
    let functions = syntax::parse_impl(implementation.stream())?;
    let source = functions.item.block.span();
    let declaration = protocol::resolved_at(declaration.stream(), source);
    let block = syntax::parse_struct(declaration)?;
    Ok((block, functions))
}

fn parse_hash(hash: &Group) -> u64 {
    hash.stream().to_string().parse().unwrap_or(0)
}

/// `#[op]` on a function. `hash` differs between any two items of a crate.
pub fn expand_op(args: TokenStream, item: TokenStream, hash: u64) -> TokenStream {
    let op = match syntax::parse_op(args.clone(), item.clone()) {
        Ok(op) => op,
        Err(errors) => return compile_errors(&errors),
    };
    let answer = match op.errors.is_empty() {
        true => protocol::op_answer(&op.item),
        false => protocol::broken_answer(),
    };
    let errors = compile_errors(&op.errors);
    let function = &op.item.function;
    let answers = protocol::answer_macro(&function.name, &function.vis, hash, &answer);
    let items = emit::emit_op(&op.item, hash);
    let finish = quote!(::linnet_runtime::__private::check_op);
    let paths = syntax::op_callee_paths(&op.item);
    let hash = Literal::u64_unsuffixed(hash);
    let ask = protocol::ask(&paths, &finish, &quote!({ #args } { #item } { #hash }));
    quote!(#errors #answers #items #ask)
}

/// `check_op! { { { args } { fn } { hash } } [ answers ] }`.
pub fn check_op(tokens: TokenStream) -> TokenStream {
    let Some([payload, answers]) = groups(tokens) else {
        return misuse("check_op");
    };
    let Some([args, function, hash]) = groups(payload.stream()) else {
        return misuse("check_op");
    };
    let op = match syntax::parse_op(args.stream(), function.stream()) {
        Ok(op) => op,
        Err(errors) => return compile_errors(&errors),
    };
    let answers = match protocol::parse_answers(answers.stream()) {
        Ok(answers) => answers,
        Err(error) => return error.into_compile_error(),
    };
    if answers.any_broken || !op.errors.is_empty() {
        return TokenStream::new();
    }
    let checked = check::check_op(&op.item, &answers.signatures);
    match checked.value {
        Some(lowered) if checked.diagnostics.is_empty() => {
            emit::emit_op_descriptor(&op.item.function.name, parse_hash(&hash), &lowered)
        }
        _ => compile_errors(&checked.diagnostics),
    }
}

/// `Tensor![..]` as a Rust type.
pub fn expand_tensor(tokens: TokenStream) -> TokenStream {
    emit::emit_tensor_type(tokens).unwrap_or_else(syn::Error::into_compile_error)
}

/// `index!` or `s!` where they mean nothing.
pub fn expand_outside(name: &str) -> TokenStream {
    let message = format!("`{name}!` belongs in the body of a `#[block]` or `#[op]` function");
    quote!(::core::compile_error!(#message))
}

/// The keyword of an item, after attributes and visibility.
fn item_keyword(item: &TokenStream) -> Option<String> {
    item.clone().into_iter().find_map(|token| match token {
        TokenTree::Ident(ident) => {
            let text = ident.to_string();
            matches!(
                text.as_str(),
                "struct" | "impl" | "enum" | "union" | "fn" | "trait" | "mod"
            )
            .then_some(text)
        }
        _ => None,
    })
}

fn no_arguments(args: &TokenStream, attribute: &str) -> TokenStream {
    match args.is_empty() {
        true => TokenStream::new(),
        false => syn::Error::new_spanned(args, format!("`{attribute}` takes no arguments"))
            .into_compile_error(),
    }
}

fn compile_errors(errors: &[Diagnostic]) -> TokenStream {
    errors.iter().map(Diagnostic::to_compile_error).collect()
}

/// The tokens as `N` groups, invisible ones taken off.
fn groups<const N: usize>(tokens: TokenStream) -> Option<[Group; N]> {
    let groups: Vec<Group> = tokens
        .into_iter()
        .map(|token| match token {
            TokenTree::Group(group) => Some(uncovered(group)),
            _ => None,
        })
        .collect::<Option<_>>()?;
    groups.try_into().ok()
}

fn uncovered(group: Group) -> Group {
    if group.delimiter() != Delimiter::None {
        return group;
    }
    let mut inner = group.stream().into_iter();
    match (inner.next(), inner.next()) {
        (Some(TokenTree::Group(only)), None) => uncovered(only),
        _ => group,
    }
}

/// These macros call each other; a person has no reason to.
fn misuse(name: &str) -> TokenStream {
    let message = format!("`{name}!` is called by `#[block]` and `#[op]` only");
    quote!(::core::compile_error!(#message);)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(tokens: &TokenStream, part: TokenStream) -> bool {
        tokens.to_string().contains(&part.to_string())
    }

    #[test]
    fn an_operation_answers_and_exists_before_it_is_checked() {
        let tokens = expand_op(
            TokenStream::new(),
            quote!(
                pub fn twice(x: f32) -> f32 {
                    nn::once(x) + unknown
                }
            ),
            3,
        );
        assert!(has(
            &tokens,
            quote!(
                pub use __linnet_twice_0000000000000003 as twice;
            )
        ));
        assert!(has(
            &tokens,
            quote!(pub fn twice(x: ::core::primitive::f32))
        ));
        assert!(
            tokens
                .to_string()
                .contains("nn :: once ! { @ ask [] [] { nn :: once }")
        );
        // The one in its macro, for who calls it with `!`.
        assert_eq!(tokens.to_string().matches("compile_error").count(), 1);
        assert!(!has(
            &tokens,
            quote!(static __LINNET_twice_0000000000000003)
        ));
    }

    #[test]
    fn a_checked_operation_gets_its_descriptor_and_a_wrong_one_its_errors() {
        let payload = |body| quote!({ {} { pub fn f(x: f32) -> f32 { #body } } { 3 } } []);
        let tokens = check_op(payload(quote!(x + x)));
        assert!(has(&tokens, quote!(static __LINNET_f_0000000000000003)));
        assert!(!has(&tokens, quote!(compile_error)));
        let tokens = check_op(payload(quote!(x + y)));
        assert!(has(&tokens, quote!(compile_error)));
        assert!(!has(&tokens, quote!(static)));
    }

    #[test]
    fn a_wrong_declaration_is_reported_once_and_its_users_wait() {
        let item = quote!(
            pub fn f(x: usize) -> f32 {
                1.0
            }
        );
        let tokens = expand_op(TokenStream::new(), item.clone(), 3);
        assert_eq!(tokens.to_string().matches("compile_error").count(), 2);
        assert!(has(&tokens, quote!({ broken $path })));
        assert!(check_op(quote!({ {} { #item } { 3 } } [])).is_empty());

        let user = quote!({
            {}
            {
                pub fn g(x: f32) -> f32 {
                    f(x, x, x)
                }
            }
            { 4 }
        });
        assert!(check_op(quote!(#user [{ broken { f } }])).is_empty());
        let sound = quote!({ op { f } { { pub fn f(x: f32) -> f32; } } });
        assert!(!check_op(quote!(#user [#sound])).is_empty());
    }

    #[test]
    fn a_block_goes_through_its_stages() {
        let tokens = expand_block(
            TokenStream::new(),
            quote!(
                pub struct B<H: Dim> {
                    a: nn::A<H>,
                    #[param]
                    w: Tensor![H; f32],
                }
            ),
            1,
        );
        assert!(has(&tokens, quote!(pub struct B<H: ::linnet_runtime::Dim>)));
        assert!(has(
            &tokens,
            quote!(
                use __linnet_struct_B_0000000000000001 as __linnet_struct_B;
            )
        ));

        let functions = quote! {
            impl B {
                #[entry]
                pub fn f<S: Dim>(&self, x: Tensor![S, H; f32]) -> Tensor![S, H; f32] { x * self.w }
            }
        };
        let tokens = expand_block(TokenStream::new(), functions.clone(), 2);
        assert_eq!(
            tokens.to_string(),
            quote!(__linnet_struct_B! { { { #functions } { 2 } } }).to_string()
        );

        let declaration = quote!(
            pub struct B<H: Dim> {
                #[param]
                w: Tensor![H; f32],
            }
        );
        let tokens = declare_block(quote!({ #declaration } { { #functions } { 2 } }));
        assert!(has(
            &tokens,
            quote!(
                pub use __linnet_B_0000000000000002 as B;
            )
        ));
        assert!(has(&tokens, quote!(::linnet_runtime::Block for B<H>)));
        assert!(has(&tokens, quote!(pub fn f<S: ::linnet_runtime::Dim>)));
        assert!(has(
            &tokens,
            quote!(::linnet_runtime::__private::check_block!)
        ));

        let tokens = check_block(quote!({ { #declaration } { #functions } { 2 } } []));
        assert!(
            has(&tokens, quote!(static __LINNET_B_0000000000000002)),
            "{tokens}"
        );
    }

    #[test]
    fn a_block_asks_for_its_members_first() {
        let declaration = quote!(
            struct B<H: Dim> {
                a: nn::A<H>,
                b: [C<H>; 2],
            }
        );
        let functions = quote!(impl B { fn f(&self, x: f32) -> f32 { g(self.a.f(x)) } });
        let tokens = declare_block(quote!({ #declaration } { { #functions } { 2 } }));
        assert!(
            tokens
                .to_string()
                .contains("nn :: A ! { @ ask [] [{ C } { g }] { nn :: A }")
        );
    }

    #[test]
    fn misplaced_macros_say_where_they_belong() {
        for tokens in [
            declare_block(quote!()),
            declare_block(quote!({} {})),
            check_block(quote!(a b)),
            check_op(quote!({} [])),
        ] {
            assert!(has(&tokens, quote!(compile_error)), "{tokens}");
        }
        assert!(
            expand_outside("index")
                .to_string()
                .contains("`index!` belongs in")
        );
        let tokens = expand_block(
            quote!(x = 1),
            quote!(
                struct B {}
            ),
            1,
        );
        assert!(tokens.to_string().contains("`#[block]` takes no arguments"));
        let tokens = expand_block(
            TokenStream::new(),
            quote!(
                enum B {}
            ),
            1,
        );
        assert!(
            tokens
                .to_string()
                .contains("stands above a struct or its `impl`")
        );
    }
}
