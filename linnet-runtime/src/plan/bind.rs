//! Binding a function's generics by comparing declared types with arguments.

use crate::call::{Argument, describe_tensor};
use crate::descriptor::{DTypeExpr, DimExpr, DimItem, Function, Generic, GenericKind, Type};
use crate::dtype::DType;
use crate::env::{Env, GenericValue};
use crate::error::{Error, Result};
use crate::shape::Dims;

/// What an argument is, as far as a plan depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ArgumentKind {
    Tensor { dtype: DType, shape: Dims },
    Mutable { dtype: DType, shape: Dims },
    Scalar(DType),
    Absent,
}

impl ArgumentKind {
    pub(crate) fn of(argument: &Argument<'_>) -> ArgumentKind {
        match argument {
            Argument::Tensor(tensor) => ArgumentKind::Tensor {
                dtype: tensor.dtype(),
                shape: tensor.dims(),
            },
            Argument::Mut(tensor) => ArgumentKind::Mutable {
                dtype: tensor.dtype(),
                shape: tensor.dims(),
            },
            Argument::Scalar(value) => ArgumentKind::Scalar(value.dtype()),
            Argument::None => ArgumentKind::Absent,
        }
    }

    fn describe(&self) -> String {
        match self {
            ArgumentKind::Tensor { dtype, shape } => describe_tensor(*dtype, shape),
            ArgumentKind::Mutable { dtype, shape } => {
                format!("&mut {}", describe_tensor(*dtype, shape))
            }
            ArgumentKind::Scalar(dtype) => dtype.to_string(),
            ArgumentKind::Absent => "none".to_owned(),
        }
    }
}

/// Adds to `env`, which holds the generics of the block, those of the function,
/// in the order of their declaration.
///
/// # Errors
/// If an argument is not of its declared type, or a generic is not determined.
pub(crate) fn bind_arguments(
    function: &'static Function,
    place: &str,
    args: &[ArgumentKind],
    env: &mut Env,
) -> Result<()> {
    if args.len() != function.params.len() {
        return Err(Error::ArgumentCount {
            function: place.to_owned(),
            expected: function.params.len(),
            found: args.len(),
        });
    }
    let n_outer = env.entries().len();
    // Dimensions that stand alone bind first, then those inside expressions.
    for solve in [false, true] {
        for (param, arg) in function.params.iter().zip(args) {
            bind_type(function.generics, &param.ty, arg, env, solve);
        }
    }
    check_arguments(function, place, args, env, n_outer, true)?;
    for generic in function.generics {
        let bound = env.entries()[n_outer..]
            .iter()
            .any(|(name, _)| *name == generic.name);
        if bound {
            continue;
        }
        let default = generic
            .default
            .as_ref()
            .map(|default| env.argument(default))
            .transpose()?;
        match default {
            Some(value) => env.bind(generic.name, value),
            None => {
                return Err(Error::Generic {
                    block: place.to_owned(),
                    reason: format!("the arguments do not determine `{generic}`"),
                });
            }
        }
    }
    check_arguments(function, place, args, env, n_outer, false)
}

/// Checks every argument against its declared type. If `open`, types with
/// generics that have no value yet pass.
fn check_arguments(
    function: &'static Function,
    place: &str,
    args: &[ArgumentKind],
    env: &Env,
    n_outer: usize,
    open: bool,
) -> Result<()> {
    for (i, (param, arg)) in function.params.iter().zip(args).enumerate() {
        if !agrees(env, &param.ty, param.by_mut, arg, open) {
            return Err(mismatch(function, place, i, args, env, n_outer));
        }
    }
    Ok(())
}

fn generic<'a>(generics: &'a [Generic], name: &str, env: &Env) -> Option<&'a Generic> {
    generics
        .iter()
        .find(|generic| generic.name == name && env.get(name).is_none())
}

