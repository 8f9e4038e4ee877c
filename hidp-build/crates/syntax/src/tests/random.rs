//! Random trees that a parser could have made.

use super::Random;
use crate::ast::*;
use crate::index::Id;
use crate::source::{FileId, Span};

const NAMES: [&str; 8] = ["a", "_b", "A", "row_ptr", "x1", "Best", "minimum", "half_open"];
const TYPES: [&str; 7] = ["float", "int", "ulong", "bool", "u8", "usize", "double"];
const INFIX: [BinaryOp; 18] = [
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::Rem,
    BinaryOp::BitAnd,
    BinaryOp::BitOr,
    BinaryOp::BitXor,
    BinaryOp::Shl,
    BinaryOp::Shr,
    BinaryOp::Lt,
    BinaryOp::Le,
    BinaryOp::Gt,
    BinaryOp::Ge,
    BinaryOp::Eq,
    BinaryOp::Ne,
    BinaryOp::And,
    BinaryOp::Or,
];
const ASSIGNING: [Option<BinaryOp>; 6] =
    [None, None, Some(BinaryOp::Add), Some(BinaryOp::Rem), Some(BinaryOp::Shl), Some(BinaryOp::BitXor)];

fn nowhere() -> Span {
    Span::new(FileId::new(0), 0, 0)
}

fn ident(random: &mut Random) -> Ident {
    Ident { name: random.pick(&NAMES).to_string(), span: nowhere() }
}

fn scalar_type(random: &mut Random) -> TypeName {
    TypeName { name: random.pick(&TYPES).to_string(), span: nowhere() }
}

fn any_type(random: &mut Random) -> TypeName {
    let name = if random.chance(4) { random.pick(&NAMES) } else { random.pick(&TYPES) };
    TypeName { name: name.to_string(), span: nowhere() }
}

fn several<T>(random: &mut Random, least: usize, most: usize, mut make: impl FnMut(&mut Random) -> T) -> Vec<T> {
    let count = least + random.below(most - least + 1);
    (0..count).map(|_| make(random)).collect()
}

fn sometimes<T>(random: &mut Random, make: impl FnOnce(&mut Random) -> T) -> Option<T> {
    random.chance(2).then(|| make(random))
}

pub(super) fn file(random: &mut Random) -> File {
    File { items: several(random, 1, 5, item) }
}

fn item(random: &mut Random) -> Item {
    match random.below(10) {
        0 => {
            let path = random.pick(&["ops.hdp", "a b\\c \"d\".hdp", "größe/ops.hdp"]).to_string();
            Item::Import(Import { path, path_span: nowhere(), span: nowhere() })
        }
        1 => Item::Const(ConstItem {
            ty: any_type(random),
            name: ident(random),
            value: expr(random, 3),
            span: nowhere(),
        }),
        2 => {
            let fields = sometimes(random, |random| several(random, 1, 3, field));
            Item::Struct(StructItem {
                doc: doc(random),
                name: ident(random),
                native: fields.is_none(),
                fields: fields.unwrap_or_default(),
                span: nowhere(),
            })
        }
        3 | 4 => Item::Scalar(ScalarFunction {
            doc: doc(random),
            directives: several(random, 0, 2, directive),
            result: any_type(random),
            name: ident(random),
            params: several(random, 0, 3, field),
            body: sometimes(random, |random| block(random, 2)),
            span: nowhere(),
        }),
        5 => Item::Recurrence(recurrence(random)),
        6 => Item::Codelet(codelet(random)),
        _ => Item::Function(function(random)),
    }
}

fn recurrence(random: &mut Random) -> Recurrence {
    let input = |random: &mut Random| Param { direction: Direction::Input, partial: false, ..param(random) };
    Recurrence {
        doc: doc(random),
        directives: several(random, 0, 2, directive),
        ty: any_type(random),
        name: ident(random),
        index: several(random, 1, 3, iter),
        params: several(random, 0, 3, input),
        body: block(random, 3),
        span: nowhere(),
    }
}

