//! The syntax tree: what was written, with positions, before any name is looked up.
//!
//! Later additions to the language (hiCUDA directives) are further variants of [`Item`] and [`Directive`]; nothing else
//! changes.

mod codelets;
mod directives;
mod pins;

pub use codelets::*;
pub use directives::*;
pub use pins::*;

use crate::source::Span;

/// One file.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// Items in source order.
    pub items: Vec<Item>,
}

/// A name and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Ident {
    /// The name, exactly as written.
    pub name: String,
    /// Its position.
    pub span: Span,
}

/// A top-level item.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// `import "ops.hdp";`
    Import(Import),
    /// `const float PI = 3.14;`
    Const(ConstItem),
    /// `struct Best { float v; int i; }` or `extern struct P;`
    Struct(StructItem),
    /// `function name header { body }`
    Function(Function),
    /// `function type name(params) { body }`, or the same with `extern` and without body
    Scalar(ScalarFunction),
    /// `recurrence type name(indices) inputs { body }`
    Recurrence(Recurrence),
    /// `codelet name "tag" header when (condition) tunables { body }`
    Codelet(Codelet),
}

/// `import "path";`
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The path as written, escapes resolved.
    pub path: String,
    /// Position of the string.
    pub path_span: Span,
    /// The whole item.
    pub span: Span,
}

/// A file-level constant.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstItem {
    /// Written type.
    pub ty: TypeName,
    /// Name.
    pub name: Ident,
    /// Value.
    pub value: Expr,
    /// The whole item.
    pub span: Span,
}

/// A struct; an `extern struct` has no fields until its header is read.
#[derive(Clone, Debug, PartialEq)]
pub struct StructItem {
    /// Comment lines directly above.
    pub doc: Vec<String>,
    /// Name.
    pub name: Ident,
    /// Whether the type comes from a C header: `extern struct P;`
    pub native: bool,
    /// Fields in order.
    pub fields: Vec<Field>,
    /// The whole item.
    pub span: Span,
}

/// A field of a struct.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Type.
    pub ty: TypeName,
    /// Name.
    pub name: Ident,
}

/// A type as written: the name of a scalar type, of a synonym or of a struct.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeName {
    /// The name, exactly as written.
    pub name: String,
    /// Its position.
    pub span: Span,
}

/// A function over arrays.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Comment lines directly above, markers removed.
    pub doc: Vec<String>,
    /// Directives directly before it (`nocontract`).
    pub directives: Vec<Directive>,
    /// `static`: never an entry.
    pub is_static: bool,
    /// Name.
    pub name: Ident,
    /// Parameters in the header's order.
    pub params: Vec<Param>,
    /// Body.
    pub body: Block,
    /// The whole item.
    pub span: Span,
    /// `function NAME` up to the last parameter list.
    pub header_span: Span,
}

/// How a parameter is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Read only.
    Input,
    /// Written.
    Output,
    /// Read and written.
    Inout,
}

/// One declarator of an `input`, `output` or `inout` list.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Which list it stands in.
    pub direction: Direction,
    /// Of an output: elements that are not written are meant to stay as they are.
    pub partial: bool,
    /// Element type.
    pub ty: TypeName,
    /// Name with its underscore, if it has one.
    pub name: Ident,
    /// Dimensions, outermost first; none for a scalar.
    pub dims: Vec<Expr>,
    /// Name and dimensions.
    pub span: Span,
}

/// A function of scalars, callable in expressions and usable as an operator.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalarFunction {
    /// Comment lines directly above.
    pub doc: Vec<String>,
    /// Directives directly before it (`nocontract`).
    pub directives: Vec<Directive>,
    /// Result type.
    pub result: TypeName,
    /// Name.
    pub name: Ident,
    /// Parameters.
    pub params: Vec<Field>,
    /// Body; `None` for `extern function`.
    pub body: Option<Block>,
    /// The whole item.
    pub span: Span,
}

