//! What `config.json` says of a quantised checkpoint.

use serde_json::{Map, Value};

use super::format::Format;

/// How a checkpoint stores the affine maps that it holds in few bits, as its
/// `config.json` says under `quantization_config`:
///
/// ```json
/// {"quant_method": "linnet", "format": "int4_group", "group_size": 32}
/// ```
///
/// Where a model has an affine map whose float weight is named `a.b.weight`, the
/// checkpoint holds `a.b.weight` as whole numbers, `[Out, In]` also where the
/// float one is `[In, Out]`, with `a.b.scale` and, for `int4_group`, `a.b.zero`
/// and, if the columns were sorted, `a.b.order`. The bias keeps its name. Maps
/// that it holds as floats stay what they are.
///
/// A model may store other tensors in a format of its own, which its config
/// describes in the same place; that description is then the value of `beside`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheme {
    /// The format of the weights.
    pub format: Format,
    /// The columns of a group, where the config says them. Otherwise the shapes do.
    pub group_size: Option<usize>,
}

/// The key in `config.json`.
pub(crate) const KEY: &str = "quantization_config";

/// What names a scheme as one of this module's.
const METHOD: &str = "linnet";

/// Something in a `quantization_config` that cannot be used.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SchemeProblem {
    /// The key, dots leading into objects.
    pub(crate) key: String,
    /// Its value; None if it is missing.
    pub(crate) value: Option<Value>,
    /// What is expected.
    pub(crate) expected: String,
}

impl Scheme {
    /// The scheme with the rest of the config: what another `quantization_config`
    /// beside it says stands in its place. None where the config describes no
    /// weights of this module.
    pub(crate) fn split(config: &Value) -> Option<(Result<Scheme, Vec<SchemeProblem>>, Value)> {
        let own = config.get(KEY)?.as_object()?;
        if own.get("quant_method")?.as_str()? != METHOD {
            return None;
        }
        let mut rest = config.clone();
        if let Some(object) = rest.as_object_mut() {
            match own.get("beside") {
                Some(beside) => object.insert(KEY.to_owned(), beside.clone()),
                None => object.remove(KEY),
            };
        }
        Some((Scheme::parse(own), rest))
    }

    /// `config` with this scheme in it. What stands in its place moves beside it.
    ///
    /// # Errors
    /// If the config is no object, or describes a scheme already.
    pub fn added_to(&self, config: &Value) -> Result<Value, String> {
        if Scheme::split(config).is_some() {
            return Err("the checkpoint is quantised already".to_owned());
        }
        let mut object = config
            .as_object()
            .ok_or("the config is no object of keys and values")?
            .clone();
        let mut own = Map::new();
        own.insert("quant_method".to_owned(), METHOD.into());
        own.insert("format".to_owned(), self.format.name().into());
        if let Some(group_size) = self.group_size {
            own.insert("group_size".to_owned(), group_size.into());
        }
        if let Some(beside) = object.remove(KEY).filter(|value| !value.is_null()) {
            own.insert("beside".to_owned(), beside);
        }
        object.insert(KEY.to_owned(), own.into());
        Ok(object.into())
    }

    fn parse(own: &Map<String, Value>) -> Result<Scheme, Vec<SchemeProblem>> {
        let mut problems = Vec::new();
        let mut refuse = |key: &str, expected: String| {
            problems.push(SchemeProblem {
                key: format!("{KEY}.{key}"),
                value: own.get(key).cloned(),
                expected,
            });
        };
        let format = own
            .get("format")
            .and_then(|value| Format::named(value.as_str()?));
        if format.is_none() {
            let names = Format::ALL.map(|format| format!("{:?}", format.name()));
            refuse("format", names.join(" or "));
        }
        let mut group_size = None;
        match (own.get("group_size"), format) {
            (None | Some(Value::Null), _) => {}
            (Some(value), Some(Format::Int4Group)) => {
                group_size = value
                    .as_u64()
                    .and_then(|size| usize::try_from(size).ok())
                    .filter(|size| *size > 0 && size % 2 == 0 && *size <= MAX_GROUP);
                if group_size.is_none() {
                    refuse(
                        "group_size",
                        format!("an even number from 2 to {MAX_GROUP}"),
                    );
                }
            }
            (Some(_), Some(format)) => {
                refuse(
                    "group_size",
                    format!("no such key beside {:?}", format.name()),
                );
            }
            (Some(_), None) => {}
        }
        for key in own.keys() {
            if !KNOWN.contains(&key.as_str()) {
                refuse(key, format!("only {}", KNOWN.join(", ")));
            }
        }
        match format {
            Some(format) if problems.is_empty() => Ok(Scheme { format, group_size }),
            _ => Err(problems),
        }
    }
}

/// The keys of a scheme.
const KNOWN: [&str; 4] = ["quant_method", "format", "group_size", "beside"];

/// The most columns of a group. A guard: a larger number is a damaged file.
const MAX_GROUP: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(own: Value) -> Result<Scheme, Vec<SchemeProblem>> {
        let config = json!({ "a": 1, KEY: own });
        let (scheme, rest) = Scheme::split(&config).unwrap();
        assert_eq!(rest["a"], 1);
        scheme
    }

    #[test]
    fn what_is_written_is_read() {
        let other = json!({"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]});
        for format in Format::ALL {
            let group_size = (format == Format::Int4Group).then_some(32);
            let scheme = Scheme { format, group_size };
            for before in [
                json!({"a": 1}),
                json!({"a": 1, KEY: null}),
                json!({"a": 1, KEY: other}),
            ] {
                let config = scheme.added_to(&before).unwrap();
                let (read, rest) = Scheme::split(&config).unwrap();
                assert_eq!(read.unwrap(), scheme);
                assert_eq!(rest["a"], 1);
                assert_eq!(rest[KEY], before[KEY], "{config}");
                let again = scheme.added_to(&config).unwrap_err();
                assert_eq!(again, "the checkpoint is quantised already");
            }
        }
        assert!(Scheme::split(&json!({KEY: other})).is_none());
        assert!(Scheme::split(&json!({})).is_none());
        let scheme = parse(json!({"quant_method": METHOD, "format": "int4_group"})).unwrap();
        assert_eq!(scheme.group_size, None);
    }

    #[test]
    fn what_cannot_be_used_is_told_by_its_key() {
        let problem = |own: Value| {
            let mut problems = parse(own).unwrap_err();
            assert_eq!(problems.len(), 1);
            let problem = problems.remove(0);
            (problem.key, problem.expected)
        };
        let formats = "\"int8\" or \"int4\" or \"int4_group\"";
        for own in [
            json!({"quant_method": METHOD}),
            json!({"quant_method": METHOD, "format": "int3"}),
            json!({"quant_method": METHOD, "format": 8}),
        ] {
            let (key, expected) = problem(own);
            assert_eq!((&*key, &*expected), ("quantization_config.format", formats));
        }
        for size in [
            json!(0),
            json!(31),
            json!(-32),
            json!("32"),
            json!(1u64 << 40),
        ] {
            let own = json!({"quant_method": METHOD, "format": "int4_group", "group_size": size});
            assert_eq!(problem(own).0, "quantization_config.group_size");
        }
        let own = json!({"quant_method": METHOD, "format": "int8", "group_size": 32});
        assert_eq!(problem(own).1, "no such key beside \"int8\"");
        let own = json!({"quant_method": METHOD, "format": "int8", "bits": 8});
        assert_eq!(problem(own).0, "quantization_config.bits");
    }
}