fn function(random: &mut Random) -> Function {
    Function {
        doc: doc(random),
        directives: several(random, 0, 2, directive),
        is_static: random.chance(4),
        name: ident(random),
        params: several(random, 0, 5, param),
        body: block(random, 4),
        span: nowhere(),
        header_span: nowhere(),
    }
}

fn codelet(random: &mut Random) -> Codelet {
    Codelet {
        doc: doc(random),
        directives: several(random, 0, 2, directive),
        function: ident(random),
        tag: random.pick(&["rows", "in \"parts\"", "a\\b", ""]).to_string(),
        tag_span: nowhere(),
        params: several(random, 0, 3, param),
        when: sometimes(random, |random| expr(random, 2)),
        tunables: several(random, 0, 2, |random| Tunable {
            ty: scalar_type(random),
            name: ident(random),
            values: match random.chance(4) {
                true => Values::OfModel(random.pick(&Knob::ALL)),
                false => Values::Listed(several(random, 0, 3, |random| expr(random, 1))),
            },
            run: random.chance(3),
            span: nowhere(),
        }),
        body: block(random, 4),
        span: nowhere(),
    }
}

fn param(random: &mut Random) -> Param {
    let direction = random.pick(&[Direction::Input, Direction::Output, Direction::Inout]);
    Param {
        direction,
        partial: direction == Direction::Output && random.pick(&[false, true]),
        ty: any_type(random),
        name: ident(random),
        dims: several(random, 0, 2, |random| expr(random, 1)),
        span: nowhere(),
    }
}

fn doc(random: &mut Random) -> Vec<String> {
    let lines = ["says what it does", "", "  indented", "# marked", "/ slashed /", "*/ starred", "pragma hidp block"];
    several(random, 0, 2, |random| random.pick(&lines).to_string())
}

fn field(random: &mut Random) -> Field {
    Field { ty: any_type(random), name: ident(random) }
}

fn directive(random: &mut Random) -> Directive {
    use DirectiveKind as D;
    let levels = [Level::Kernel, Level::Block, Level::Warp, Level::Subwarp, Level::Subwarp2, Level::Thread];
    let kind = match random.below(9) {
        0 => D::Ordered,
        1 => D::Unordered,
        2 => D::Unchecked,
        3 => D::NoContract,
        4 => D::BlockSize(expr(random, 1)),
        5 => D::Unroll(expr(random, 1)),
        6 => D::Schedule(several(random, 1, 3, |random| expr(random, 1))),
        7 => D::Pin(pin(random)),
        _ => D::Level(random.pick(&levels)),
    };
    Directive { kind, span: nowhere() }
}

fn pin(random: &mut Random) -> Pin {
    let targets = [None, Some(PinTarget::Cpu), Some(PinTarget::Cuda)];
    let word = random.pick(PinWord::ALL);
    // `thread` alone is a level, and `unroll` needs a name with a colon, or a target.
    let word = if word == PinWord::Unroll { PinWord::Tile } else { word };
    let least = usize::from(word == PinWord::Thread);
    Pin { target: random.pick(&targets), word, args: several(random, least, 3, pin_arg) }
}

fn pin_arg(random: &mut Random) -> PinArg {
    let section = several(random, 0, 2, |random| subscript(random, 1));
    let (name, colon) = (ident(random), random.chance(2));
    let words = ["seq", "grid.y", "turned", "all"];
    let value = |random: &mut Random| PinValue {
        word: Some(random.pick(&words).to_string()),
        size: random.chance(2).then(|| expr(random, 1)),
        span: nowhere(),
    };
    let values = several(random, 0, 3, value);
    PinArg { about: PinAbout::Name { name, section, colon }, values, span: nowhere() }
}

fn block(random: &mut Random, size: usize) -> Block {
    let most = 1 + size;
    Block { stmts: several(random, 0, most, |random| stmt(random, size)), span: nowhere() }
}

