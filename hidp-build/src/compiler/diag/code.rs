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
        "Something stands where it cannot stand. The message says what would fit there.";
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
        "A declaration names a type, then one or more names with their dimensions: `float A[M][N], b = 1;`. Arrays start as zeros \
         and are filled by a statement; only scalars have an initial value. Fields of structs are scalars or structs. Constants \
         are declared at file level.";
    EmptyStatement = "HD0024" Error "empty statement"
        "A `;` alone is no statement. After `if`, `for` and `while` it would silently be their whole body; write `{ }` where nothing \
         is to be done.";
    ExpectedItem = "HD0025" Error "expected an item"
        "A file holds functions, structs, constants and imports; statements stand inside functions.";

    UnknownDirective = "HD0601" Error "unknown directive"
        "The words after `#pragma hidp` are `kernel`, `block`, `warp`, `subwarp`, `subwarp2`, `thread`, `ordered`, `unordered`, \
         `unchecked`, `nocontract`, `block(256)` and `unroll(4)`.";
    BadDirective = "HD0602" Error "malformed directive"
        "A directive stands on its own line, as words after `#pragma hidp`. `block(n)` and `unroll(n)` take one number, the other \
         words none.\n\n\
         ```hidp\n#pragma hidp block warp unroll(4)\nmap { i := [0:N); y[i] = x[i]; }\n```";
    MisplacedDirective = "HD0603" Error "directive with nothing to apply to"
        "A directive applies to the statement or function that follows it.";

    ForeignPragma = "HD0801" Warning "pragma of another language"
        "Only `#pragma hidp` means something here; any other `#pragma` is ignored.";
    CommentedPragma = "HD0802" Warning "comment that looks like a directive"
        "A directive begins with `#pragma`, without a space. `# pragma hidp` is a comment.";
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
