//! Instructions, read from their text.

use crate::values::{Binary, Compare, Unary};

/// What an instruction does, with the parts of its name that matter here.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Op {
    Move,
    Load {
        space: Space,
        is_constant: bool,
    },
    Store {
        space: Space,
    },
    Atomic {
        space: Space,
        what: Update,
    },
    /// From generic addresses to those of a space, or the other way.
    Address {
        space: Space,
        to_space: bool,
    },
    Convert {
        from: Type,
        rounding: Rounding,
    },
    Unary(Unary),
    Binary(Binary),
    /// A product's lower or upper half, or all of it.
    Product(Part),
    ProductSum(Part),
    /// Of the lower 24 bits.
    ShortProduct,
    FusedSum,
    Compare {
        how: Compare,
        with: Option<Binary>,
    },
    Select,
    SumOfDifferences {
        by_bytes: bool,
    },
    FunnelShift {
        left: bool,
    },
    Insert,
    Extract,
    Permute,
    Branch,
    Return,
    Barrier,
    BarrierVote {
        any: bool,
    },
    WarpBarrier,
    Shuffle(Lanes),
    Vote(Vote),
    Reduce(Binary),
    ActiveLanes,
    Fence,
    /// Others go on meanwhile: a block waits for other blocks.
    Sleep,
    /// What is not run: calls, and arguments of calls.
    Call,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Generic,
    Global,
    Shared,
    Local,
    Constant,
    Param,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Low,
    High,
    Wide,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lanes {
    Index,
    Up,
    Down,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vote {
    Any,
    All,
    Ballot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Update {
    Exchange,
    CompareExchange,
    With(Binary),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    Nearest,
    Zero,
    Down,
    Up,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bits,
    Unsigned,
    Signed,
    Float,
    Predicate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Type {
    pub(crate) kind: Kind,
    pub(crate) bits: u32,
}

impl Type {
    pub(crate) const PREDICATE: Type = Type { kind: Kind::Predicate, bits: 1 };

    /// `u32`, `f64`, `pred`
    pub(crate) fn read(name: &str) -> Option<Type> {
        if name == "pred" {
            return Some(Type::PREDICATE);
        }
        let kind = match name.as_bytes().first()? {
            b'b' => Kind::Bits,
            b'u' => Kind::Unsigned,
            b's' => Kind::Signed,
            b'f' => Kind::Float,
            _ => return None,
        };
        let bits: u32 = name[1..].parse().ok()?;
        [8, 16, 32, 64].contains(&bits).then_some(Type { kind, bits })
    }

    pub(crate) fn bytes(self) -> u64 {
        u64::from(self.bits.div_ceil(8))
    }

    pub(crate) fn is_float(self) -> bool {
        self.kind == Kind::Float
    }

    pub(crate) fn is_signed(self) -> bool {
        self.kind == Kind::Signed
    }
}

/// What an instruction reads or writes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    Register(usize),
    Value(u64),
    Special(Special),
    /// Of memory: a register's value or a place that is known, and what is added to it.
    Place {
        register: Option<usize>,
        offset: i64,
    },
    Several(Vec<Operand>),
}

impl Operand {
    pub(crate) fn registers(&self) -> Vec<usize> {
        match self {
            Operand::Register(register) | Operand::Place { register: Some(register), .. } => vec![*register],
            Operand::Several(parts) => parts.iter().flat_map(Operand::registers).collect(),
            Operand::Value(_) | Operand::Special(_) | Operand::Place { register: None, .. } => Vec::new(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Thread(usize),
    Threads(usize),
    Block(usize),
    Blocks(usize),
    Lane,
    Warp,
    LanesBelow,
}

impl Special {
    pub(crate) fn read(name: &str) -> Option<Special> {
        let (name, dimension) = match name.rsplit_once('.') {
            Some((name, dimension)) => (name, ["x", "y", "z"].iter().position(|other| *other == dimension)?),
            None => (name, 0),
        };
        Some(match name {
            "%tid" => Special::Thread(dimension),
            "%ntid" => Special::Threads(dimension),
            "%ctaid" => Special::Block(dimension),
            "%nctaid" => Special::Blocks(dimension),
            "%laneid" => Special::Lane,
            "%warpid" => Special::Warp,
            "%lanemask_lt" => Special::LanesBelow,
            _ => return None,
        })
    }
}

/// An instruction of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Instr {
    /// The predicate under which lanes take part, and whether it has to be false.
    pub(crate) guard: Option<(usize, bool)>,
    pub(crate) op: Op,
    pub(crate) ty: Type,
    pub(crate) targets: Vec<usize>,
    pub(crate) sources: Vec<Operand>,
    /// Registers that it needs, the guard among them.
    pub(crate) reads: Box<[usize]>,
    /// Of branches: the instruction behind the label.
    pub(crate) to: usize,
    /// Issue slots of a warp.
    pub(crate) slots: u32,
    pub(crate) text: Box<str>,
}

/// What the name of an instruction says.
pub(crate) struct Named {
    pub(crate) op: Op,
    pub(crate) ty: Type,
    /// Operands at the front that are written.
    pub(crate) targets: usize,
}

/// Reads `ld.global.nc.f32`.
pub(crate) fn named(name: &str) -> Option<Named> {
    let parts: Vec<&str> = name.split(['.', ':']).filter(|part| !part.is_empty()).collect();
    let types: Vec<Type> = parts[1..].iter().filter_map(|part| Type::read(part)).collect();
    let ty = types.first().copied().unwrap_or(Type { kind: Kind::Bits, bits: 32 });
    let has = |part: &str| parts[1..].contains(&part);
    let space = || {
        let spaces = [("global", Space::Global), ("shared", Space::Shared), ("local", Space::Local)];
        let more = [("const", Space::Constant), ("param", Space::Param)];
        let found = spaces.into_iter().chain(more).find(|(name, _)| has(name));
        found.map_or(Space::Generic, |(_, space)| space)
    };
    let part = || match () {
        () if has("wide") => Part::Wide,
        () if has("hi") => Part::High,
        () => Part::Low,
    };
    let second = || parts.get(1).copied().unwrap_or_default();
    let binary = |name: &str| Binary::read(name);
    let (op, targets) = match parts[0] {
        "mov" => (Op::Move, 1),
        "ld" | "ldu" => (Op::Load { space: space(), is_constant: has("nc") }, 1),
        "st" if space() == Space::Param => (Op::Call, 0),
        "st" => (Op::Store { space: space() }, 0),
        "atom" => (Op::Atomic { space: space(), what: update(&parts)? }, 1),
        "red" => (Op::Atomic { space: space(), what: update(&parts)? }, 0),
        "cvta" => (Op::Address { space: space(), to_space: has("to") }, 1),
        "cvt" => (Op::Convert { from: *types.get(1)?, rounding: rounding(&parts) }, 1),
        "mul" if !ty.is_float() => (Op::Product(part()), 1),
        "mad" if !ty.is_float() => (Op::ProductSum(part()), 1),
        "mul24" if has("lo") => (Op::ShortProduct, 1),
        "mad24" | "mul24" => return None,
        "fma" | "mad" => (Op::FusedSum, 1),
        "setp" => {
            let with =
                parts.get(2).and_then(|name| ["and", "or", "xor"].contains(name).then(|| binary(name))).flatten();
            (Op::Compare { how: Compare::read(second())?, with }, 1)
        }
        "selp" => (Op::Select, 1),
        "sad" => (Op::SumOfDifferences { by_bytes: false }, 1),
        "vabsdiff4" if has("add") => (Op::SumOfDifferences { by_bytes: true }, 1),
        "shf" => (Op::FunnelShift { left: second() == "l" }, 1),
        "bfi" => (Op::Insert, 1),
        "bfe" => (Op::Extract, 1),
        "prmt" => (Op::Permute, 1),
        "bra" => (Op::Branch, 0),
        "ret" | "exit" => (Op::Return, 0),
        "bar" | "barrier" if has("red") => (Op::BarrierVote { any: has("or") }, 1),
        "bar" if second() == "warp" => (Op::WarpBarrier, 0),
        "bar" | "barrier" => (Op::Barrier, 0),
        "shfl" => (Op::Shuffle(shuffled(parts.get(2)?)?), 1),
        "vote" => (Op::Vote(voted(parts.get(2)?)?), 1),
        "redux" => (Op::Reduce(binary(parts.get(2)?)?), 1),
        "activemask" => (Op::ActiveLanes, 1),
        "membar" | "fence" => (Op::Fence, 0),
        "nanosleep" => (Op::Sleep, 0),
        "call" => (Op::Call, 0),
        other => match Unary::read(other) {
            Some(unary) => (Op::Unary(unary), 1),
            None => (Op::Binary(binary(other)?), 1),
        },
    };
    Some(Named { op, ty, targets })
}

fn update(parts: &[&str]) -> Option<Update> {
    parts[1..].iter().find_map(|part| match *part {
        "exch" => Some(Update::Exchange),
        "cas" => Some(Update::CompareExchange),
        other => Binary::read(other).map(Update::With),
    })
}

fn shuffled(name: &str) -> Option<Lanes> {
    Some(match name {
        "idx" => Lanes::Index,
        "up" => Lanes::Up,
        "down" => Lanes::Down,
        "bfly" => Lanes::Other,
        _ => return None,
    })
}

fn voted(name: &str) -> Option<Vote> {
    Some(match name {
        "any" => Vote::Any,
        "all" => Vote::All,
        "ballot" => Vote::Ballot,
        _ => return None,
    })
}

fn rounding(parts: &[&str]) -> Rounding {
    let found = parts.iter().find_map(|part| match *part {
        "rzi" | "rz" => Some(Rounding::Zero),
        "rmi" | "rm" => Some(Rounding::Down),
        "rpi" | "rp" => Some(Rounding::Up),
        _ => None,
    });
    found.unwrap_or(Rounding::Nearest)
}
