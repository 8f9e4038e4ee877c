//! Rules of kernels for devices: each by a kernel that breaks it.

use super::*;
use crate::imp::{BlockCopy, Grid, Level, Reduction, Share, Shuffle};
use crate::par::MathFn;

const CYCLIC: Share = Share::Cyclic;

/// Rules that a kernel of this level breaks. Variables as in `kernel`: of these 2 and 3 are a value and the position, 1 is the
/// buffer that may be written.
fn at(level: Level, stmts: Vec<Stmt>) -> Vec<String> {
    rules(&device(level, 128, stmts))
}

fn device(level: Level, block: u32, stmts: Vec<Stmt>) -> Entry {
    let mut entry = entry(Kernel { grid: Some(Grid::new(level, block)), ..kernel(stmts) }, 1);
    let unit = &mut entry.units[0];
    unit.target = UnitTarget::Device;
    let Stmt::Launch { kernel, mut args, extent, .. } = unit.host.body.stmts.remove(0) else { panic!("a launch") };
    args.push(int(1));
    unit.host.body.stmts = vec![Stmt::LaunchGrid { kernel, args, extents: vec![extent], most: None }];
    entry
}

fn spread(group: Level, over: Level, reductions: Vec<Reduction>, stmts: Vec<Stmt>) -> Stmt {
    for_each(LoopKind::Spread { group, over, share: CYCLIC, reductions }, 4, stmts)
}

fn store(base: usize) -> Stmt {
    Stmt::Store { target: element(base, int(0)), value: load(0, int(0)) }
}

fn single(group: Level, stmts: Vec<Stmt>) -> Stmt {
    Stmt::Single { group, body: Block { stmts } }
}

fn assign(var: usize, init: Expr) -> Stmt {
    Stmt::Let { var: VarId::new(var), init: Some(init) }
}

fn broadcast(level: Level, value: Expr) -> Expr {
    let ty = value.ty;
    expr(ExprKind::Broadcast(level, Box::new(value)), ty)
}

#[test]
fn groups_share_loops_and_write_alone() {
    let sum = Reduction { var: VarId::new(6), op: FoldFn::Add, ty: Scalar::F32.into(), seen: None };
    let zero = || assign(6, expr(ExprKind::Float(0.0), Scalar::F32));
    let step = || Stmt::Set { var: VarId::new(6), path: Vec::new(), value: load(0, long(4)) };
    let good = vec![
        zero(),
        spread(Level::Warp, Level::Thread, vec![sum], vec![step()]),
        single(Level::Warp, vec![store(1)]),
        Stmt::Sync(Level::Warp),
        spread(
            Level::Warp,
            Level::Thread,
            vec![],
            vec![Stmt::Store { target: element(1, int(0)), value: load(1, int(0)) }],
        ),
    ];
    // The second loop would introduce the variable of the first again.
    let mut again = good.clone();
    if let Some(Stmt::Loop(node)) = again.last_mut() {
        node.var = VarId::new(5);
    }
    assert_eq!(at(Level::Warp, again), [] as [String; 0]);
    assert_eq!(at(Level::Thread, vec![store(1)]), [] as [String; 0]);
    let lost = vec![zero(), spread(Level::Warp, Level::Thread, vec![], vec![step()])];
    assert_eq!(at(Level::Warp, lost), ["a value that outlives a `spread` or `single` is one of its reductions"]);
}

#[test]
fn collectives_name_their_scope() {
    let wrong = ["`sync` names the level of its scope and is not in `single`"];
    assert_eq!(at(Level::Warp, vec![Stmt::Sync(Level::Block)]), wrong);
    assert_eq!(at(Level::Warp, vec![spread(Level::Warp, Level::Thread, vec![], vec![Stmt::Sync(Level::Warp)])]), wrong);
    assert_eq!(at(Level::Warp, vec![single(Level::Warp, vec![Stmt::Sync(Level::Warp)])]), wrong);
    let up = vec![spread(Level::Warp, Level::Block, vec![], vec![])];
    assert_eq!(at(Level::Warp, up), ["a `spread` goes to a lower level"]);
}