/// Binds what comparing `ty` with `arg` determines.
fn bind_type(
    generics: &'static [Generic],
    ty: &Type,
    arg: &ArgumentKind,
    env: &mut Env,
    solve: bool,
) {
    match (ty, arg) {
        (Type::Option(inner), _) => bind_type(generics, inner, arg, env, solve),
        (Type::Scalar(dtype), ArgumentKind::Scalar(found)) => {
            bind_dtype(generics, *dtype, *found, env)
        }
        (
            Type::Tensor { dims, dtype },
            ArgumentKind::Tensor {
                dtype: found,
                shape,
            }
            | ArgumentKind::Mutable {
                dtype: found,
                shape,
            },
        ) => {
            bind_dtype(generics, *dtype, *found, env);
            bind_dims(generics, dims, shape, env, solve);
        }
        _ => {}
    }
}

fn bind_dtype(generics: &'static [Generic], dtype: DTypeExpr, found: DType, env: &mut Env) {
    if let DTypeExpr::Generic(name) = dtype
        && let Some(generic) = generic(generics, name, env)
        && GenericValue::DType(found).is_of(generic.kind)
    {
        env.bind(generic.name, GenericValue::DType(found));
    }
}

fn bind_dims(
    generics: &'static [Generic],
    items: &[DimItem],
    shape: &Dims,
    env: &mut Env,
    solve: bool,
) {
    // With one pack of unknown length, the others line up from both ends.
    let pack = items
        .iter()
        .position(|item| matches!(item, DimItem::Pack(name) if env.get(name).is_none()));
    let length = |item: &DimItem, env: &Env| match item {
        DimItem::One(_) => 1,
        DimItem::Pack(name) => env.pack(name).map_or(0, |dims| dims.len()),
    };
    let known: usize = items.iter().map(|item| length(item, env)).sum();
    let Some(open) = shape.len().checked_sub(known) else {
        return;
    };
    let mut at = 0;
    for (i, item) in items.iter().enumerate() {
        match item {
            DimItem::One(dim) => {
                bind_dim(generics, dim, shape.get(at).copied(), env, solve);
                at += 1;
            }
            DimItem::Pack(name) if Some(i) == pack => {
                if let Some(generic) = generic(generics, name, env)
                    && generic.kind == GenericKind::Shape
                    && let Ok(dims) = Dims::new(&shape[at..at + open])
                {
                    env.bind(generic.name, GenericValue::Shape(dims));
                }
                at += open;
            }
            DimItem::Pack(_) => at += length(item, env),
        }
    }
}

fn bind_dim(
    generics: &'static [Generic],
    dim: &DimExpr,
    size: Option<usize>,
    env: &mut Env,
    solve: bool,
) {
    let Some(size) = size else { return };
    match dim {
        DimExpr::Generic(name) => {
            if let Some(generic) = generic(generics, name, env)
                && generic.kind == GenericKind::Dim
            {
                env.bind(generic.name, GenericValue::Dim(size));
            }
        }
        _ if solve => {
            if let Ok(size) = i64::try_from(size) {
                solve_dim(generics, dim, size, env);
            }
        }
        _ => {}
    }
}

/// Binds the one open generic in `dim == value`, where sums, differences and
/// products lead to it. Whether the result is right is checked afterwards.
fn solve_dim(generics: &'static [Generic], dim: &DimExpr, value: i64, env: &mut Env) {
    if let DimExpr::Generic(name) = dim {
        if let Some(generic) = generic(generics, name, env)
            && let Ok(size) = usize::try_from(value)
        {
            env.bind(generic.name, GenericValue::Dim(size));
        }
        return;
    }
    let (DimExpr::Add(a, b) | DimExpr::Sub(a, b) | DimExpr::Mul(a, b)) = dim else {
        return;
    };
    let (open, known, left) = match (env.eval(a), env.eval(b)) {
        (Err(_), Ok(known)) => (a, known, true),
        (Ok(known), Err(_)) => (b, known, false),
        _ => return,
    };
    let rest = match dim {
        DimExpr::Add(..) => value.checked_sub(known),
        DimExpr::Sub(..) if left => value.checked_add(known),
        DimExpr::Sub(..) => known.checked_sub(value),
        _ if known > 0 && value % known == 0 => Some(value / known),
        _ => None,
    };
    if let Some(rest) = rest {
        solve_dim(generics, open, rest, env);
    }
}

