//! The table of codes: one row each, from which messages, `docs/errors.md` and the tests are made.
//!
//! Numbers: 00xx lexing and parsing, 01xx names, 02xx types, 03xx shapes, 04xx effects (writes, races), 05xx primitives and
//! suffixes, 06xx directives, 07xx functions and imports, 08xx warnings, 09xx build (files, compilers).

use super::Severity;

/// What the table says of a code.
#[derive(Clone, Copy, Debug)]
pub struct CodeInfo {
    /// As printed: `HD0102`.
    pub name: &'static str,
    /// Severity.
    pub severity: Severity,
    /// A headline for the index of `docs/errors.md`.
    pub title: &'static str,
    /// What it means and what to do, in Markdown; shown after the snippet and in `docs/errors.md`.
    pub explanation: &'static str,
}

macro_rules! codes {
    ($($(#[$meta:meta])* $variant:ident = $name:literal $severity:ident $title:literal $explanation:literal;)*) => {
        /// A diagnostic code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $title] $(#[$meta])* $variant,)*
        }

        impl Code {
            /// Every code in the table's order.
            pub const ALL: &'static [Code] = &[$(Code::$variant),*];

            /// The code's row.
            pub const fn info(self) -> CodeInfo {
                match self {
                    $(Code::$variant => CodeInfo {
                        name: $name,
                        severity: Severity::$severity,
                        title: $title,
                        explanation: $explanation,
                    },)*
                }
            }
        }
    };
}

codes! {
    UnexpectedToken = "HD0001" Error "unexpected token"
        "A token is not valid at its position. The message says what is expected there.";
    Unclosed = "HD0002" Error "unclosed or unmatched bracket"
        "Every `{`, `(` and `[` needs its closing partner. The message shows where the open one stands; the missing one may \
         belong anywhere between the two places.\n\n\
         Ranges are the exception to equal pairs: `[0:N)` is half-open and `(0:N]` leaves out its first value.";
    MissingSemicolon = "HD0003" Error "missing semicolon"
        "Statements, parameter lists and map iterators end in `;`.\n\n\
         ```hidp\nx = a + 1;\n```";
    BadCharacter = "HD0004" Error "character that HiDP does not use"
        "Names, numbers and operators are made of ASCII characters. Any character may stand in a comment.";
    BadNumber = "HD0005" Error "malformed number"
        "Integers are decimal (`42`) or hexadecimal (`0x2a`), with an optional suffix `u`, `l` or `ul`. Floating-point numbers \
         have a `.` or an exponent (`1.5`, `2e-3`), with an optional suffix `f`.\n\n\
         There are no octal numbers: a decimal number of several digits does not begin with `0`.";
    NumberTooLarge = "HD0006" Error "number too large for every type"
        "Integers reach up to 18446744073709551615 (`ulong`). Floating-point numbers reach up to about 1.8e308 (`double`), \
         with suffix `f` up to about 3.4e38 (`float`). For a value without end there is `INFINITY`.";
    BadQuote = "HD0007" Error "malformed character or string"
        "A character is one ASCII character in single quotes, or an escape: `\\n`, `\\t`, `\\r`, `\\0`, `\\\\`, `\\'`, `\\\"`, `\\x41`. \
         Strings in double quotes name operators (`\"+\"`) and imported files, and end on their line.";
    UnclosedComment = "HD0008" Error "comment without end"
        "A comment that begins with `/*` goes on to the first `*/`; it may span lines and does not nest.";
    TooDeep = "HD0009" Error "nesting too deep"
        "Statements and expressions may be nested, and operators chained, to a fixed depth that no program written by hand comes \
         near. Store parts of the expression in locals.";
    Increment = "HD0010" Error "`++` and `--` are no operators"
        "Assignments are statements, not expressions, so there is no `++` and no `--`.\n\n\
         ```hidp\ns += 1;\n```";
    AssignmentAsValue = "HD0011" Error "assignment used as a value"
        "An assignment is a statement and has no value: `x = y = z;` is two statements, and a condition compares with `==`.";
    CommaOperator = "HD0012" Error "comma between expressions"
        "A comma separates arguments and declarators; it is no operator. Write two statements, and one pair of brackets for each \
         dimension.\n\n\
         ```hidp\nA[i][j] = 0;\n```";
    ReservedName = "HD0013" Error "reserved word used as a name"
        "Keywords and the names of the scalar types cannot name anything else.";
    NotAssignable = "HD0014" Error "this cannot be assigned to"
        "The left side of an assignment is a variable, an element or section of an array, or a field of one of these.";
    NoEffect = "HD0015" Error "statement without effect"
        "An expression alone is no statement: its value would be lost. Assign it, or remove it.";
    MisplacedIterator = "HD0016" Error "iterator in a wrong place"
        "Iterators (`i := [0:N);`) are declared at the start of a map, before its statements.\n\n\
         ```hidp\nmap {\n  i := [0:N); j := [0:M);\n  A[i][j] = i + j;\n}\n```";
    MapWithoutIterator = "HD0017" Error "map without iterators"
        "A map runs its statements for every value of its iterators, so it needs at least one.\n\n\
         ```hidp\nmap {\n  i := [0:N);\n  y[i] = x[i] * x[i];\n}\n```";
    BadRange = "HD0018" Error "malformed range"
        "A range is `[low:high]` with both ends, or without one of them where `(` or `)` stands: `[0:N)` is 0 to N-1. A stride may \
         follow: `[0:N:4)`. A section of an array is opened by `[`; `[*]` is all of a dimension. An iterator of a map needs its \
         bounds written out.";
    MisplacedSuffix = "HD0019" Error "suffix without its map"
        "A `reduce`, `scan` or `exscan` over iterators (`k := [*]`) folds values of a map and stands directly behind the map's \
         closing brace or behind another suffix.\n\n\
         ```hidp\nmap {\n  k := [0:K);\n  _t = x[k] * y[k];\n} reduce(\"+\", _dot, _t, k := [*]);\n```";
    NotSupported = "HD0020" Error "not supported by this version"
        "The language reserves this for a later version.";
    NotHidp = "HD0021" Error "a construct of C that HiDP does not have"
        "HiDP's statements look like C's, without pointers, `do`, `switch`, `goto` and types of several words. The message says \
         what to write.";
    BadHeader = "HD0022" Error "malformed function header"
        "A function over arrays lists its parameters after its name:\n\n\
         ```hidp\nfunction scale\ninput float _a, x[N];\noutput float y[N];\n{ y = _a * x; }\n```\n\n\
         A function of scalars names its result and its parameters like a C function:\n\n\
         ```hidp\nfunction float square(float x) { return x * x; }\n```";
    BadDeclaration = "HD0023" Error "malformed declaration"
        "A declaration names a type, then one or more names with their dimensions: `float A[M][N], b = 1;`. Fields of \
         structs are scalars or structs. Constants are declared at file level.";
    EmptyStatement = "HD0024" Error "empty statement"
        "A `;` alone is no statement. After `if`, `for` and `while` it would silently be their whole body; write `{ }` where nothing \
         is to be done.";
    ExpectedItem = "HD0025" Error "expected an item"
        "A file holds functions, structs, constants and imports; statements stand inside functions.";

    UnknownName = "HD0101" Error "unknown name"
        "Nothing of this name can be seen here. Names are exact: `_x` and `x` are different, except that `_x` in a map also means a \
         scalar `x` or this iteration's element of an array `x`. In a map the first assignment to a name that begins with `_` makes \
         a scalar of that iteration; everything else is declared before it is used.";
    DuplicateName = "HD0102" Error "name declared twice"
        "A block, a header and a file declare each name once. A file also sees the names of the files that it imports. Parameters \
         must differ in more than a leading underscore, which Rust's parameters do not have.";
    TakenName = "HD0103" Error "reserved name"
        "The names of primitives (`reduce`, `sort`, `reg_min`, …) and, for functions, of maths functions are taken.";
    ShadowsDimension = "HD0104" Error "name of a dimension or iterator"
        "A dimension name and an iterator keep their meaning everywhere inside: nothing else may take their name.";
    UnknownType = "HD0105" Error "unknown type"
        "Types are `bool char int8 uint8 short ushort int uint long ulong float double`, `int16` to `uint64`, Rust's names for them, and the structs that \
         this file declares or imports.";
    NotAValue = "HD0106" Error "not a value"
        "Functions over arrays and primitives are called as statements; scalar functions stand in expressions. The name of a function \
         or type is no value.";
    IterationElement = "HD0107" Error "no element of this iteration"
        "`_x` means this iteration's element `x[i][j]…` of an array `x`. That works where the rank of `x` is the number of iterators \
         between the declaration of `x` and this place. Write the indices otherwise.";
    ReadBeforeAssigned = "HD0108" Error "scalar read before it is assigned"
        "A scalar that a first assignment in a map makes has no value on paths that have not passed the assignment. Declare it before, \
         which makes it 0, or assign it on every path.";
    UnknownField = "HD0109" Error "unknown field"
        "Only structs have fields, and only those that they declare.";
    NotAnArray = "HD0110" Error "not an array"
        "Elements, sections, `swap` and array parameters need an array that is named plainly.";
    NotWritable = "HD0111" Error "cannot be assigned to"
        "Variables, elements, sections and their fields are assigned to. Dimension names, iterators, constants and functions never change.";
    UnknownFunction = "HD0112" Error "unknown function"
        "The name is no function of this file or its imports, no maths function and no primitive.";

    MismatchedTypes = "HD0201" Error "type does not fit"
        "Values convert by themselves only where every value is kept, from integers to `float` and `double`, and from dimension \
         names, iterators and literals to a narrower integer, with a test at run time. Everything else is written as a cast: \
         `(int)x` or `int(x)`.";
    NoCommonType = "HD0202" Error "no type holds both operands"
        "Both operands of an operator convert to the smallest type that keeps every value of both. For `long` and `ulong` there is none. \
         Cast one of them to the type that is meant.";
    LiteralOutOfRange = "HD0203" Error "literal does not fit its type"
        "A literal takes its type from the other operand, the assignment's target or the parameter, and must be a value of it.";
    BadOperand = "HD0204" Error "operator does not take this type"
        "Arithmetic works on numbers; `%`, `~`, shifts and bit operations on integers (`fmod` is the remainder of floats); nothing works on \
         whole structs: name their fields.";
    ArgumentCount = "HD0205" Error "wrong number of arguments"
        "A call gives one argument for each parameter.";
    BadArgument = "HD0206" Error "argument does not fit"
        "Operators in quotes, neutral elements and `k := [*]` are arguments of primitives. What a function writes must be a variable, an \
         element or an array.";
    StructValue = "HD0207" Error "malformed struct value"
        "A struct value names its type and gives each field once: `Best{v: 0.0, i: -1}`.";
    NotConstant = "HD0208" Error "not a constant"
        "The value of a constant is known at compile time: literals, other constants, operators, casts and maths functions of them.";
    RecursiveStruct = "HD0209" Error "impossible struct"
        "A struct has at least one field and does not contain itself. At most 64 structs lie inside one another, with at most 4096 numbers.";
    NotAnInteger = "HD0210" Error "integer expected"
        "Indices, sizes, bounds and strides are integers of any type.";
    ArrayAsValue = "HD0211" Error "array where one value is needed"
        "An array stands in an expression only in a data-parallel statement, whose target is an array or a section; in a map its bare name \
         means this iteration's element if its rank fits. Name an element, or fold it with `reduce`.";
    ArrayInitialiser = "HD0212" Error "array with an initial value"
        "Arrays start as zeros. Fill them with a statement: `a = 1.0;`.";

    ShapeMismatch = "HD0301" Error "shapes differ"
        "All arrays and sections of a data-parallel statement have the same shape; scalars expand. Shapes that are not known to be equal \
         are compared when the program runs.";
    RankMismatch = "HD0302" Error "wrong number of dimensions"
        "An array is indexed in every dimension, and an argument has as many dimensions as its parameter.";
    UnboundDimension = "HD0303" Error "dimension without a value"
        "A dimension name gets its value from the arguments' shapes: from an array that has the name as a dimension, or from an \
         expression that is linear in it, such as `rowptr[R+1]`.";
    BadDimension = "HD0304" Error "impossible dimension"
        "Dimensions of parameters are names, constants and expressions over names, scalar inputs and constants. Sizes are not negative.";
    DataParallelInMap = "HD0305" Error "whole array assigned in a map"
        "Data-parallel statements stand at host level. In a map, write a nested map over the indices.";
    OwnIterator = "HD0306" Error "bound uses an iterator of the same map"
        "The bounds of all iterators of a map are evaluated before it. A bound that depends on another iterator belongs to a nested map.";
    BadStride = "HD0307" Error "stride that is not positive"
        "Ranges run upwards: `[low:high:stride)` with a positive stride.";

    SameElementWritten = "HD0401" Error "iterations of a map write the same element"
        "The iterations of a map are independent: they run in any order and at the same time. Two that certainly write one \
         element would leave an arbitrary one of their values.\n\n\
         ```hidp\nmap { i := [0:N); s[0] = s[0] + x[i]; }\n```\n\n\
         Values of all iterations are combined by a suffix:\n\n\
         ```hidp\nmap { i := [0:N); _v = x[i]; } reduce(\"+\", s[0], _v, i := [*]);\n```";
    OthersElementRead = "HD0402" Error "an iteration of a map reads what another writes"
        "The iterations of a map are independent: they run in any order and at the same time. One that certainly reads what \
         another writes would get an arbitrary one of the old and the new value. Write to a second array, or use a `for` loop \
         where one step needs the result of the one before. An element that is the same for all iterations, as `p[0]` \
         or `p[k]`, is no error but a warning (HD0823).\n\n\
         ```hidp\nmap { i := [1:N-2]; q[i] = (p[i-1] + p[i+1]) / 2; }\nswap(p, q);\n```";
    AtomicAndPlain = "HD0403" Error "array updated atomically and accessed otherwise"
        "An array that `atomic` updates in a map is not read or written in another way in that map: the values seen would depend \
         on the order of the iterations.";
    PrimitiveDisturbed = "HD0404" Error "elements touched while a primitive works on them"
        "A primitive in a map works on its segment as a whole. No other iteration may touch those elements in the same map unless \
         the ranges show that they differ.";
    WritesInput = "HD0420" Error "input is written"
        "What an `input` list names is read only. Use `inout` for arguments that change, or a local array.";
    UnwrittenOutput = "HD0421" Error "output is never written"
        "A function writes each of its outputs somewhere.";
    OuterScalar = "HD0422" Error "map assigns a scalar of the level outside"
        "Iterations are independent, so they cannot all assign one scalar. Fold a value of each iteration with a suffix: `} reduce(\"+\", \
         sum, _x, i := [*]);`, or give the map a scalar of its own under another name.";
    Aliasing = "HD0423" Error "array passed twice"
        "A function may write through one parameter what it reads through another if both are the same array. Pass a copy.";
    BadAtomic = "HD0424" Error "not an atomic update"
        "`atomic` stands before an update of an array's element of 32 or 64 bits: `x[i] += e`, `-= *= &= |= ^=` on integers, \
         `x[i] = min(x[i], e)` and `max` also on floating-point types.";
    AtomicFloat = "HD0425" Error "atomic sum of floats"
        "The order of atomic additions differs from run to run, and with it the rounding. `#pragma hidp unordered` before the map accepts that.";

    BadSuffix = "HD0501" Error "malformed suffix"
        "A map may be followed by `reduce`, `scan` and `exscan` with an operator, a target, the value that each iteration leaves and the iterators folded \
         over: `} reduce(\"+\", y[r], _t, k := [*]);`.";
    FoldOver = "HD0502" Error "fold over other iterators"
        "A suffix names iterators of its own map, each once: any number for `reduce`, one for `scan` and `exscan`.";
    FoldTarget = "HD0503" Error "target of a fold does not fit"
        "A fold gives one result for every value of the iterators that it does not name. Its target is an element indexed by those, or a scalar \
         of the level outside if all are named.";
    BadOperator = "HD0504" Error "operator does not fold this type"
        "Operators are `\"+\" \"*\" \"min\" \"max\"` on numbers, `\"&\" \"|\" \"^\"` on integers and truth values, and scalar functions `T f(T, T)`, with \
         their neutral element as `f: value`.";
    PrimitiveArguments = "HD0510" Error "arguments do not fit a primitive"
        "Each primitive has a fixed list of arguments for each of its forms: the whole array (`size`), segments (`low, high`) and regular \
         segments (`seg_size, num_seg`, with the prefix `reg_`).";
    PrimitiveForm = "HD0511" Error "form of a primitive does not fit its place"
        "In a map a primitive works on this iteration's segment `[low, high)`. Outside maps it works on a whole array (`size`), on all segments \
         of two vectors, or on regular segments.";
    PrimitiveArray = "HD0512" Error "argument of a primitive is no row"
        "Primitives work on arrays of one dimension and on rows of arrays: `a`, `A[i][*]`, `A[i][lo:hi)`.";
    PrimitiveType = "HD0513" Error "types of a primitive's arguments do not fit"
        "Inputs and outputs that elements move between have one type; folded values convert to the output's type; keys are numbers; bounds, sizes \
         and bins are integers.";
    InPlace = "HD0514" Error "primitive cannot work in place"
        "Input and output may be the same array for `scan`, `exscan` and `sort` only; `reverse_inplace` reverses in place.";
    Predicate = "HD0515" Error "predicate does not fit"
        "`partition` takes a scalar function `bool f(T element, P pivot)`.";

    UnknownDirective = "HD0601" Error "unknown directive"
        "The words after `#pragma hidp` are `kernel`, `block`, `warp`, `subwarp`, `subwarp2`, `thread`, `ordered`, `unordered`, \
         `unchecked`, `nocontract`, `block(256)`, `unroll(4)`, `schedule(i + j)`, `allow(HD0821)`, and those that pin a mapping: `on`, \
         `tblock`, `thread`, `partition`, `tile`, `reg`, `lanes`, `vec`, `span`, `split`, `order`, `threads`, `chunk`, `at_once`, \
         `registers`, `joined`, `separate`, `unroll(k: 4)`, `shared`, `global`, `stream`, `cached` and `only`.";
    BadDirective = "HD0602" Error "malformed directive"
        "A directive stands on its own line, as words after `#pragma hidp`. `block(n)` and `unroll(n)` take one number, \
         `schedule` sums of indices, `allow` codes, levels nothing, and those that pin a mapping what the message shows.\n\n\
         ```hidp\n#pragma hidp thread unroll(4)\nmap { i := [0:N); y[i] = x[i]; }\n```";
    MisplacedDirective = "HD0603" Error "directive with nothing to apply to"
        "A directive applies to the statement or function that follows it.";
    DirectiveArgument = "HD0604" Error "argument of a directive does not fit"
        "`block(n)` takes a constant from 1 to 1024, `unroll(n)` one from 1 to 64. `ordered` and `unordered` exclude each other. \
         `schedule` takes sums of multiples of indices, `schedule(2*i + j)`, with factors from -64 to 64, and stands before each recurrence \
         of those that use each other, or before one that has the same indices. \
         What pins a mapping names iterators and arrays of the nest, with constants; one directive says where an iterator runs, and extents \
         are as many as iterators that are shared out over them.";

    UnfitDirective = "HD0605" Error "directive that cannot be honoured"
        "A directive holds in every version of the target that it is for. The message names the constraint that forbids it, and what fits. \
         `block(n)` takes a multiple of 32 and stands before the outermost map of a nest, as words for levels do; a level has to suit the map; \
         `unroll(n)` needs a loop of the program. `schedule` has to be one sum, in whose steps every cell is proved to come after those that it needs, \
         or the indices in their order, `schedule(i; j)`; and cells have to be free of faults where that is not the order of plain recursion. \
         Where lines are pinned, the message shows the nearest mapping that fits.";

    Recursion = "HD0701" Error "recursion"
        "Every call is inlined, so no function may call itself, directly or through others. Use a loop.";
    MisplacedReturn = "HD0702" Error "misplaced return"
        "`return;` ends a function over arrays at host level; scalar functions return a value.";
    MisplacedJump = "HD0703" Error "jump outside of a loop"
        "`break` and `continue` stand in `for` and `while`, inside the same map.";
    MisplacedSwap = "HD0704" Error "misplaced swap"
        "`swap(a, b);` exchanges two different arrays of one type and shape: at host level, or in a map two that the iteration declares.";
    MissingReturn = "HD0705" Error "path without return"
        "Every path through a scalar function ends in `return value;`.";
    NotInScalarFunction = "HD0706" Error "statement in a scalar function"
        "Scalar functions hold declarations of scalars, assignments, `if`, loops and `return`.";
    TooManyCalls = "HD0707" Error "calls too deep or too many"
        "A chain of calls has at most 64 functions. A function over arrays is put in the place of each call: with all that is put into \
         it, a function has at most 10000 statements. A function that calls another twice contains it twice. Use a loop for what repeats.";
    CodeletHeader = "HD0708" Error "header of a codelet that differs"
        "A codelet has the header of its function, which need not be written again. Where it is, types, names and dimensions have to be \
         those of the function, in its order.";
    CodeletTag = "HD0709" Error "name of a codelet"
        "The codelets of a function have names of their own, in quotes, by which plans and `explain` know them. None is empty, and no two \
         of one function are equal.";
    BadTunable = "HD0710" Error "malformed tunable"
        "A tunable is a `long` of a codelet with one to 16 values, which are constants of at least 1; a codelet has at most 4 tunables. The \
         first value is the usual one. `run` tunables of a function's codelets have different names.\n\n\
         ```hidp\nfunction sum input float x[N]; output float _s; { reduce(\"+\", x, _s, N); }\n\ncodelet sum \"parts\"\ntunable long p = {64, 256};\n\
         {\n  float part[p];\n  map { t := [0:p); sum(x[adjacent t of p], part[t]); }\n  sum(part, _s);\n}\n```";
    TunableChanged = "HD0711" Error "tunable that is changed"
        "A tunable has one value in each version of an entry. It cannot be assigned, and no other name hides it.";
    BadWhen = "HD0712" Error "condition of a codelet that is not known before the call"
        "`when` decides at the beginning of a call which body runs, so it may use only dimensions, scalar inputs, tunables and constants, and cannot \
         fault.";
    BadPiece = "HD0713" Error "misplaced piece of an array"
        "`[adjacent t of p]`, `[adjacent t by q]` and `[strided t of p]` are subscripts of arrays that are given to functions over arrays. \
         `t` is an iterator around the call that counts from 0 by ones. Pieces of a length are adjacent.";
    CodeletOutputs = "HD0714" Error "output that a codelet does not write"
        "Where a function writes an output in full, each of its codelets does so, too, without a look at old elements: by maps over all \
         indices, by calls, or by calls that write all pieces.";
    NotOrdered = "HD0715" Error "`ordered` where the order is given up"
        "`#pragma hidp ordered` before a function, a codelet or a call says that floats are folded in the order of iterations. That cannot be \
         where a body says `unordered`, or calls a function that does. All codelets of an `ordered` function say so, too, but for those that \
         compute no floats.";
    Disagreeing = "HD0716" Error "codelet that disagrees with its function"
        "Every codelet computes what its function does. In each build both run on small arguments; the message shows sizes, inputs and an \
         element that differs. One of the two is wrong, or the codelet is correct only for some arguments, which `when` must state.";
    NoFunction = "HD0717" Error "codelet without a function"
        "A codelet is another body of a function over arrays of its own file, or of one that its file imports.";
    NeverTaken = "HD0718" Error "codelet that no call takes"
        "The condition after `when` holds for no sizes: dimensions are at least 0, and tunables have the values that are listed. Often a \
         comparison is the wrong way round.";

    BadRecurrence = "HD0720" Error "malformed recurrence"
        "A recurrence has a type, a domain of ranges without stride, and inputs: `recurrence int d(i := [0:N]) input int a[N]; { … }`. Its \
         body computes one cell: declarations of scalars, assignments, `if`, loops, `return` on every path, and maps that fold into a \
         scalar of the body.";
    EndlessRecurrence = "HD0721" Error "recurrence that never ends"
        "A cell needs a cell that needs the first one again, or ever further ones, so that no order of the cells exists. Often a sign is \
         wrong (`i + 1` for `i - 1`).";
    UnprovedOrder = "HD0722" Error "order of cells that cannot be proved"
        "Every cell that a body uses must provably be computed earlier, for all sizes and all data. Where an offset depends on data, \
         guard it: `if (w[i] > 0) best = f(c - w[i]);`.";
    OutsideDomain = "HD0723" Error "cell outside of the domain"
        "The body uses a cell that its recurrence does not have. Usually a base case is missing: `if (i == 0) return 0;` before the use \
         of row `i - 1`.";
    MisplacedCell = "HD0724" Error "recurrence used in a wrong place"
        "A recurrence is used by functions over arrays: one cell `d(N, M)` in an expression, or the whole table in a data-parallel \
         statement, `T = d;`. Scalar functions, constants and conditions of loops cannot use one: assign its value to a variable before.";
    UnboundInput = "HD0725" Error "input of a recurrence that does not fit"
        "Each input of a recurrence is what is named behind `;` where it is used, or else the variable of the same name there: \
         `d(N, M; s = A, t = B[2:8))`. Its type and rank have to be those of the input.";
    DisagreeingSystem = "HD0726" Error "recurrences that disagree"
        "Recurrences that use each other share their inputs: those of one name must have one type and the same dimensions.";
    UnfitCells = "HD0728" Error "fold over cells that does not fit"
        "`reduce(\"max\", best, d, i := [*], j := [*]);` folds all cells of a recurrence whose domain is a box, over indices as it declares \
         them; the target is indexed by the others. Other domains, parts of them, and what is made of a cell are folded by a map.";

    ForeignPragma = "HD0801" Warning "pragma of another language"
        "Only `#pragma hidp` means something here; any other `#pragma` is ignored.";
    CommentedPragma = "HD0802" Warning "comment that looks like a directive"
        "A directive begins with `#pragma`, without a space. `# pragma hidp` is a comment.";
    EmptyFile = "HD0803" Warning "file without items"
        "The file holds no function, struct, constant or import, so nothing is made of it. Perhaps it was not saved.";
    UnusedLocal = "HD0811" Warning "unused variable"
        "Nothing reads the variable. What is assigned to it is lost: use it, or remove it.";
    UnusedParameter = "HD0812" Warning "unused parameter"
        "The function neither reads nor writes the parameter, and every caller has to pass it. Remove it from the header.";
    OutputKept = "HD0813" Warning "output treated as inout"
        "It could not be proved that every element of this output is written, so the array's old contents are kept where it is not: it is treated \
         as `inout`. Declare it so if the function reads old elements, or as `partial output` if some are meant to stay as they are; otherwise write \
         all of it, for example with `out = 0.0;` first.";

    SearchCut = "HD0817" Warning "compositions that were not looked at"
        "The compiler searches the combinations of codelets and values of tunables for the calls of an entry, up to a bound. This entry has more; \
         those that were not considered cannot become versions.";
    NotCompared = "HD0818" Warning "codelet that was not compared"
        "Each build compares codelets with their functions on small arguments. This one could not be compared: no arguments are known for which the function does not fault, its condition holds only for large sizes, \
         both take too many steps, or it differs where the function's result depends on the order of iterations. Nothing else checks that it computes the same. If you know that it does, put `#pragma hidp allow(HD0818)` before \
         the codelet.";

    CertainFault = "HD0820" Warning "operation that always faults"
        "A division by the constant 0 and a shift by a constant that is negative, or not below the number of bits of its left side, have no \
         result. Where one is evaluated the call ends with an error. In branches that constants rule out it is not evaluated.";
    LostUpdate = "HD0821" Warning "updates that may be lost"
        "The iterations of a map run at the same time. If data decide which element an iteration updates, two may read the same old value, and one update is lost. `atomic` makes an update indivisible; `histogram` does `out[keys[i]] op= values[i]` for whole arrays, with the \
         same bits on every run:\n\n\
         ```hidp\nmap { i := [0:N); atomic counts[bucket[i]] += 1; }\n```\n\n\
         If no two iterations update the same element, put `#pragma hidp allow(HD0821)` before the statement or the function.";
    NarrowArithmetic = "HD0822" Warning "arithmetic in a narrow type, widened afterwards"
        "There is no integer promotion: the difference of two `uint8` is a `uint8`, which wraps, whatever it is assigned to. Convert an operand, \
         and the operation is done in the wider type:\n\n\
         ```hidp\nfloat g = (float)a[i] - b[i];\n```\n\n\
         If wrapping is intended, put `#pragma hidp allow(HD0822)` before the statement or the function.";
    RacesCostLanes = "HD0823" Warning "possible races that cost vector lanes"
        "Iterations of a map run at the same time. If one may read an element that another writes, or two may write the same element, and the compiler cannot prove otherwise, elements are \
         loaded and stored one by one, and the map is not vectorised. Read what other iterations may write before the map, or write to a second array \
         and swap the two:\n\n\
         ```hidp\nfloat pivot = p[k];\nmap { i := [0:N); p[i] = p[i] - pivot; }\n```\n\n\
         In an outermost map the compiler does so itself if iterations write only elements of their own, and read others that are proved to exist and \
         do not vary along some iterators, as `d[i][k]`. The warning is for maps that nothing else keeps from vectorising, and for all maps that read \
         an element, such as `p[0]`, which one of their iterations certainly writes. If it is intended, put `#pragma hidp allow(HD0823)` before the \
         statement or the function.";

    Unreadable = "HD0901" Error "file or folder that cannot be read"
        "`hidp_build::compile` takes a folder (or a file) relative to the package's root, where `Cargo.toml` is.";
    NoSources = "HD0902" Error "folder without `.hdp` files"
        "Every file in the folder and the folders below it whose name ends in `.hdp` is compiled; hidden ones are not.";
    NotUtf8 = "HD0903" Error "file that is not UTF-8"
        "Programs are text in UTF-8. Save the file in that encoding.";
    MissingImport = "HD0904" Error "imported file that cannot be read"
        "`import \"ops.hdp\";` means a file relative to the folder of the file that imports it.";
    ImportCycle = "HD0905" Error "files that import each other"
        "A file cannot import itself, directly or through others. Move what both need into a third file.";
    SameModule = "HD0906" Error "two files with one module name"
        "Each file becomes the Rust module of its name, without folder and extension; characters that Rust's names do not have \
         become `_`. Rename one of the files.";
    NoCompiler = "HD0907" Error "no C++ compiler"
        "The kernels are compiled by GCC or Clang, found as the `cc` crate finds it: `CXX`, or the target's usual compiler.";
    CompilerFailed = "HD0908" Error "the C++ compiler failed"
        "The C++ that is generated for a checked program compiles, so the compiler is too old, lacks an instruction set or a header, \
         or a native function's header has an error.";
    NoRunTime = "HD0909" Error "`hidp-std` is not a dependency"
        "Generated kernels call the run time, which the package needs among its `[dependencies]`, not only below them.";
    WrongCompiler = "HD0910" Error "C++ compiler that cannot compile kernels"
        "Kernels need GCC 11 or Clang 12 or later (for `-march=x86-64-v3` and vector loops).";
    NoHeader = "HD0911" Error "native header that cannot be read"
        "The header that a build script names is relative to the package's root.";
    OutputFailed = "HD0912" Error "generated files that cannot be written"
        "Generated files go to `OUT_DIR`, which cargo sets for build scripts.";
    HeaderNotNamed = "HD0913" Error "native function without its header"
        "Native functions are declared by a C++ header, which the build script names:\n\n\
         ```rust\nhidp_build::Builder::new().folder(\"src/kernels\").header(\"src/native.hpp\").compile()\n```";

    NativeStruct = "HD0914" Error "extern struct that no header gives"
        "`extern struct P;` takes its fields from a C header, which the build script names. bindgen reads it, so the build needs \
         libclang and the feature `bindgen`; nothing else does:\n\n\
         ```toml\n[build-dependencies]\nhidp-build = { version = \"0.1\", features = [\"bindgen\"] }\n```\n\n\
         Fields are numbers, `bool`s and other extern structs. A struct with pointers, arrays, unions, enums, bit fields or an \
         unusual alignment stays on the C side; hand its parts to a native function.";
    HeaderNotRead = "HD0915" Error "native header that bindgen cannot read"
        "bindgen reads the headers of extern structs with libclang. Install it (`apt install libclang-dev`, `dnf install clang-devel`, \
         `brew install llvm`) or point `LIBCLANG_PATH` to the folder where it lies; `BINDGEN_EXTRA_CLANG_ARGS` hands it further \
         options, such as `-I` with the folder of the compiler's own headers.";

    NoNvcc = "HD0916" Error "CUDA is demanded without nvcc"
        "`Builder::cuda(Cuda::Required)` or `HIDP_CUDA=required` demands kernels for GPUs, or `NVCC` names a program; the message says what is \
         missing. nvcc is looked for in `NVCC`, `CUDA_HOME`, `CUDA_PATH`, `PATH` and where distributions put it. It must be 12.0 or later, its \
         toolkit must have the static run-time library, and it must take the C++ compiler as its host compiler: where that is too new, \
         `NVCC_CCBIN=g++-12` names another.";
    BadCudaOption = "HD0917" Error "malformed option of CUDA"
        "`HIDP_CUDA` is `auto`, `off`, `required` or `simulated`. `HIDP_CUDA_ARCH` and `Builder::cuda_arch` name architectures: `sm_90`.";
    NvccFailed = "HD0918" Error "nvcc failed"
        "The CUDA that is generated for a checked program compiles, so nvcc or its host compiler does not fit, or a native function's header has \
         an error. `HIDP_CUDA=off` builds for the CPU alone.";

    MalformedPlan = "HD0919" Error "malformed file of pinned plans"
        "A file `gemm.plan` beside `gemm.hdp` pins the plans of entries. After `entry` and a name come plans as `cargo xtask explain \
         FILE --pin` prints them: `plan` and a name, `nest`, and the lines of the nest. `recurrence`, names of tables and the lines of a way may stand \
         before the first plan. Comments start with `#`.";
    UnfitPlan = "HD0920" Error "pinned plan that does not fit"
        "A pinned plan is for an entry as it was when the plan was written down. If the entry has other nests or iterators now, or can no longer run by the plan's lines, the build stops rather than run something else. The lines are those of a plan that the \
         compiler would make; of them the sides of a processor's tiles, `runs`, `groups` and `block` may have other numbers, a line `i lanes` may become \
         `i seq`, and `place` lines may be left out. Recurrences may have any way that `explain` calls possible. \
         `cargo xtask explain FILE --pin` prints the plans that fit now.";

    NoOpenMp = "HD0921" Error "no OpenMP library"
        "Kernels run on threads of the run time. With `HIDP_OPENMP=on` or `Builder::openmp(true)` they run on those of the C++ compiler's OpenMP \
         library instead, which has to be there: libgomp for GCC, libomp for Clang.";

    BadIsas = "HD0922" Error "unknown instruction set"
        "Release builds compile kernels for every instruction set that the target may have, others for the one of the machine that builds. `HIDP_ISAS` \
         says otherwise: `all`, `native`, or a list of `base`, `v2`, `v3` and `v4`, the levels of x86-64. Other targets have \
         `base` alone.";
    BadSwitch = "HD0923" Error "switch that is neither on nor off"
        "`HIDP_QUICK`, `HIDP_OPENMP`, `HIDP_VARIANTS` and `HIDP_STRICT` are `on` (or `1`) or `off` (or `0`, or not set).";

    Internal = "HD0949" Error "defect of the compiler"
        "The program may be fine: please report this message with it.";

    IdleTuning = "HD0952" Warning "a tuning record is not used"
        "The tuner stamps what it measured with a hash of what the entry was compiled to. A record of another entry, or of an earlier \
         version of the entry and of a plan that its rules name, does not apply: the compiler's own rules decide as if the record were not there.";

    IdleNvcc = "HD0953" Warning "nvcc cannot be used"
        "An nvcc was found and CUDA was not demanded, so kernels are compiled for the CPU alone. The message says what is wrong with it.";
    NativesOnHost = "HD0954" Warning "native functions that devices cannot run"
        "nvcc does not take a native header, or its functions are for the host alone. CUDA was not demanded, so the entries that use them run on the \
         CPU, and the others on GPUs too. Functions for both are marked:\n\n\
         ```cpp\n#include <hidp/function.h>\nHIDP_FUNCTION inline float twist(float x) { return x + 0.5f; }\n```";

    VersionLeftOut = "HD0955" Warning "version that is left out"
        "The compiler met a defect of its own in one version of an entry. Other versions compute the same and run instead, perhaps slower. \
         Please report the message with the program. With `HIDP_STRICT=1` in the environment such a build fails instead.";

    OldPlan = "HD0956" Warning "pinned plan in the old form"
        "Plans had a level for each iterator, and are lists of lines now. The old form is still read; the message shows the lines to write instead, \
         and `cargo xtask explain FILE --pin` prints all pinned plans in the new form.";
}

impl Code {
    /// Whether it is a warning about a program, rather than about a build: one that the program may allow.
    pub fn is_about_programs(self) -> bool {
        let CodeInfo { name, severity, .. } = self.info();
        severity == Severity::Warning && name.starts_with("HD08")
    }
}

/// `docs/errors.md`: every code with its explanation.
pub fn reference() -> String {
    let mut text = String::from(
        "# Errors and warnings\n\n\
         Every message of the compiler carries one of these codes. This page is made from the compiler's own table; a message \
         prints the same explanation where it is asked for.\n\n\
         | code | |\n|---|---|\n",
    );
    for code in Code::ALL {
        let CodeInfo { name, title, .. } = code.info();
        text.push_str(&format!("| [{name}](#{}) | {title} |\n", name.to_lowercase()));
    }
    for code in Code::ALL {
        let CodeInfo { name, severity, title, explanation } = code.info();
        let kind = match severity {
            Severity::Warning => "Warning",
            Severity::Error => "Error",
        };
        text.push_str(&format!("\n## {name}\n\n**{kind}: {title}.** {explanation}\n"));
    }
    text
}