fn stmt(random: &mut Random, size: usize) -> Stmt {
    let directives = if random.chance(4) { several(random, 1, 2, directive) } else { Vec::new() };
    bare(directives, if size == 0 { leaf_stmt(random) } else { inner_stmt(random, size - 1) })
}

fn bare(directives: Vec<Directive>, kind: StmtKind) -> Stmt {
    Stmt { directives, kind, span: nowhere() }
}

fn inner_stmt(random: &mut Random, size: usize) -> StmtKind {
    match random.below(9) {
        0 => StmtKind::If {
            condition: expr(random, 3),
            then: block(random, size),
            otherwise: sometimes(random, |random| block(random, size)),
        },
        1 => StmtKind::For {
            init: sometimes(random, |random| {
                let kind = if random.chance(2) {
                    StmtKind::Declare(declare(random))
                } else {
                    StmtKind::Assign(assign(random))
                };
                Box::new(bare(Vec::new(), kind))
            }),
            condition: sometimes(random, |random| expr(random, 2)),
            step: sometimes(random, |random| Box::new(bare(Vec::new(), StmtKind::Assign(assign(random))))),
            body: block(random, size),
        },
        2 => StmtKind::While { condition: expr(random, 2), body: block(random, size) },
        3 => StmtKind::Block(block(random, size)),
        4 | 5 => StmtKind::Map(Map {
            iters: several(random, 1, 3, iter),
            body: block(random, size),
            suffixes: several(random, 0, 2, suffix),
            map_span: nowhere(),
        }),
        _ => leaf_stmt(random),
    }
}

fn leaf_stmt(random: &mut Random) -> StmtKind {
    match random.below(10) {
        0 => StmtKind::Declare(declare(random)),
        1 => StmtKind::Atomic(assign(random)),
        2 => StmtKind::Break,
        3 => StmtKind::Continue,
        4 => StmtKind::Return(sometimes(random, |random| expr(random, 3))),
        5 => StmtKind::Call(Box::new(call(random, 2))),
        6 => StmtKind::Swap(ident(random), ident(random)),
        _ => StmtKind::Assign(assign(random)),
    }
}

fn declare(random: &mut Random) -> Declare {
    Declare { ty: any_type(random), declarators: several(random, 1, 3, declarator) }
}

fn declarator(random: &mut Random) -> Declarator {
    let name = ident(random);
    let dims = several(random, 0, 2, |random| expr(random, 1));
    let init = if dims.is_empty() { sometimes(random, |random| expr(random, 2)) } else { None };
    Declarator { name, dims, init }
}

fn assign(random: &mut Random) -> Assign {
    Assign { target: place(random, 2), op: random.pick(&ASSIGNING), value: expr(random, 4) }
}

fn place(random: &mut Random, size: usize) -> Expr {
    let kind = match (size, random.below(3)) {
        (1.., 0) => ExprKind::Index {
            base: Box::new(place(random, size - 1)),
            subscripts: several(random, 1, 2, |random| subscript(random, 1)),
        },
        (1.., 1) => ExprKind::Field { base: Box::new(place(random, size - 1)), field: ident(random) },
        _ => ExprKind::Name(random.pick(&NAMES).to_string()),
    };
    Expr { kind, span: nowhere() }
}

fn iter(random: &mut Random) -> Iter {
    let low_inclusive = random.chance(2);
    Iter { name: ident(random), range: Range { low_inclusive, ..range(random, 2) }, span: nowhere() }
}

fn range(random: &mut Random, size: usize) -> Range {
    Range {
        low: Box::new(expr(random, size)),
        low_inclusive: true,
        high: Box::new(expr(random, size)),
        high_inclusive: random.chance(2),
        step: sometimes(random, |random| Box::new(expr(random, size))),
        span: nowhere(),
    }
}

fn suffix(random: &mut Random) -> Call {
    let name = random.pick(&["reduce", "scan", "exscan"]).to_string();
    let mut args = several(random, 0, 3, |random| arg(random, 2));
    args.extend(several(random, 1, 2, |random| Arg::Over { iter: ident(random), span: nowhere() }));
    Call { callee: Ident { name, span: nowhere() }, args, binds: Vec::new() }
}