#[test]
fn what_lanes_do_together_is_the_same_in_all() {
    let alone = "a buffer is written by one lane: in `single`, or in a thread's scope";
    assert_eq!(at(Level::Block, vec![store(1)]), [alone]);
    let load_written = load(1, int(0));
    let same = "what all lanes of a group load is not written, or broadcast";
    assert_eq!(at(Level::Block, vec![assign(6, load_written.clone())]), [same]);
    assert_eq!(at(Level::Block, vec![assign(6, broadcast(Level::Block, load_written.clone()))]), [] as [String; 0]);
    let sum = expr(
        ExprKind::Binary(BinOp::Add, Box::new(broadcast(Level::Block, load_written)), Box::new(load(0, int(0)))),
        Scalar::F32,
    );
    assert_eq!(at(Level::Block, vec![assign(6, sum)]), ["a broadcast is the whole value of a variable"]);
    let tile = vec![Stmt::Let { var: VarId::new(7), init: None }, single(Level::Warp, vec![store(7)])];
    assert_eq!(at(Level::Warp, tile), ["a tile is written where it lives, not in a `spread` or `single` inside"]);
}

#[test]
fn nothing_faults_in_single() {
    let fault = Stmt::Fault { site: SiteId::new(0), values: vec![int(0)] };
    assert_eq!(
        at(Level::Warp, vec![single(Level::Warp, vec![fault.clone()])]),
        ["nothing faults in `single` or `lanes`"]
    );
    assert_eq!(at(Level::Warp, vec![spread(Level::Warp, Level::Thread, vec![], vec![fault])]), [] as [String; 0]);
    let jump = vec![for_each(LoopKind::Seq, 5, vec![spread(Level::Warp, Level::Thread, vec![], vec![Stmt::Break])])];
    assert_eq!(at(Level::Warp, jump), ["`break` and `continue` stand in a loop"]);
}

#[test]
fn grids_are_what_devices_run() {
    assert_eq!(
        rules(&device(Level::Warp, 48, vec![])),
        ["a block has a positive multiple of 32 threads, at most 1024"]
    );
    assert_eq!(rules(&device(Level::Kernel, 32, vec![])), ["groups of a grid are parts of it"]);
    assert_eq!(of(vec![Stmt::Sync(Level::Warp)]), ["`sync` stands in kernels of device units only"]);
    let mut mixed = device(Level::Warp, 32, vec![simd(vec![], vec![])]);
    assert_eq!(rules(&mixed), ["simd loops are in CPU units only"]);
    mixed = device(Level::Warp, 32, vec![]);
    for (_, kernel) in mixed.units[0].kernels.iter_mut() {
        kernel.grid = None;
    }
    assert_eq!(rules(&mixed), ["kernels of device units, and no others, have a grid"]);
    let mut joined = device(Level::Warp, 32, vec![]);
    for (_, kernel) in joined.units[0].kernels.iter_mut() {
        kernel.grid = kernel.grid.map(|grid| Grid { joined: true, ..grid });
    }
    assert_eq!(rules(&joined), [] as [String; 0]);
    for (_, kernel) in joined.units[0].kernels.iter_mut() {
        kernel.copies = vec![BlockCopy { all: VarId::new(0), count: VarId::new(0), op: FoldFn::Add, most: 1 }];
    }
    let no_copies = "blocks of launches that may be joined to others have no copies of arrays";
    assert!(rules(&joined).iter().any(|rule| rule == no_copies));
    let mut short = device(Level::Warp, 32, vec![]);
    if let Stmt::LaunchGrid { extents, .. } = &mut short.units[0].host.body.stmts[0] {
        extents.extend([int(1), int(1), int(1)]);
    }
    assert_eq!(
        rules(&short),
        ["a grid has one to three dimensions", "a launch has an argument for each parameter but the positions"]
    );
}

