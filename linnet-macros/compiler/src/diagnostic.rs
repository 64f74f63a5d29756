//! What can be wrong with a declaration or a body, and how it is said.
//!
//! A [`Rule`] is one thing that the compiler checks. Its variant holds all that
//! the message needs, already in the author's names, and [`Rule::message`],
//! [`Rule::details`] and [`Rule::help`] turn it into text. Nothing anywhere
//! matches on that text: a test or a tool asks for [`Rule::code`].

use proc_macro2::TokenStream;

/// A value, if there is one, and everything that is wrong with its source.
#[derive(Debug, Clone)]
pub struct Checked<T> {
    /// None where an error leaves nothing to go on with.
    pub value: Option<T>,
    /// All independent errors, in the order of the source.
    pub diagnostics: Vec<Diagnostic>,
}

impl<T> Checked<T> {
    /// A value without errors.
    pub fn ok(value: T) -> Self {
        Checked {
            value: Some(value),
            diagnostics: Vec::new(),
        }
    }

    /// Errors without a value.
    pub fn failed(diagnostics: Vec<Diagnostic>) -> Self {
        Checked {
            value: None,
            diagnostics,
        }
    }
}

/// One error and the tokens it is about.
#[derive(Debug, Clone)]
pub struct Diagnostic {
    /// What is wrong.
    pub rule: Rule,
    /// The tokens at fault; the error spans from the first to the last of them.
    pub tokens: TokenStream,
}

impl Diagnostic {
    /// An error about `tokens`.
    pub fn new(rule: Rule, tokens: impl quote::ToTokens) -> Self {
        Diagnostic {
            rule,
            tokens: tokens.into_token_stream(),
        }
    }

    /// The whole text: message, details and help.
    pub fn text(&self) -> String {
        self.rule.text()
    }

    /// A `compile_error!` that rustc shows on the first to the last of the tokens.
    pub fn to_compile_error(&self) -> TokenStream {
        syn::Error::new_spanned(&self.tokens, self.text()).to_compile_error()
    }
}

impl From<syn::Error> for Diagnostic {
    /// A parse error as [`Rule::Syntax`], on the same span.
    fn from(error: syn::Error) -> Self {
        let mut tokens = TokenStream::new();
        let mut token = proc_macro2::Literal::string("");
        token.set_span(error.span());
        tokens.extend([proc_macro2::TokenTree::Literal(token)]);
        Diagnostic {
            rule: Rule::Syntax {
                message: error.to_string(),
                help: None,
            },
            tokens,
        }
    }
}

/// A requirement that would make something provable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The clause, as one would write it.
    pub clause: String,
    /// The block or function to add it to.
    pub place: Option<String>,
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "add `#[require({})]`", self.clause)?;
        match &self.place {
            Some(place) => write!(f, " to `{place}`"),
            None => Ok(()),
        }
    }
}