fn call(random: &mut Random, size: usize) -> Call {
    let args = several(random, 0, 3, |random| arg(random, size));
    let bind = |random: &mut Random| Bind { name: ident(random), value: expr(random, size) };
    let binds = if random.chance(4) { several(random, 1, 2, bind) } else { Vec::new() };
    Call { callee: ident(random), args, binds }
}

fn arg(random: &mut Random, size: usize) -> Arg {
    let signs = ["+", "*", "&", "min"];
    match random.below(6) {
        0 => Arg::Operator { name: random.pick(&signs).to_string(), span: nowhere() },
        1 => {
            let mut op = ident(random);
            if random.chance(2) {
                op.name = random.pick(&signs).to_string();
            }
            Arg::WithNeutral { op, neutral: expr(random, size) }
        }
        _ => Arg::Expr(expr(random, size)),
    }
}

fn expr(random: &mut Random, size: usize) -> Expr {
    let kind = if size == 0 || random.chance(5) { leaf_expr(random) } else { inner_expr(random, size - 1) };
    Expr { kind, span: nowhere() }
}

fn inner_expr(random: &mut Random, size: usize) -> ExprKind {
    let boxed = |random: &mut Random| Box::new(expr(random, size));
    match random.below(10) {
        0 => {
            ExprKind::Index { base: boxed(random), subscripts: several(random, 1, 3, |random| subscript(random, size)) }
        }
        1 => ExprKind::Field { base: boxed(random), field: ident(random) },
        2 => ExprKind::Unary {
            op: random.pick(&[UnaryOp::Neg, UnaryOp::Plus, UnaryOp::Not, UnaryOp::BitNot]),
            operand: boxed(random),
        },
        3 => ExprKind::Select { condition: boxed(random), then: boxed(random), otherwise: boxed(random) },
        4 => ExprKind::Cast { ty: scalar_type(random), operand: boxed(random), call_style: random.chance(2) },
        5 => ExprKind::Call(Box::new(call(random, size))),
        6 => {
            let ty = TypeName { name: random.pick(&NAMES).to_string(), span: nowhere() };
            ExprKind::Struct { ty, fields: several(random, 0, 2, |random| (ident(random), expr(random, size))) }
        }
        _ => {
            ExprKind::Binary { op: random.pick(&INFIX), left: boxed(random), right: boxed(random), op_span: nowhere() }
        }
    }
}

fn leaf_expr(random: &mut Random) -> ExprKind {
    match random.below(4) {
        0 => ExprKind::Limit { max: random.chance(2), ty: any_type(random) },
        1 => ExprKind::Literal(literal(random)),
        _ => ExprKind::Name(random.pick(&NAMES).to_string()),
    }
}

fn literal(random: &mut Random) -> Literal {
    match random.below(6) {
        0 => Literal::Float {
            text: random.pick(&["1.5", ".5", "2.", "1e5", "3.25E-7"]).to_string(),
            single: random.chance(2),
        },
        1 => Literal::Char(random.below(256) as u8),
        2 => Literal::Bool(random.chance(2)),
        3 => random.pick(&[Literal::Infinity, Literal::Nan, Literal::Float { text: "7".into(), single: true }]),
        _ => Literal::Int {
            value: random.pick(&[0, 1, 42, u64::MAX]),
            unsigned: random.chance(3),
            long: random.chance(3),
        },
    }
}

fn subscript(random: &mut Random, size: usize) -> Subscript {
    match random.below(4) {
        0 => Subscript::All(nowhere()),
        1 => Subscript::Range(range(random, size)),
        2 => Subscript::Piece(Piece {
            way: random.pick(&[Some(PieceWay::Adjacent), Some(PieceWay::Strided), None]),
            iter: ident(random),
            by: random.chance(2),
            length: Box::new(expr(random, size)),
            span: nowhere(),
        }),
        _ => Subscript::At(expr(random, size)),
    }
}