/// A recurrence: a function from the points of its domain to a value, which may use its own values at other points.
#[derive(Clone, Debug, PartialEq)]
pub struct Recurrence {
    /// Comment lines directly above.
    pub doc: Vec<String>,
    /// Directives directly before it.
    pub directives: Vec<Directive>,
    /// Type of a cell.
    pub ty: TypeName,
    /// Name.
    pub name: Ident,
    /// The domain: an index and its range each, outermost first.
    pub index: Vec<Iter>,
    /// Inputs; their direction is always `input`.
    pub params: Vec<Param>,
    /// How a cell is computed.
    pub body: Block,
    /// The whole item.
    pub span: Span,
}

/// `{ statements }`
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Statements in order.
    pub stmts: Vec<Stmt>,
    /// Including the braces.
    pub span: Span,
}

/// A statement with the directives that stand before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// `#pragma hidp …` lines directly before it.
    pub directives: Vec<Directive>,
    /// What it is.
    pub kind: StmtKind,
    /// The whole statement.
    pub span: Span,
}

/// The kinds of statement.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// `float a[N], b = 1;`
    Declare(Declare),
    /// `target op= value;`
    Assign(Assign),
    /// `atomic target op= value;` or `atomic x = min(x, e);`
    Atomic(Assign),
    /// `if (c) … else …`; a branch that is one statement is a block of one statement
    If {
        /// Condition.
        condition: Expr,
        /// Taken when true.
        then: Block,
        /// Taken when false.
        otherwise: Option<Block>,
    },
    /// `for (init; condition; step) …`
    For {
        /// A declaration or an assignment.
        init: Option<Box<Stmt>>,
        /// Absent means true.
        condition: Option<Expr>,
        /// An assignment.
        step: Option<Box<Stmt>>,
        /// Body.
        body: Block,
    },
    /// `while (condition) …`
    While {
        /// Condition.
        condition: Expr,
        /// Body.
        body: Block,
    },
    /// `break;`
    Break,
    /// `continue;`
    Continue,
    /// `return;` at host level, `return value;` in scalar functions
    Return(Option<Expr>),
    /// `{ … }`
    Block(Block),
    /// `name(arguments);`: a function call or a primitive
    Call(Box<Call>),
    /// `swap(a, b);`
    Swap(Ident, Ident),
    /// `map { iterators statements } suffixes`
    Map(Map),
}

/// A declaration of locals.
#[derive(Clone, Debug, PartialEq)]
pub struct Declare {
    /// Element type.
    pub ty: TypeName,
    /// What is declared.
    pub declarators: Vec<Declarator>,
}

/// One declared local.
#[derive(Clone, Debug, PartialEq)]
pub struct Declarator {
    /// Name.
    pub name: Ident,
    /// Dimensions, outermost first; none for a scalar.
    pub dims: Vec<Expr>,
    /// Initial value; scalars only.
    pub init: Option<Expr>,
}

/// An assignment.
#[derive(Clone, Debug, PartialEq)]
pub struct Assign {
    /// A name, an element, a section, a field of one of these.
    pub target: Expr,
    /// The operator of a compound assignment; `None` for `=`.
    pub op: Option<BinaryOp>,
    /// Right side.
    pub value: Expr,
}

/// A call in a statement or an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// What is called.
    pub callee: Ident,
    /// Arguments in order.
    pub args: Vec<Arg>,
    /// Inputs of a recurrence that are bound behind a `;`.
    pub binds: Vec<Bind>,
}

/// `s = A[lo:hi)`: an input of a recurrence and what it is in this use.
#[derive(Clone, Debug, PartialEq)]
pub struct Bind {
    /// The input.
    pub name: Ident,
    /// A value, an array or a section.
    pub value: Expr,
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// An ordinary one.
    Expr(Expr),
    /// An operator in quotes: `"+"`.
    Operator {
        /// Without the quotes.
        name: String,
        /// With the quotes.
        span: Span,
    },
    /// `op: neutral`, an operator with its neutral element; the operator is a name or in quotes.
    WithNeutral {
        /// Operator or function name, without quotes.
        op: Ident,
        /// Neutral element.
        neutral: Expr,
    },
    /// `k := [*]`
    Over {
        /// Iterator.
        iter: Ident,
        /// Iterator to bracket.
        span: Span,
    },
}

