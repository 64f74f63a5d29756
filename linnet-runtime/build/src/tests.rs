use super::*;

const CARD: &str = r#"name = "Tiny"
summary = "A test."
licence = "MIT"
model = "net::Net"
dyn_type = "TinyDyn"
harmless = ["use_*"]

[generics]
H = { config = ["n_embd", "hidden"] }
Heads = { config = "n_head", max = 64 }
Width = { config = "width", default = "H / Heads" }
Rows = { chosen = "2 * H" }
T = { dtype = true }

[[config]]
key = "n_inner"
any_of = [{ null = true }, { dim = "4 * H" }, 3, 1e-5, "text", true]
optional = true
about = "the width"

[names]
prefixes = ["p."]
ignore = ["h.{i}.mask"]

[tensors]
w = "w.weight"
"layers.{i}.a" = "h.{2 * i + 1}.a"
"layers.{i}.deep.*" = "h.{i}.deep.*"

[tied]
"head.weight" = "w.weight"

[[checkpoint]]
name = "tiny"
type = "TinyOne"
repository = "someone/tiny"
parameters = 99
dims = { H = 8, Heads = 2, Width = 4 }
"#;

const SOURCE: &str = r#"
use elsewhere::Deep;

#[block]
#[require(Heads > 0, H % Heads == 0, Rows <= 16)]
pub struct Net<H: Dim, Heads: Dim, Width: Dim, Rows: Dim, T: Float = bf16> {
    #[param]
    w: Tensor![H; T],
    #[state]
    s: Tensor![Rows; T],
    layers: [Layer<H, T>; Heads],
}

#[block]
pub struct Layer<H: Dim, T: Float> {
    #[param]
    a: Tensor![H; T],
    deep: Deep<H, T>,
}
"#;

fn krate(card: &str, source: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("src/net")).unwrap();
    fs::write(folder.path().join("model.toml"), card).unwrap();
    fs::write(folder.path().join("src/lib.rs"), "pub mod net;").unwrap();
    fs::write(folder.path().join("src/net/mod.rs"), source).unwrap();
    folder
}

fn run(card: &str, source: &str) -> Result<Generated, Error> {
    generate(krate(card, source).path(), Path::new("model.toml"))
}

/// The error for the card with one text replaced by another.
#[track_caller]
fn card_error(from: &str, to: &str) -> String {
    assert!(CARD.contains(from), "{from}");
    run(&CARD.replacen(from, to, 1), SOURCE)
        .expect_err("must be refused")
        .to_string()
}

#[test]
fn a_card_becomes_constants_and_aliases() {
    let code = run(CARD, SOURCE).unwrap().code;
    let squeezed: String = code.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "pub static CARD: ::linnet_runtime::card::Card = ::linnet_runtime::card::Card { name: \"Tiny\",",
        "{ name: \"H\", source: ::linnet_runtime::card::GenericSource::Config { keys: &[\"n_embd\", \"hidden\"], \
         default: None, max: 16777216 } }",
        "max: 64 }",
        "allowed: &[::linnet_runtime::card::Allowed::Null, ::linnet_runtime::card::Allowed::Dim(",
        "::linnet_runtime::card::Allowed::Number(3.0), ::linnet_runtime::card::Allowed::Number(1e-5), \
         ::linnet_runtime::card::Allowed::Text(\"text\"), ::linnet_runtime::card::Allowed::Bool(true)]",
        "parameters: 99, dims: &[(\"H\", 8), (\"Heads\", 2), (\"Width\", 4)]",
        "// layers.{i}.a = h.{2 * i + 1}.a",
        "::linnet_runtime::weights::Piece::Number { name: \"i\", times: 2, plus: 1 }",
        "prefixes: &[\"p.\"]",
        "tied: &[(\"head.weight\", \"w.weight\")]",
        "pub type TinyOne<Rows = ::linnet_runtime::Const<16>, T = ::linnet_runtime::bf16> = \
         crate::net::Net<::linnet_runtime::Const<8>, ::linnet_runtime::Const<2>, ::linnet_runtime::Const<4>, Rows, T>;",
        "pub type TinyDyn<T = ::linnet_runtime::bf16> = crate::net::Net<::linnet_runtime::Dyn, \
         ::linnet_runtime::Dyn, ::linnet_runtime::Dyn, ::linnet_runtime::Dyn, T>;",
    ] {
        assert!(
            squeezed.contains(expected),
            "{expected}\nis not in\n{squeezed}"
        );
    }
    syn::parse_file(&code).unwrap();
}