#[test]
fn threads_without_limit_take_several_items() {
    let broken = |level, items, limited: bool| {
        let mut entry = device(level, 128, vec![store(1)]);
        if level != Level::Thread {
            entry = device(level, 128, vec![single(level, vec![store(1)])]);
        }
        let unit = &mut entry.units[0];
        for (_, kernel) in unit.kernels.iter_mut() {
            kernel.grid = Some(Grid { items, ..Grid::new(level, 128) });
        }
        if let Stmt::LaunchGrid { most, .. } = &mut unit.host.body.stmts[0] {
            *most = limited.then(|| int(5));
        }
        rules(&entry)
    };
    let wrong = ["threads alone take several items side by side, at most 8"];
    assert_eq!(broken(Level::Thread, 4, false), [] as [String; 0]);
    assert_eq!(broken(Level::Warp, 1, true), [] as [String; 0]);
    assert_eq!(broken(Level::Warp, 2, false), wrong);
    assert_eq!(broken(Level::Thread, 0, false), wrong);
    assert_eq!(broken(Level::Thread, 9, false), wrong);
    assert_eq!(broken(Level::Thread, 2, true), ["threads of a launch with a limit take one item at a time"]);
}

/// A kernel of blocks with more variables: 8 is a shared array, 9 are registers, 10 to 12 the numbers of lanes.
fn in_block(stmts: Vec<Stmt>) -> Vec<String> {
    let mut entry = device(Level::Block, 128, stmts);
    let elem = Ty::from(Scalar::F32);
    let shared = VarKind::Shared { elem, len: 128, declared: false };
    let long = VarKind::Value(Ty::LONG);
    for (_, kernel) in entry.units[0].kernels.iter_mut() {
        for kind in [shared, VarKind::Registers { elem, len: 4 }, long, long, long] {
            kernel.function.vars.push(Var { name: "y".to_owned(), kind });
        }
    }
    rules(&entry)
}

fn declare(var: usize) -> Stmt {
    Stmt::Let { var: VarId::new(var), init: None }
}

fn lanes(lane: usize, stmts: Vec<Stmt>) -> Stmt {
    Stmt::Lanes { group: Level::Block, lane: VarId::new(lane), body: Block { stmts } }
}

/// Element 0 of one array becomes that of another.
fn copy(to: usize, from: usize) -> Stmt {
    Stmt::Store { target: element(to, int(0)), value: load(from, int(0)) }
}

const NONE: [String; 0] = [];

#[test]
fn barriers_stand_between_lanes_that_share_memory() {
    let apart = "a `sync` stands between accesses of different lanes to a shared array";
    let fill = || lanes(10, vec![copy(8, 0)]);
    let drain = || lanes(11, vec![copy(9, 8)]);
    let sync = || Stmt::Sync(Level::Block);
    let with = |stmts: Vec<Stmt>| in_block([declare(8), declare(9)].into_iter().chain(stmts).collect());
    assert_eq!(with(vec![fill(), sync(), drain(), sync()]), NONE);
    assert_eq!(with(vec![fill(), drain(), sync()])[0], apart, "what one lane writes another one reads");
    assert_eq!(with(vec![fill(), sync(), drain()]), [apart], "the next item writes what this one reads");
    let turn = |stmts: Vec<Stmt>| for_each(LoopKind::Seq, 5, stmts);
    assert_eq!(with(vec![turn(vec![fill(), sync(), drain(), sync()])]), NONE);
    let again = with(vec![turn(vec![fill(), sync(), drain()]), sync()]);
    assert!(again.contains(&apart.to_owned()), "the next turn writes: {again:?}");
    let first = || single(Level::Block, vec![copy(8, 0)]);
    let all = || assign(6, broadcast(Level::Block, load(8, int(0))));
    assert_eq!(with(vec![first(), all(), first(), sync()]), NONE, "the first lane alone needs none");
    assert_eq!(with(vec![first(), drain(), sync()])[0], apart);
    assert_eq!(with(vec![lanes(10, vec![copy(8, 8)]), sync()])[0], apart, "lanes are in no order");
    let either = Stmt::If {
        cond: expr(ExprKind::Bool(true), Ty::BOOL),
        then: Block { stmts: vec![sync()] },
        otherwise: Block::default(),
    };
    assert_eq!(with(vec![fill(), either, drain(), sync()])[0], apart, "perhaps there is none");
}