/// A rule that a source breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    // Syntax.
    /// The tokens do not parse.
    Syntax {
        /// What was expected and what stands there.
        message: String,
        /// What to write.
        help: Option<String>,
    },
    /// A Rust form that the language does not have.
    Unsupported {
        /// The form, as in "a closure".
        what: String,
        /// What to write.
        help: String,
    },

    // Names.
    /// A name that nothing in scope has.
    UnknownName {
        /// The name.
        name: String,
        /// The nearest name in scope.
        nearest: Option<String>,
        /// What is in scope.
        known: Vec<String>,
    },
    /// A member that the block does not have.
    UnknownMember {
        /// The block.
        block: String,
        /// The name.
        name: String,
        /// The nearest member.
        nearest: Option<String>,
        /// The members that it has.
        known: Vec<String>,
    },
    /// A function that the block does not have.
    UnknownFunction {
        /// The block.
        block: String,
        /// The name.
        name: String,
        /// The nearest function.
        nearest: Option<String>,
        /// The functions that it has.
        known: Vec<String>,
    },
    /// A free function that is neither built in nor an operation in scope.
    UnknownOperation {
        /// The name.
        name: String,
        /// The nearest built-in function.
        nearest: Option<String>,
    },
    /// A method that values of a type do not have.
    UnknownMethod {
        /// The type.
        ty: String,
        /// The name.
        name: String,
        /// The nearest method.
        nearest: Option<String>,
    },
    /// A generic in a type or dimension that neither the function nor its block declares.
    UnknownGeneric {
        /// The name.
        name: String,
        /// The nearest generic.
        nearest: Option<String>,
        /// The generics in scope.
        known: Vec<String>,
    },
    /// A generic of one kind where another is due.
    GenericKind {
        /// The generic.
        name: String,
        /// What it is, as in "a shape pack".
        is: String,
        /// What is due, as in "a dimension".
        due: String,
        /// What to write.
        help: Option<String>,
    },
    /// A generic argument of one kind where another is due.
    GenericArgument {
        /// The generic parameter, as in "`In: Dim`".
        parameter: String,
        /// The block or function.
        of: String,
        /// The argument as written.
        found: String,
    },
    /// Too many or too few generic arguments.
    GenericCount {
        /// The block or function.
        of: String,
        /// Its generics as declared.
        generics: Vec<String>,
        /// How many were given.
        found: usize,
    },
    /// A name declared twice.
    Duplicate {
        /// What it names, as in "generic".
        what: String,
        /// The name.
        name: String,
    },
    /// A call of a function of another block that is not `pub`.
    PrivateFunction {
        /// The block.
        block: String,
        /// The function.
        name: String,
    },
    /// A block that no `#[block]` declares, or whose signature did not arrive.
    UnknownBlock {
        /// The path as written.
        path: String,
    },

    // Types and shapes.
    /// A tensor of one shape where another is due.
    ShapeMismatch {
        /// Where, as in "the call to `Conv1D::forward`".
        place: String,
        /// The type due.
        expected: String,
        /// How it comes about, as in "`x: Tensor[*S, In; T]` with In = H".
        expected_note: Option<String>,
        /// The type found.
        found: String,
        /// What to do.
        help: Option<String>,
    },
    /// A tensor or scalar of one dtype where another is due.
    DTypeMismatch {
        /// Where.
        place: String,
        /// The type due.
        expected: String,
        /// How it comes about.
        expected_note: Option<String>,
        /// The type found.
        found: String,
        /// What to do.
        help: Option<String>,
    },
    /// A value of one sort (tensor, scalar, optional, tuple) where another is due.
    TypeMismatch {
        /// Where.
        place: String,
        /// The type due.
        expected: String,
        /// How it comes about.
        expected_note: Option<String>,
        /// The type found.
        found: String,
        /// What to do.
        help: Option<String>,
    },
    /// A literal whose dtype nothing around it tells.
    LiteralWithoutContext {
        /// The literal or dimension as written.
        literal: String,
    },
    /// A literal that its dtype cannot hold.
    LiteralRange {
        /// The literal.
        literal: String,
        /// The dtype.
        dtype: String,
    },
    /// A dimension used as a float.
    DimAsFloat {
        /// The dimension.
        dim: String,
        /// The float dtype.
        dtype: String,
    },
    /// Two operands whose dtypes differ.
    OperandDTypes {
        /// The operator or function.
        operator: String,
        /// The left type.
        left: String,
        /// The right type.
        right: String,
        /// What to do.
        help: String,
    },
    /// An operator or function on a dtype that it is not defined for.
    OperandKind {
        /// The operator or function.
        operator: String,
        /// What it needs, as in "floats".
        needs: String,
        /// The type found.
        found: String,
        /// What to do.
        help: Option<String>,
    },
    /// Two shapes that are not provably the same up to axes of 1.
    Broadcast {
        /// The operator or function.
        operator: String,
        /// The left type.
        left: String,
        /// The right type.
        right: String,
        /// The first pair from the right that differs.
        pair: Option<(String, String)>,
        /// What to do.
        help: Option<String>,
    },
    /// An optional value where its content is due.
    OptionalBare {
        /// What it is, as written.
        what: String,
        /// Its type.
        ty: String,
    },
    /// Too many or too few arguments.
    ArgumentCount {
        /// The function.
        function: String,
        /// Its parameters as declared.
        parameters: Vec<String>,
        /// How many were given.
        found: usize,
    },
    /// A generic of a callee that the arguments do not determine.
    CannotInfer {
        /// The generic.
        generic: String,
        /// The function.
        function: String,
        /// What to write.
        help: String,
    },
    /// An axis that a tensor does not have.
    AxisRange {
        /// The axis as written.
        axis: String,
        /// The type.
        ty: String,
        /// What to do.
        help: Option<String>,
    },
    /// An axis whose place depends on how many axes a pack has.
    AxisOfPack {
        /// The axis as written.
        axis: String,
        /// The type.
        ty: String,
        /// What to do.
        help: String,
    },
    /// `permute` with axes that are not each axis once.
    NotPermutation {
        /// The axes as written.
        axes: String,
        /// The type.
        ty: String,
    },
    /// `reshape` to a shape whose element count is not provably the same.
    ReshapeCount {
        /// The type before.
        from: String,
        /// The shape after.
        to: String,
        /// The count before.
        from_count: String,
        /// The count after.
        to_count: String,
        /// Whether the two are never equal.
        never: bool,
        /// What would make them equal.
        missing: Option<Missing>,
    },
    /// A tuple field that does not exist.
    TupleField {
        /// The field.
        field: String,
        /// The type.
        ty: String,
    },

    // Dimensions and requirements.
    /// Something that is not a dimension where one is due.
    NotADim {
        /// What stands there.
        found: String,
        /// What to write.
        help: Option<String>,
    },
    /// A divisor that is not provably positive.
    Divisor {
        /// The expression.
        expression: String,
        /// The divisor.
        divisor: String,
        /// What would make it positive; none if nothing does.
        missing: Option<Missing>,
    },
    /// A difference that is not provably at least zero.
    Negative {
        /// The expression.
        expression: String,
        /// What would make it a dimension; none if nothing does.
        missing: Option<Missing>,
    },
    /// A requirement of a callee or of a member's block that does not follow.
    Unproved {
        /// Whose, as in "`Attention`" or "`Attention::forward`".
        of: String,
        /// The clause as declared.
        clause: String,
        /// The clause with the generics of this place.
        here: String,
        /// What would make it true; none if nothing does.
        missing: Option<Missing>,
    },
    /// A clause of `#[require(..)]` of a form that cannot be checked.
    Clause {
        /// The clause.
        clause: String,
        /// Why not.
        reason: String,
        /// What to write.
        help: Option<String>,
    },

    // `index!`.
    /// An output or reduced index that indexes nothing plainly.
    IndexWithoutExtent {
        /// The index.
        index: String,
        /// Whether it is reduced.
        reduced: bool,
        /// What to write.
        help: String,
    },
    /// A name in an index that is neither an output nor a reduced index.
    IndexUnbound {
        /// The name.
        index: String,
        /// The nearest index that there is.
        nearest: Option<String>,
        /// The indices that there are.
        known: Vec<String>,
    },
    /// An index declared twice.
    IndexTwice {
        /// The index.
        index: String,
    },
    /// Too many or too few indices.
    IndexCount {
        /// The tensor as written.
        tensor: String,
        /// Its type.
        ty: String,
        /// How many there are.
        found: usize,
        /// What to do.
        help: Option<String>,
    },
    /// A pack's index on an axis, or an axis' index on a pack.
    IndexPack {
        /// What is wrong, as in "`*s` indexes the axis `H`, which is not a pack".
        what: String,
        /// What to write.
        help: Option<String>,
    },
    /// One index over axes of different lengths.
    IndexExtent {
        /// The index.
        index: String,
        /// What it indexes first, and how long that is.
        first: (String, String),
        /// What else it indexes, and how long that is.
        second: (String, String),
        /// What to do.
        help: Option<String>,
    },
    /// Something that cannot be indexed.
    NotIndexable {
        /// What, as written.
        what: String,
        /// Its type.
        ty: String,
    },
    /// A form that `index!` does not have.
    IndexForm {
        /// What, as in "a call of `softmax`".
        what: String,
        /// What to do.
        help: String,
    },

    // Slices.
    /// More entries in `s![..]` than axes, or fewer.
    SliceCount {
        /// The type.
        ty: String,
        /// How many entries there are.
        found: usize,
        /// What to write.
        help: String,
    },
    /// An index or a range that is not provably within its axis.
    SliceBound {
        /// The index or range as written.
        entry: String,
        /// The length of the axis.
        axis: String,
        /// What would have to hold.
        due: String,
        /// What would make it true; none if nothing does.
        missing: Option<Missing>,
    },
    /// A step that is not a literal of at least 1.
    SliceStep {
        /// The step as written.
        step: String,
    },
    /// A range that starts at a scalar known only at run time and whose length is not a dimension.
    SliceLength {
        /// The entry as written.
        entry: String,
    },

    // Blocks, state and control.
    /// A write to a state in a function that takes `&self`.
    WriteInRef {
        /// The function.
        function: String,
        /// The state.
        state: String,
    },
    /// A call of a `&mut self` function in a function that takes `&self`, or on a shared loop element.
    MutCallInRef {
        /// What writes state, as in "`Conv1D::step`".
        what: String,
        /// What stands against it, as in "`forward` takes `&self`".
        against: String,
        /// What to write.
        help: String,
    },
    /// A block that has itself as a member.
    InfiniteBlock {
        /// The block.
        block: String,
    },
    /// Functions that call each other in a circle.
    Recursion {
        /// The functions, from the first back to the first.
        circle: Vec<String>,
    },
    /// Something that cannot be assigned to.
    NotAssignable {
        /// What, as in "the parameter `x`".
        what: String,
        /// What to write.
        help: String,
    },
    /// An argument for a `&mut` parameter that is not `&mut`, or the reverse.
    MutArgument {
        /// The parameter.
        parameter: String,
        /// The function.
        function: String,
        /// What to write.
        help: String,
    },
    /// A state or `&mut` parameter given to one call twice.
    MutTwice {
        /// What.
        what: String,
        /// The function.
        function: String,
    },
    /// `return` before the end of a function.
    EarlyReturn,
    /// A function that ends without a value.
    MissingResult {
        /// The function.
        function: String,
        /// The type due.
        expected: String,
    },
    /// A branch missing from a `match` on an optional value.
    NotExhaustive {
        /// The pattern missing.
        missing: String,
    },
    /// Two branches whose values have different types.
    Branches {
        /// The type of the first.
        first: String,
        /// The type of the second.
        second: String,
        /// What to do.
        help: Option<String>,
    },
}