#[test]
fn every_input_is_watched() {
    let folder = krate(CARD, SOURCE);
    let inputs = generate(folder.path(), Path::new("model.toml"))
        .unwrap()
        .inputs;
    let expected =
        ["model.toml", "src/lib.rs", "src/net/mod.rs"].map(|name| folder.path().join(name));
    assert_eq!(inputs, expected);
}

#[test]
fn an_unchanged_output_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("card.rs");
    write_if_changed(&path, "a").unwrap();
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    let before = fs::metadata(&path).unwrap().modified().unwrap();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    write_if_changed(&path, "a").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), before);
    let error = write_if_changed(&folder.path().join("no/card.rs"), "b")
        .unwrap_err()
        .to_string();
    assert!(error.contains("no/card.rs: cannot be written: "), "{error}");
}

#[test]
fn a_card_that_cannot_be_read_is_named() {
    let folder = krate(CARD, SOURCE);
    let error = generate(folder.path(), Path::new("other.toml"))
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("other.toml: cannot be read: "), "{error}");
    assert_eq!(
        format!("{:?}", Error::at("model.toml", 3, "no")),
        "model.toml:3: no"
    );
}

#[test]
fn mistakes_in_the_card_are_on_their_line() {
    for (from, to, expected) in [
        ("name = \"Tiny\"", "name = ", "model.toml:1: "),
        (
            "licence",
            "license",
            "model.toml:3: unknown field `license`",
        ),
        ("licence = \"MIT\"\n", "", "missing field `licence`"),
        (
            "net::Net",
            "net/Net",
            "model.toml:4: expected the path of the model's block",
        ),
        (
            "TinyDyn",
            "Tiny Dyn",
            "model.toml:5: `Tiny Dyn` is no Rust name",
        ),
        (
            "use_*",
            "a*b",
            "model.toml:6: `a*b` must be a key, with a `*` at its ends at most",
        ),
        ("use_*", "*", "model.toml:6: `*` must be a key"),
        (
            "max = 64",
            "max = 0",
            "model.toml:10: `max` must be from 1 to 2147483648",
        ),
        (
            "chosen = \"2 * H\"",
            "chosen = \"2 *\"",
            "model.toml:12: `2 *` is no expression over dimensions",
        ),
        (
            "chosen = \"2 * H\"",
            "chosen = \"1\", dtype = true",
            "model.toml:12: `Rows` needs exactly one of",
        ),
        (
            "Rows = { chosen = \"2 * H\" }",
            "Rows = {}",
            "model.toml:12: `Rows` needs exactly one of",
        ),
        (
            "config = \"n_head\"",
            "config = []",
            "model.toml:10: `config` names no key",
        ),
        (
            "[{ null = true }, ",
            "[{}, ",
            "model.toml:16: expected `{ null = true }`, `{ dim = \"4 * H\" }` or `{ cycle = [\"a\", \"b\"], length = \"Layers\" }`",
        ),
        (
            "any_of = [{ null = true }, { dim = \"4 * H\" }, 3, 1e-5, \"text\", true]",
            "any_of = []",
            "model.toml:16: `n_inner` allows no value",
        ),
        (
            "[names]",
            "[[config]]\nkey = \"n_inner\"\nany_of = [1]\nabout = \"\"\n[names]",
            "model.toml:22: `n_inner` stands twice",
        ),
        (
            "h.{i}.mask",
            "h.{i.mask",
            "model.toml:23: the pattern `h.{i.mask` has a `{` without its `}`",
        ),
        (
            "h.{i}.mask",
            "h.{2 * i}.mask",
            "model.toml:23: the pattern `h.{2 * i}.mask` may not compute: write `{i}`",
        ),
        (
            "h.{2 * i + 1}.a",
            "h.{j}.a",
            "model.toml:27: `{j}` has no value: `layers.{i}.a` does not have it",
        ),
        (
            "h.{i}.deep.*",
            "h.{i}.deep",
            "model.toml:28: a `*` must stand at the end of both sides or of none",
        ),
        (
            "\"head.weight\" =",
            "\"w.weight\" =",
            "model.toml:31: `w.weight` is tied to itself",
        ),
        (
            "type = \"TinyOne\"",
            "type = \"Tiny-One\"",
            "model.toml:35: `Tiny-One` is no Rust name",
        ),
        (
            "type = \"TinyOne\"",
            "type = \"tiny\"",
            "model.toml:35: `tiny` stands twice",
        ),
        (
            "H = 8",
            "H = \"8\"",
            "model.toml:38: invalid type: string \"8\", expected i64",
        ),
    ] {
        let message = card_error(from, to);
        assert!(message.contains(expected), "{to}: {message}");
    }
}