#[test]
fn shared_arrays_belong_to_blocks() {
    let place = "a shared array is introduced in the scope of a block";
    assert_eq!(in_block(vec![lanes(10, vec![declare(8)])]), [place]);
    let mut warp = device(Level::Warp, 128, vec![declare(7)]);
    let huge = |entry: &mut Entry, len| {
        for (_, kernel) in entry.units[0].kernels.iter_mut() {
            kernel.function.vars[VarId::new(7)].kind =
                VarKind::Shared { elem: Scalar::F32.into(), len, declared: false };
        }
        rules(entry)
    };
    assert_eq!(huge(&mut warp, 16), [place]);
    let mut block = device(Level::Block, 128, vec![declare(7)]);
    assert_eq!(huge(&mut block, 12 << 10), NONE);
    assert_eq!(huge(&mut block, (12 << 10) + 1), ["the shared arrays of a kernel have at most 48 KiB"]);
    let alone = "a buffer is written by one lane: in `single`, or in a thread's scope";
    assert_eq!(in_block(vec![declare(8), copy(8, 0), Stmt::Sync(Level::Block)]), [alone]);
}

#[test]
fn arrays_of_the_program_are_shared_by_the_group_of_an_item() {
    let of = |level: Level, stmts: Vec<Stmt>| {
        let mut entry = device(level, 128, [declare(7)].into_iter().chain(stmts).collect());
        for (_, kernel) in entry.units[0].kernels.iter_mut() {
            kernel.function.vars[VarId::new(7)].kind =
                VarKind::Shared { elem: Scalar::F32.into(), len: 128, declared: true };
        }
        rules(&entry)
    };
    let apart = "a `sync` stands between accesses of different lanes to a shared array";
    for level in [Level::Warp, Level::Block] {
        let own = || spread(level, Level::Thread, vec![], vec![copy(7, 7)]);
        assert_eq!(of(level, vec![own(), Stmt::Sync(level)]), NONE, "no two iterations conflict");
        let turns = |stmts| for_each(LoopKind::Seq, 5, stmts);
        assert_eq!(of(level, vec![turns(vec![own(), Stmt::Sync(level)])]), NONE);
        assert_eq!(of(level, vec![turns(vec![own()]), Stmt::Sync(level)])[0], apart, "the next turn reads");
        assert_eq!(of(level, vec![own()]), [apart], "the next item reads");
    }
    let place = "a shared array that the program declares is introduced in the scope of an item's group";
    assert_eq!(of(Level::Thread, vec![]), [place]);
}

#[test]
fn registers_are_what_lanes_have_for_themselves() {
    let only = "registers are accessed where it is known which lane is alone";
    assert_eq!(in_block(vec![declare(9), lanes(10, vec![copy(9, 0)]), lanes(11, vec![copy(1, 9)])]), NONE);
    assert_eq!(in_block(vec![declare(9), spread(Level::Block, Level::Thread, vec![], vec![copy(9, 0)])]), [only]);
    assert_eq!(in_block(vec![declare(9), assign(6, load(9, int(0)))]), [only]);
    assert_eq!(in_block(vec![lanes(10, vec![declare(9)])]), ["registers are introduced in the scope of a group"]);
    let nested = in_block(vec![lanes(10, vec![lanes(11, vec![])])]);
    assert_eq!(nested[0], "`lanes` names the level of its scope and is not in `single`");
    let fault = Stmt::Fault { site: SiteId::new(0), values: vec![int(0)] };
    assert_eq!(in_block(vec![lanes(10, vec![fault])]), ["nothing faults in `single` or `lanes`"]);
}