/// A map block and its suffixes.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// Iterators in order.
    pub iters: Vec<Iter>,
    /// Statements.
    pub body: Block,
    /// `reduce`, `scan`, `exscan` directly behind the block.
    pub suffixes: Vec<Call>,
    /// The word `map`.
    pub map_span: Span,
}

/// `m := [0:M)` or `m := [0:M:4)`
#[derive(Clone, Debug, PartialEq)]
pub struct Iter {
    /// Name.
    pub name: Ident,
    /// Range.
    pub range: Range,
    /// The whole of it.
    pub span: Span,
}

/// A range of a map or of a section.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// First bound.
    pub low: Box<Expr>,
    /// Whether `[` opens it.
    pub low_inclusive: bool,
    /// Second bound.
    pub high: Box<Expr>,
    /// Whether `]` closes it.
    pub high_inclusive: bool,
    /// Stride.
    pub step: Option<Box<Expr>>,
    /// With the brackets.
    pub span: Span,
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands, parentheses included.
    pub span: Span,
}

/// The kinds of expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A literal.
    Literal(Literal),
    /// A name, `_x` included.
    Name(String),
    /// `a[i][1:n)[*]`: element or section
    Index {
        /// What is indexed: a name, or another expression for struct fields' sake (an error later).
        base: Box<Expr>,
        /// One entry a dimension.
        subscripts: Vec<Subscript>,
    },
    /// `e.field`
    Field {
        /// Struct value.
        base: Box<Expr>,
        /// Field name.
        field: Ident,
    },
    /// `-e`, `!e`, `~e`, `+e`
    Unary {
        /// Operator.
        op: UnaryOp,
        /// Operand.
        operand: Box<Expr>,
    },
    /// `a op b`
    Binary {
        /// Operator.
        op: BinaryOp,
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
        /// Position of the operator.
        op_span: Span,
    },
    /// `c ? a : b`
    Select {
        /// Condition.
        condition: Box<Expr>,
        /// Value when true.
        then: Box<Expr>,
        /// Value when false.
        otherwise: Box<Expr>,
    },
    /// `(type)e` or `type(e)`
    Cast {
        /// Type.
        ty: TypeName,
        /// Operand.
        operand: Box<Expr>,
        /// Whether it was written `type(e)`.
        call_style: bool,
    },
    /// A scalar function, a maths function, or `min`/`max` with a primitive's arguments
    Call(Box<Call>),
    /// `min_of(T)` and `max_of(T)`
    Limit {
        /// `max_of`.
        max: bool,
        /// Type.
        ty: TypeName,
    },
    /// `Best{v: 0.0, i: -1}`
    Struct {
        /// Type.
        ty: TypeName,
        /// Fields as written.
        fields: Vec<(Ident, Expr)>,
    },
    /// Stands for what could not be parsed; an error was reported.
    Error,
}

/// One subscript.
#[derive(Clone, Debug, PartialEq)]
pub enum Subscript {
    /// `[e]`
    At(Expr),
    /// `[a:b)`
    Range(Range),
    /// `[*]`
    All(Span),
    /// `[adjacent t of p]`
    Piece(Piece),
}

/// A literal as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// Decimal or hexadecimal.
    Int {
        /// Value; a literal beyond `ulong` is an error of the lexer.
        value: u64,
        /// `u`, `l` or both.
        unsigned: bool,
        /// `l`
        long: bool,
    },
    /// With `.` or exponent, or with suffix `f`.
    Float {
        /// Digits as written without suffix, so that a float is rounded once from them.
        text: String,
        /// Suffix `f`.
        single: bool,
    },
    /// `'c'`
    Char(u8),
    /// `true` or `false`
    Bool(bool),
    /// `INFINITY`
    Infinity,
    /// `NAN`
    Nan,
}

/// Prefix operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `+`
    Plus,
    /// `!`
    Not,
    /// `~`
    BitNot,
}

/// Infix operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Rem,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `&&`
    And,
    /// `||`
    Or,
}