/// Every code, in order.
pub const CODES: &[&str] = &[
    "E0101", "E0102", "E0201", "E0202", "E0203", "E0204", "E0205", "E0206", "E0207", "E0208",
    "E0209", "E0210", "E0211", "E0212", "E0301", "E0302", "E0303", "E0304", "E0305", "E0306",
    "E0307", "E0308", "E0309", "E0310", "E0311", "E0312", "E0313", "E0314", "E0315", "E0316",
    "E0317", "E0401", "E0402", "E0403", "E0404", "E0405", "E0501", "E0502", "E0503", "E0504",
    "E0505", "E0506", "E0507", "E0508", "E0601", "E0602", "E0603", "E0604", "E0701", "E0702",
    "E0703", "E0704", "E0705", "E0706", "E0707", "E0708", "E0709", "E0710", "E0711",
];

impl Rule {
    /// The stable code, as in `E0301`: the first two digits name the group
    /// (01 syntax, 02 names, 03 types and shapes, 04 dimensions and
    /// requirements, 05 `index!`, 06 slices, 07 blocks, state and control).
    pub fn code(&self) -> &'static str {
        match self {
            Rule::Syntax { .. } => "E0101",
            Rule::Unsupported { .. } => "E0102",
            Rule::UnknownName { .. } => "E0201",
            Rule::UnknownMember { .. } => "E0202",
            Rule::UnknownFunction { .. } => "E0203",
            Rule::UnknownOperation { .. } => "E0204",
            Rule::UnknownMethod { .. } => "E0205",
            Rule::UnknownGeneric { .. } => "E0206",
            Rule::GenericKind { .. } => "E0207",
            Rule::GenericArgument { .. } => "E0208",
            Rule::GenericCount { .. } => "E0209",
            Rule::Duplicate { .. } => "E0210",
            Rule::PrivateFunction { .. } => "E0211",
            Rule::UnknownBlock { .. } => "E0212",
            Rule::ShapeMismatch { .. } => "E0301",
            Rule::DTypeMismatch { .. } => "E0302",
            Rule::TypeMismatch { .. } => "E0303",
            Rule::LiteralWithoutContext { .. } => "E0304",
            Rule::LiteralRange { .. } => "E0305",
            Rule::DimAsFloat { .. } => "E0306",
            Rule::OperandDTypes { .. } => "E0307",
            Rule::OperandKind { .. } => "E0308",
            Rule::Broadcast { .. } => "E0309",
            Rule::OptionalBare { .. } => "E0310",
            Rule::ArgumentCount { .. } => "E0311",
            Rule::CannotInfer { .. } => "E0312",
            Rule::AxisRange { .. } => "E0313",
            Rule::AxisOfPack { .. } => "E0314",
            Rule::NotPermutation { .. } => "E0315",
            Rule::ReshapeCount { .. } => "E0316",
            Rule::TupleField { .. } => "E0317",
            Rule::NotADim { .. } => "E0401",
            Rule::Divisor { .. } => "E0402",
            Rule::Negative { .. } => "E0403",
            Rule::Unproved { .. } => "E0404",
            Rule::Clause { .. } => "E0405",
            Rule::IndexWithoutExtent { .. } => "E0501",
            Rule::IndexUnbound { .. } => "E0502",
            Rule::IndexTwice { .. } => "E0503",
            Rule::IndexCount { .. } => "E0504",
            Rule::IndexPack { .. } => "E0505",
            Rule::IndexExtent { .. } => "E0506",
            Rule::NotIndexable { .. } => "E0507",
            Rule::IndexForm { .. } => "E0508",
            Rule::SliceCount { .. } => "E0601",
            Rule::SliceBound { .. } => "E0602",
            Rule::SliceStep { .. } => "E0603",
            Rule::SliceLength { .. } => "E0604",
            Rule::WriteInRef { .. } => "E0701",
            Rule::MutCallInRef { .. } => "E0702",
            Rule::Recursion { .. } => "E0703",
            Rule::NotAssignable { .. } => "E0704",
            Rule::MutArgument { .. } => "E0705",
            Rule::MutTwice { .. } => "E0706",
            Rule::EarlyReturn => "E0707",
            Rule::MissingResult { .. } => "E0708",
            Rule::NotExhaustive { .. } => "E0709",
            Rule::Branches { .. } => "E0710",
            Rule::InfiniteBlock { .. } => "E0711",
        }
    }

    /// The first line, without the code.
    pub fn message(&self) -> String {
        match self {
            Rule::Syntax { message, .. } => message.clone(),
            Rule::Unsupported { what, .. } => format!("{what} is not part of the language"),
            Rule::UnknownName { name, .. } => format!("cannot find `{name}` here"),
            Rule::UnknownMember { block, name, .. } => format!("`{block}` has no member `{name}`"),
            Rule::UnknownFunction { block, name, .. } => {
                format!("`{block}` has no function `{name}`")
            }
            Rule::UnknownOperation { name, .. } => format!("cannot find an operation `{name}`"),
            Rule::UnknownMethod { ty, name, .. } => format!("{ty} has no method `{name}`"),
            Rule::UnknownGeneric { name, .. } => format!("cannot find a generic `{name}`"),
            Rule::GenericKind { name, is, due, .. } => {
                format!("`{name}` is {is}, and {due} is due here")
            }
            Rule::GenericArgument {
                parameter,
                of,
                found,
            } => {
                format!("`{found}` cannot be the {parameter} of `{of}`")
            }
            Rule::GenericCount {
                of,
                generics,
                found,
            } => format!(
                "`{of}` has {}, and {found} {} given",
                count(generics.len(), "generic"),
                if *found == 1 { "is" } else { "are" }
            ),
            Rule::Duplicate { what, name } => format!("the {what} `{name}` is declared twice"),
            Rule::PrivateFunction { block, name } => format!("`{block}::{name}` is private"),
            Rule::UnknownBlock { path } => format!("cannot find a block `{path}`"),
            Rule::ShapeMismatch { place, .. } => format!("shape mismatch in {place}"),
            Rule::DTypeMismatch { place, .. } => format!("dtype mismatch in {place}"),
            Rule::TypeMismatch { place, .. } => format!("type mismatch in {place}"),
            Rule::LiteralWithoutContext { literal } => {
                format!("nothing here tells the dtype of `{literal}`")
            }
            Rule::LiteralRange { literal, dtype } => {
                format!("`{literal}` is not a value of {dtype}")
            }
            Rule::DimAsFloat { dim, dtype } => {
                format!("the dimension `{dim}` is an integer, and {dtype} is due here")
            }
            Rule::OperandDTypes { operator, .. } => {
                format!("the operands of `{operator}` have different dtypes")
            }
            Rule::OperandKind {
                operator, needs, ..
            } => format!("`{operator}` needs {needs}"),
            Rule::Broadcast { operator, .. } => {
                format!("the shapes of the operands of `{operator}` do not match")
            }
            Rule::OptionalBare { what, .. } => format!("`{what}` may be absent"),
            Rule::ArgumentCount {
                function,
                parameters,
                found,
            } => format!(
                "`{function}` takes {}, and {found} {} given",
                count(parameters.len(), "argument"),
                if *found == 1 { "is" } else { "are" }
            ),
            Rule::CannotInfer {
                generic, function, ..
            } => {
                format!("cannot infer `{generic}` in the call to `{function}`")
            }
            Rule::AxisRange { axis, ty, .. } => format!("{ty} has no axis {axis}"),
            Rule::AxisOfPack { axis, ty, .. } => {
                format!("which axis of {ty} is number {axis} depends on the rank of its pack")
            }
            Rule::NotPermutation { axes, .. } => {
                format!("{axes} does not name every axis exactly once")
            }
            Rule::ReshapeCount { .. } => {
                "`reshape` cannot be shown to keep the number of elements".into()
            }
            Rule::TupleField { field, ty } => format!("{ty} has no field `{field}`"),
            Rule::NotADim { found, .. } => format!("{found} is not a dimension"),
            Rule::Divisor {
                divisor,
                missing: Some(_),
                ..
            } => {
                format!("the divisor `{divisor}` may be zero")
            }
            Rule::Divisor {
                divisor,
                missing: None,
                ..
            } => {
                format!("the divisor `{divisor}` is not positive")
            }
            Rule::Negative {
                expression,
                missing: Some(_),
            } => {
                format!("the dimension `{expression}` may be negative")
            }
            Rule::Negative {
                expression,
                missing: None,
            } => {
                format!("the dimension `{expression}` is negative")
            }
            Rule::Unproved {
                of,
                clause,
                missing: Some(_),
                ..
            } => {
                format!("{of} requires `{clause}`, which does not follow here")
            }
            Rule::Unproved {
                of,
                clause,
                missing: None,
                ..
            } => {
                format!("{of} requires `{clause}`, which is never true here")
            }
            Rule::Clause { clause, .. } => format!("the requirement `{clause}` cannot be checked"),
            Rule::IndexWithoutExtent {
                index,
                reduced: false,
                ..
            } => {
                format!("the output index `{index}` has no extent: it indexes nothing plainly")
            }
            Rule::IndexWithoutExtent {
                index,
                reduced: true,
                ..
            } => {
                format!("the reduced index `{index}` has no extent: it indexes nothing plainly")
            }
            Rule::IndexUnbound { index, .. } => {
                format!("`{index}` is neither an output index nor a reduced one")
            }
            Rule::IndexTwice { index } => format!("the index `{index}` is declared twice"),
            Rule::IndexCount { tensor, found, .. } => {
                format!(
                    "`{tensor}` is indexed with {}",
                    count_of(*found, "index", "indices")
                )
            }
            Rule::IndexPack { what, .. } => what.clone(),
            Rule::IndexExtent { index, .. } => {
                format!("the index `{index}` runs over axes that are not provably equal")
            }
            Rule::NotIndexable { what, .. } => format!("`{what}` cannot be indexed"),
            Rule::IndexForm { what, .. } => format!("{what} is not possible in `index!`"),
            Rule::SliceCount { ty, found, .. } => {
                format!(
                    "`s![..]` has {} for {ty}",
                    count_of(*found, "entry", "entries")
                )
            }
            Rule::SliceBound {
                entry,
                axis,
                missing: Some(_),
                ..
            } => {
                format!("`{entry}` may not lie within its axis of length `{axis}`")
            }
            Rule::SliceBound {
                entry,
                axis,
                missing: None,
                ..
            } => {
                format!("`{entry}` does not lie within its axis of length `{axis}`")
            }
            Rule::SliceStep { step } => format!("the step `{step}` is not a literal of at least 1"),
            Rule::SliceLength { entry } => {
                format!("the length of the slice `{entry}` is not a dimension")
            }
            Rule::WriteInRef { function, state } => {
                format!("`{function}` takes `&self` and writes the state `{state}`")
            }
            Rule::MutCallInRef { what, against, .. } => {
                format!("{what} writes state, and {against}")
            }
            Rule::InfiniteBlock { block } => format!("`{block}` contains itself"),
            Rule::Recursion { circle } => format!(
                "`{}` calls itself",
                circle.first().map(String::as_str).unwrap_or_default()
            ),
            Rule::NotAssignable { what, .. } => format!("{what} cannot be assigned to"),
            Rule::MutArgument {
                parameter,
                function,
                ..
            } => {
                format!("wrong kind of argument for `{parameter}` in the call to `{function}`")
            }
            Rule::MutTwice { what, function } => {
                format!("`{what}` is given to `{function}` as `&mut` twice")
            }
            Rule::EarlyReturn => "`return` stands before the end of the function".into(),
            Rule::MissingResult { function, .. } => format!("`{function}` ends without a value"),
            Rule::NotExhaustive { missing } => format!("the pattern `{missing}` is not covered"),
            Rule::Branches { .. } => "the branches have different types".into(),
        }
    }

    /// The lines after the first: the types at odds, and where they come from.
    pub fn details(&self) -> Vec<String> {
        match self {
            Rule::UnknownMember { block, known, .. } if !known.is_empty() => {
                vec![format!("`{block}` has {}", list(known))]
            }
            Rule::UnknownFunction { block, known, .. } if !known.is_empty() => {
                vec![format!("`{block}` has {}", list(known))]
            }
            Rule::UnknownGeneric { known, .. } if !known.is_empty() => {
                vec![format!("in scope are {}", list(known))]
            }
            Rule::GenericCount { of, generics, .. } => {
                vec![format!("expected {of}<{}>", generics.join(", "))]
            }
            Rule::ShapeMismatch {
                expected,
                expected_note,
                found,
                ..
            }
            | Rule::DTypeMismatch {
                expected,
                expected_note,
                found,
                ..
            }
            | Rule::TypeMismatch {
                expected,
                expected_note,
                found,
                ..
            } => {
                let note = match expected_note {
                    Some(note) => {
                        let width = found
                            .chars()
                            .count()
                            .saturating_sub(expected.chars().count());
                        format!("{}   ({note})", " ".repeat(width))
                    }
                    None => String::new(),
                };
                vec![
                    format!("expected {expected}{note}"),
                    format!("   found {found}"),
                ]
            }
            Rule::OperandDTypes { left, right, .. } => {
                vec![format!(" left {left}"), format!("right {right}")]
            }
            Rule::OperandKind { found, .. } => vec![format!("found {found}")],
            Rule::Broadcast {
                left, right, pair, ..
            } => {
                let mut lines = vec![format!(" left {left}"), format!("right {right}")];
                if let Some((a, b)) = pair {
                    lines.push(format!(
                        "aligned at the right, `{a}` meets `{b}`: they must be equal, or one of them 1"
                    ));
                }
                lines
            }
            Rule::OptionalBare { ty, .. } => vec![format!("found {ty}")],
            Rule::ArgumentCount {
                function,
                parameters,
                ..
            } => {
                vec![format!("expected {function}({})", parameters.join(", "))]
            }
            Rule::NotPermutation { ty, .. } => vec![format!("found {ty}")],
            Rule::ReshapeCount {
                from,
                to,
                from_count,
                to_count,
                ..
            } => vec![
                format!("from {from}, of {from_count} elements"),
                format!("  to {to}, of {to_count} elements"),
            ],
            Rule::Divisor { expression, .. } => vec![format!("in `{expression}`")],
            Rule::Unproved { clause, here, .. } if clause != here => {
                vec![format!("that is, `{here}`")]
            }
            Rule::Clause { reason, .. } => vec![reason.clone()],
            Rule::IndexUnbound { known, .. } if !known.is_empty() => {
                vec![format!("the indices are {}", list(known))]
            }
            Rule::IndexCount { ty, .. } => vec![format!("found {ty}")],
            Rule::IndexExtent { first, second, .. } => vec![
                format!("{} in `{}`", first.1, first.0),
                format!("{} in `{}`", second.1, second.0),
            ],
            Rule::NotIndexable { ty, .. } => vec![format!("found {ty}")],
            Rule::SliceBound { due, .. } => vec![format!("due is `{due}`")],
            Rule::Recursion { circle } if circle.len() > 2 => {
                vec![format!(
                    "by {}",
                    circle
                        .iter()
                        .map(|f| format!("`{f}`"))
                        .collect::<Vec<_>>()
                        .join(" -> ")
                )]
            }
            Rule::MissingResult { expected, .. } => vec![format!("expected {expected}")],
            Rule::Branches { first, second, .. } => {
                vec![format!(" first {first}"), format!("second {second}")]
            }
            _ => Vec::new(),
        }
    }

    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Rule::Syntax { help, .. }
            | Rule::GenericKind { help, .. }
            | Rule::ShapeMismatch { help, .. }
            | Rule::DTypeMismatch { help, .. }
            | Rule::TypeMismatch { help, .. }
            | Rule::OperandKind { help, .. }
            | Rule::Broadcast { help, .. }
            | Rule::AxisRange { help, .. }
            | Rule::NotADim { help, .. }
            | Rule::Clause { help, .. }
            | Rule::IndexCount { help, .. }
            | Rule::IndexPack { help, .. }
            | Rule::IndexExtent { help, .. }
            | Rule::Branches { help, .. } => help.clone(),
            Rule::Unsupported { help, .. }
            | Rule::OperandDTypes { help, .. }
            | Rule::CannotInfer { help, .. }
            | Rule::AxisOfPack { help, .. }
            | Rule::IndexWithoutExtent { help, .. }
            | Rule::IndexForm { help, .. }
            | Rule::SliceCount { help, .. }
            | Rule::MutCallInRef { help, .. }
            | Rule::NotAssignable { help, .. }
            | Rule::MutArgument { help, .. } => Some(help.clone()),
            Rule::UnknownName { nearest, known, .. } => match nearest {
                Some(nearest) => Some(format!("did you mean `{nearest}`?")),
                None if known.is_empty() => None,
                None => Some(format!("in scope are {}", list(known))),
            },
            Rule::UnknownMember { nearest, .. }
            | Rule::UnknownFunction { nearest, .. }
            | Rule::UnknownMethod { nearest, .. }
            | Rule::UnknownGeneric { nearest, .. } => {
                nearest.as_ref().map(|nearest| format!("did you mean `{nearest}`?"))
            }
            Rule::UnknownOperation { nearest, name } => Some(match nearest {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => format!("declare it with `#[op] fn {name}`, and bring it into scope with `use`"),
            }),
            Rule::GenericArgument { .. } | Rule::GenericCount { .. } => None,
            Rule::Duplicate { what, .. } => Some(format!("give one {what} another name")),
            Rule::PrivateFunction { name, .. } => Some(format!("declare it `pub fn {name}`")),
            Rule::UnknownBlock { path } => {
                Some(format!("declare it with `#[block] struct {path}`, and bring it into scope with `use`"))
            }
            Rule::LiteralWithoutContext { literal } => {
                let dtype = if literal.contains('.') { "f32" } else { "i32" };
                Some(format!("give it one: `let name: {dtype} = {literal};` or `cast::<{dtype}>(..)`"))
            }
            Rule::LiteralRange { literal, dtype } => {
                if literal.contains('.') && dtype.starts_with('i') {
                    Some(format!("write an integer, or cast the other side to a float: {dtype} has no fractions"))
                } else {
                    None
                }
            }
            Rule::DimAsFloat { dim, dtype } => Some(format!("write `cast::<{dtype}>({dim})`")),
            Rule::OptionalBare { what, .. } => {
                Some(format!("open it first: `if let Some(value) = {what} {{ .. }} else {{ .. }}`"))
            }
            Rule::NotPermutation { .. } => {
                Some("name each axis once, 0 for the first or -1 for the last".into())
            }
            Rule::Divisor { missing, .. } => Some(match missing {
                Some(missing) => missing.to_string(),
                None => "divide by a positive number".into(),
            }),
            Rule::Negative { missing, .. } => missing.as_ref().map(ToString::to_string),
            Rule::Unproved { missing, .. } => Some(match missing {
                Some(missing) => missing.to_string(),
                None => "choose other dimensions".into(),
            }),
            Rule::SliceBound { missing, .. } => missing.as_ref().map(ToString::to_string),
            Rule::ReshapeCount { never: true, .. } => {
                Some("no values of the generics make these equal".into())
            }
            Rule::ReshapeCount { missing, .. } => missing.as_ref().map(ToString::to_string),
            Rule::IndexTwice { .. } => Some("give one of the two another name".into()),
            Rule::InfiniteBlock { .. } => {
                Some("a block is made of other blocks, and of arrays of them".into())
            }
            Rule::IndexUnbound { nearest: Some(nearest), .. } => {
                Some(format!("did you mean `{nearest}`?"))
            }
            Rule::IndexUnbound { index, .. } => Some(format!(
                "add it to the outputs, `[.., {index}]`, or fold over it, `sum[{index}] ..`"
            )),
            Rule::SliceStep { .. } => Some("write it after a semicolon: `0..N;2`".into()),
            Rule::SliceLength { .. } => {
                Some("let both ends start with the same scalar: `pos..pos + S` has length S".into())
            }
            Rule::WriteInRef { function, .. } => {
                Some(format!("declare it `fn {function}(&mut self, ..)`"))
            }
            Rule::Recursion { .. } => {
                Some("a function's work is planned before it runs: write a loop over blocks or dimensions".into())
            }
            Rule::MutTwice { .. } => Some("give it once: the callee could not tell the two apart".into()),
            Rule::EarlyReturn => Some("make it the last expression, or use `if .. { .. } else { .. }` as a value".into()),
            Rule::MissingResult { .. } => {
                Some("end the body with an expression of this type, without a semicolon".into())
            }
            Rule::NotExhaustive { missing } => Some(format!("add `{missing} => ..`")),
            _ => None,
        }
    }

    /// The requirement whose absence is all that is wrong, if that is so. One
    /// that is missing is reported once, not wherever it would be needed.
    pub fn missing(&self) -> Option<&Missing> {
        match self {
            Rule::Divisor { missing, .. }
            | Rule::Negative { missing, .. }
            | Rule::Unproved { missing, .. }
            | Rule::SliceBound { missing, .. }
            | Rule::ReshapeCount { missing, .. } => missing.as_ref(),
            _ => None,
        }
    }

    /// Message with code, details and help, as rustc shows it.
    pub fn text(&self) -> String {
        let mut text = format!("{} [{}]", self.message(), self.code());
        for line in self.details() {
            text.push_str("\n  ");
            text.push_str(&line);
        }
        if let Some(help) = self.help() {
            text.push_str("\n  help: ");
            text.push_str(&help);
        }
        text
    }
}

fn count(n: usize, noun: &str) -> String {
    count_of(n, noun, &format!("{noun}s"))
}

fn count_of(n: usize, one: &str, many: &str) -> String {
    match n {
        0 => format!("no {many}"),
        1 => format!("1 {one}"),
        n => format!("{n} {many}"),
    }
}

fn list(names: &[String]) -> String {
    names
        .iter()
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ")
}