/// A kernel of warps with registers of one element, 8 to 10, of which the last says of whom, and values 11 to 13.
fn in_warp(stmts: Vec<Stmt>) -> Vec<String> {
    let mut entry = device(Level::Warp, 128, [8, 9, 10].map(declare).into_iter().chain(stmts).collect());
    let float = VarKind::Registers { elem: Scalar::F32.into(), len: 1 };
    let long = VarKind::Value(Ty::LONG);
    for (_, kernel) in entry.units[0].kernels.iter_mut() {
        for kind in [
            float,
            float,
            VarKind::Registers { elem: Ty::LONG, len: 1 },
            long,
            long,
            VarKind::Value(Scalar::F32.into()),
        ] {
            kernel.function.vars.push(Var { name: "y".to_owned(), kind });
        }
    }
    rules(&entry)
}

#[test]
fn registers_are_known_where_each_lane_has_an_iteration_at_most() {
    let only = "registers are accessed where it is known which lane is alone";
    let shared = |share: Share, lo: i128, hi: Expr| {
        let kind = LoopKind::Spread { group: Level::Warp, over: Level::Thread, share, reductions: vec![] };
        let body = Block { stmts: vec![copy(8, 9)] };
        in_warp(vec![Stmt::Loop(Loop { var: VarId::new(11), lo: int(lo), hi, step: int(1), kind, body })])
    };
    let least = |of: i128| expr(ExprKind::Math(MathFn::Min, vec![long(2), int(of)]), Ty::LONG);
    assert_eq!(shared(CYCLIC, 0, int(32)), NONE);
    assert_eq!(shared(CYCLIC, 0, least(32)), NONE);
    for wrong in [
        shared(Share::Blocked, 0, int(32)),
        shared(CYCLIC, 1, int(32)),
        shared(CYCLIC, 0, least(33)),
        shared(CYCLIC, 0, long(2)),
    ] {
        assert_eq!(wrong, [only]);
    }
    assert_eq!(in_warp(vec![assign(13, broadcast(Level::Warp, load(8, int(0))))]), NONE);
}

#[test]
fn shuffles_go_between_registers_of_a_warp() {
    let shuffle = |group: Level, to: usize, of: usize| {
        let [to, from, of] = [to, 9, of].map(VarId::new);
        Stmt::Shuffle(Box::new(Shuffle { group, to, from, of }))
    };
    assert_eq!(in_warp(vec![shuffle(Level::Warp, 8, 10)]), NONE);
    let fits = "lanes exchange what registers of one element hold, and say in a `long` of whom";
    assert_eq!(in_warp(vec![shuffle(Level::Warp, 8, 8)]), [fits]);
    assert_eq!(in_warp(vec![shuffle(Level::Warp, 10, 10)]), [fits]);
    let scope = "`shuffle` names the level of its scope and is not in `single`";
    assert_eq!(in_warp(vec![single(Level::Warp, vec![shuffle(Level::Warp, 8, 10)])]), [scope]);
    assert_eq!(in_warp(vec![shuffle(Level::Subwarp, 8, 10)]), [scope]);
    let block = in_block(vec![declare(9), shuffle(Level::Block, 9, 9)]);
    assert_eq!(block, ["lanes of a warp or less exchange values", fits]);
}

#[test]
fn moves_cross_between_memory_and_lanes() {
    let moved = |to, from, count| {
        let moved = Stmt::Move { to: element(to, int(0)), from: element(from, int(0)), count };
        in_block(vec![declare(8), declare(9), lanes(10, vec![moved]), Stmt::Sync(Level::Block)])
    };
    assert_eq!(moved(9, 0, 4), NONE);
    assert_eq!(moved(8, 9, 2), NONE);
    assert_eq!(moved(1, 9, 4), NONE);
    assert_eq!(moved(8, 0, 4), ["elements are moved between memory and a lane's own"]);
    for count in [1, 3, 8] {
        assert_eq!(moved(9, 0, count), ["a power of two of bytes is moved, at most 16"]);
    }
    assert_eq!(moved(0, 9, 4), ["a read-only buffer is not written"]);
}