#[test]
fn the_card_must_fit_the_source() {
    for (from, to, expected) in [
        (
            "net::Net",
            "net::Other",
            "model.toml:4: `src` has no `#[block] struct Other`",
        ),
        (
            "Heads = { config = \"n_head\", max = 64 }\n",
            "",
            "model.toml:4: `[generics]` does not say what `Heads` of `Net` is",
        ),
        (
            "T = { dtype = true }",
            "T = { chosen = \"1\" }",
            "model.toml:13: `T` of `Net` is a dtype",
        ),
        (
            "Rows = { chosen = \"2 * H\" }",
            "Rows = { dtype = true }",
            "model.toml:12: `Rows` of `Net` is a dimension",
        ),
        (
            "[generics]",
            "[generics]\nX = { config = \"x\" }",
            "model.toml:9: `Net` has no generic `X`",
        ),
        (
            "H / Heads",
            "Q / Heads",
            "model.toml:11: `Q` is no generic that a key of the config always sets",
        ),
        (
            "2 * H\" }\n",
            "2 * Width\" }\n",
            "model.toml:12: `Width` is no generic that a key of the config always sets",
        ),
        (
            "{ dim = \"4 * H\" }",
            "{ dim = \"4 * Q\" }",
            "the rule for `n_inner`: there is no generic `Q`",
        ),
        (
            "w = \"w.weight\"",
            "v = \"w.weight\"",
            "model.toml:26: the pattern `v`: `Net` has no member `v`; it has `w`, `s`, `layers`",
        ),
        (
            "w = \"w.weight\"",
            "s = \"w.weight\"",
            "model.toml:26: the pattern `s`: `s` is a state, which no checkpoint has",
        ),
        (
            "w = \"w.weight\"",
            "\"w.x\" = \"w.weight\"",
            "model.toml:26: the pattern `w.x`: `w` is a tensor and has no members",
        ),
        (
            "\"layers.{i}.a\"",
            "\"layers.x{i}\"",
            "model.toml:27: the pattern `layers.x{i}`: `layers` is an array: write `layers.{i}`",
        ),
        (
            "\"layers.{i}.a\"",
            "\"layers.{i}.b\"",
            "`Layer` has no member `b`; it has `a`, `deep`",
        ),
        (
            "\"layers.{i}.a\"",
            "\"layers.{i}\"",
            "model.toml:27: the pattern `layers.{i}` names a block; end it with `.*` or with a tensor",
        ),
    ] {
        let message = card_error(from, to);
        assert!(message.contains(expected), "{to}: {message}");
    }
}

#[test]
fn known_checkpoints_are_proved() {
    for (from, to, expected) in [
        (
            "Heads = 2, Width",
            "Heads = 3, Width",
            "model.toml:34: tiny: `Net` requires `H % Heads == 0`, but H is 8 and Heads is 3",
        ),
        (
            "H = 8",
            "H = 10",
            "model.toml:34: tiny: `Net` requires `Rows <= 16`, but Rows is 20",
        ),
        (
            "Heads = 2, Width",
            "Heads = 65, Width",
            "model.toml:38: tiny: `Heads` = 65 is not from 1 to 64",
        ),
        (
            "Heads = 2, Width",
            "Heads = 0, Width",
            "model.toml:38: tiny: `Heads` = 0 is not from 1 to 64",
        ),
        (
            "Heads = 2, ",
            "",
            "model.toml:34: tiny: `dims` does not say what `Heads` is",
        ),
        (
            "Width = 4",
            "Width = 4, Rows = 2",
            "model.toml:38: tiny: `Rows` is no generic that the config sets",
        ),
    ] {
        let message = card_error(from, to);
        assert!(message.contains(expected), "{to}: {message}");
    }
}

#[test]
fn source_that_is_not_rust_is_said_so() {
    let message = run(CARD, "pub struct {").unwrap_err().to_string();
    assert!(
        message.contains("`src` has no `#[block] struct Net`, perhaps since it is not Rust ("),
        "{message}"
    );
    let twice = format!("{SOURCE}{SOURCE}");
    let message = run(CARD, &twice).unwrap_err().to_string();
    assert!(
        message.contains("`src` has 2 blocks named `Net`; the model's name must be its own"),
        "{message}"
    );
}

#[test]
fn the_card_of_gpt2_is_right() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/gpt2");
    let code = generate(&root, Path::new("model.toml")).unwrap().code;
    for alias in [
        "Gpt2<",
        "Gpt2Medium<",
        "Gpt2Large<",
        "Gpt2Xl<",
        "DistilGpt2<",
        "Gpt2Dyn<",
    ] {
        assert!(code.contains(&format!("pub type {alias}")), "{alias}");
    }
    syn::parse_file(&code).unwrap();
}