/// Whether an argument is of its declared type.
fn agrees(env: &Env, ty: &Type, by_mut: bool, arg: &ArgumentKind, open: bool) -> bool {
    let dtype_agrees = |dtype: DTypeExpr, found: DType| match env.dtype(dtype) {
        Ok(dtype) => dtype == found,
        // A generic that the argument's dtype could not bind is of another kind.
        Err(_) => false,
    };
    match (ty, arg) {
        (Type::Option(_), ArgumentKind::Absent) => true,
        (Type::Option(inner), _) => agrees(env, inner, by_mut, arg, open),
        (Type::Scalar(dtype), ArgumentKind::Scalar(found)) => dtype_agrees(*dtype, *found),
        (
            Type::Tensor { dims, dtype },
            ArgumentKind::Tensor {
                dtype: found,
                shape,
            }
            | ArgumentKind::Mutable {
                dtype: found,
                shape,
            },
        ) => {
            by_mut == matches!(arg, ArgumentKind::Mutable { .. })
                && dtype_agrees(*dtype, *found)
                && shape_agrees(env, dims, shape, open)
        }
        _ => false,
    }
}

fn shape_agrees(env: &Env, items: &[DimItem], shape: &Dims, open: bool) -> bool {
    match env.dims(items) {
        Ok(dims) => dims == *shape,
        // Something has no value yet; the rank may still be wrong.
        Err(_) => {
            let packs = items.iter().any(|item| matches!(item, DimItem::Pack(_)));
            open && (packs || items.len() == shape.len())
        }
    }
}

fn mismatch(
    function: &Function,
    place: &str,
    i: usize,
    args: &[ArgumentKind],
    env: &Env,
    n_outer: usize,
) -> Error {
    let param = &function.params[i];
    let reference = if param.by_mut { "&mut " } else { "" };
    // Which generic of the type another argument or the block has bound to what.
    let mut names = Vec::new();
    type_names(&param.ty, &mut names);
    let bound: Vec<String> = names
        .iter()
        .filter_map(|name| {
            let value = env.get(name)?;
            let own = env.entries()[n_outer..]
                .iter()
                .any(|(bound, _)| bound == name);
            let earlier = own
                .then(|| binding_param(function, args, name, i))
                .flatten();
            Some(match earlier {
                Some(param) => format!("{name} = {value} from `{param}`"),
                None => format!("{name} = {value}"),
            })
        })
        .collect();
    Error::Argument {
        function: place.to_owned(),
        param: param.name.to_owned(),
        expected: format!("{reference}{}", param.ty),
        found: args[i].describe(),
        note: if bound.is_empty() {
            String::new()
        } else {
            format!(" (with {})", bound.join(", "))
        },
    }
}

/// The other parameter whose argument binds a generic.
fn binding_param(
    function: &Function,
    args: &[ArgumentKind],
    name: &str,
    except: usize,
) -> Option<&'static str> {
    function
        .params
        .iter()
        .enumerate()
        .zip(args)
        .find_map(|((i, param), arg)| {
            let mut names = Vec::new();
            type_names(&param.ty, &mut names);
            (i != except && *arg != ArgumentKind::Absent && names.contains(&name))
                .then_some(param.name)
        })
}

fn type_names(ty: &Type, names: &mut Vec<&'static str>) {
    let mut add = |name: &'static str| {
        if !names.contains(&name) {
            names.push(name);
        }
    };
    match *ty {
        Type::Tensor { dims, dtype } => {
            if let DTypeExpr::Generic(name) = dtype {
                add(name);
            }
            for item in dims {
                match item {
                    DimItem::Pack(name) => {
                        if !names.contains(name) {
                            names.push(name);
                        }
                    }
                    DimItem::One(dim) => dim.names(names),
                }
            }
        }
        Type::Scalar(DTypeExpr::Generic(name)) => add(name),
        Type::Option(inner) => type_names(inner, names),
        _ => {}
    }
}
