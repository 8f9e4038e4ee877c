//! Device units built by hand, each for one corner of `imp`: printed as CUDA, taken by nvcc, run by the executor.

use std::ffi::c_void;
use std::sync::OnceLock;

use hidp_build::compiler::emit::cuda;
use hidp_build::compiler::emit::openmp::Options;
use hidp_build::compiler::index::{Arena, Id};
use hidp_build::compiler::ir::imp::*;
use hidp_build::compiler::ir::par::{self, BinOp, FaultKind, FoldFn, Program, ScalarFn, ScalarFnId, Struct};
use hidp_build::compiler::source::SourceMap;
use hidp_build::compiler::ty::{Scalar, StructId, Ty};

use crate::device::{DeviceKernels, Ended};
use crate::dsl::*;
use crate::nvcc;

const I32: Scalar = Scalar::I32;
const F32: Scalar = Scalar::F32;
const STEM: &str = "device_units";

/// `struct Best { float v; int i; }`
fn best() -> Ty {
    Ty::Struct(StructId::new(0))
}

/// `long ratio(long a, long b) { return a / b; }`
fn ratio() -> ScalarFnId {
    ScalarFnId::new(0)
}

fn program() -> Program {
    let mut program = Program::default();
    let fields = vec![("v".into(), F32.into()), ("i".into(), I32.into())];
    program.structs.push(Struct { name: "Best".into(), fields, native: false, doc: Vec::new(), span: span(0) });
    let mut vars = Arena::new();
    let param = |name: &str| par::Var {
        name: name.into(),
        ty: LONG.into(),
        shape: Vec::new(),
        kind: par::VarKind::Local,
        span: span(0),
    };
    let params = vec![vars.push(param("a")), vars.push(param("b"))];
    let read = |at: usize| Box::new(par::Expr::read(params[at], LONG.into(), span(0)));
    let kind = par::ExprKind::Binary { op: BinOp::Div, left: read(0), right: read(1), checked: true };
    let quotient = par::Expr { kind, ty: LONG.into(), span: span(2) };
    let stmt = par::Stmt { kind: par::StmtKind::Return(quotient), span: span(0) };
    program.scalar_fns.push(ScalarFn {
        name: "ratio".into(),
        params,
        result: LONG.into(),
        vars,
        body: Some(par::Block { stmts: vec![stmt] }),
        contract: true,
        span: span(0),
    });
    program
}

/// The site of `ratio`.
fn ratio_site() -> Site {
    Site { kind: FaultKind::DivisionByZero, span: span(2), names: vec![String::new()] }
}

/// An entry of one device unit.
struct Unfinished {
    sites: Arena<SiteId, Site>,
    kernels: Arena<KernelId, Kernel>,
}

impl Unfinished {
    fn new() -> Self {
        Self { sites: Arena::new(), kernels: Arena::new() }
    }
    fn site(&mut self, values: usize) -> SiteId {
        let span = span(self.sites.len());
        self.sites.push(Site { kind: FaultKind::Index, span, names: vec![String::new(); values] })
    }
    fn kernel(&mut self, level: Level, block: u32, function: Function) -> KernelId {
        self.on_grid(Grid::new(level, block), function)
    }
    fn on_grid(&mut self, grid: Grid, function: Function) -> KernelId {
        let grid = Some(grid);
        self.kernels.push(Kernel {
            grid,
            copies: Vec::new(),
            narrow: None,
            name: "map".into(),
            function,
            span: span(4),
        })
    }
    fn finish(self, name: &str, host: Function) -> Entry {
        let (plan, plan_text, target) = ("p".into(), "by hand".into(), UnitTarget::Device);
        let unit = Unit { plan, plan_text, target, host, kernels: self.kernels };
        Entry { symbol: format!("t_{name}"), sites: self.sites, units: vec![unit] }
    }
}

fn cell(f: &mut F, name: &str, elem: impl Into<Ty>, writable: bool) -> VarId {
    f.param(name, VarKind::HostCell { elem: elem.into(), writable })
}
fn launch(kernel: KernelId, args: Vec<Expr>, extents: Vec<Expr>) -> Stmt {
    Stmt::LaunchGrid { kernel, args, extents, most: None }
}
fn spread(
    (group, over): (Level, Level),
    share: Share,
    reductions: Vec<Reduction>,
    var: VarId,
    (lo, hi): (Expr, Expr),
    body: Vec<Stmt>,
) -> Stmt {
    for_each(LoopKind::Spread { group, over, share, reductions }, var, lo, hi, body)
}
fn reduction(var: VarId, op: FoldFn, ty: impl Into<Ty>, seen: Option<VarId>) -> Reduction {
    Reduction { var, op, ty: ty.into(), seen }
}
fn single(group: Level, body: Vec<Stmt>) -> Stmt {
    Stmt::Single { group, body: block(body) }
}
fn outside(index: Expr, extent: Expr) -> Expr {
    not(lt(cast(Scalar::U64, index), cast(Scalar::U64, extent)))
}

/// `x[n], idx[a*b*c], out[a*b*c]; n, a, b, c`: `out[i] = x[idx[i]]` over three dimensions.
fn gather() -> Entry {
    let mut entry = Unfinished::new();
    let site = entry.site(3);
    let mut k = F::new();
    let (n, b, c) = (k.scalar("n", LONG), k.scalar("b", LONG), k.scalar("c", LONG));
    let (x, idx, out) = (k.input("x", F32), k.input("idx", I32), k.output("out", F32));
    let (z, y, at_x) = (k.scalar("z", LONG), k.scalar("y", LONG), k.scalar("x", LONG));
    let (i, j) = (k.local("i", LONG), k.local("j", LONG));
    let body = vec![
        define(i, add(mul(add(mul(l(z), l(b)), l(y)), l(c)), l(at_x))),
        define(j, cast(LONG, load(at(idx, l(i)), I32))),
        when(outside(l(j), l(n)), vec![fault(site, vec![l(j), l(n), l(i)])]),
        store(at(out, l(i)), load(at(x, l(j)), F32)),
    ];
    let kernel = entry.kernel(Level::Thread, 64, k.body(body));
    let mut h = F::new();
    let (x, idx, out) = (h.input("x", F32), h.input("idx", I32), h.output("out", F32));
    let dims: Vec<VarId> = ["n", "a", "b", "c"].iter().map(|name| h.scalar(name, LONG)).collect();
    let args = vec![l(dims[0]), l(dims[2]), l(dims[3]), v(x, F32), v(idx, I32), v(out, F32)];
    entry.finish("gather", h.body(vec![launch(kernel, args, dims[1..].iter().map(|&dim| l(dim)).collect())]))
}

/// `x[r*c], out[r], low[r]; r, c`: of each row, by a group of lanes of each level, the sum of the elements up to 1000, larger ones
/// being faults, and their minimum. Then, by a launch of its own, a row of the sums alone.
fn rows(name: &str, level: Level, block_threads: u32) -> Entry {
    let mut entry = Unfinished::new();
    let site = entry.site(2);
    let mut k = F::new();
    let c = k.scalar("c", LONG);
    let (x, out, low) = (k.input("x", LONG), k.output("out", LONG), k.output("low", LONG));
    let r = k.scalar("r", LONG);
    let (sum, least, seen) = (k.local("sum", LONG), k.local("least", LONG), k.local("seen", Scalar::Bool));
    let (i, value) = (k.local("i", LONG), k.local("value", LONG));
    let smaller = e(ExprKind::Select(Box::new(lt(l(value), l(least))), Box::new(l(value)), Box::new(l(least))), LONG);
    let first_or =
        |of: Expr| e(ExprKind::Select(Box::new(v(seen, Scalar::Bool)), Box::new(of), Box::new(l(value))), LONG);
    let body = vec![
        define(value, load(at(x, add(mul(l(r), l(c)), l(i))), LONG)),
        when(lt(int(1000), l(value)), vec![fault(site, vec![l(r), l(i)])]),
        set(sum, add(l(sum), l(value))),
        set(least, first_or(smaller)),
        set(seen, e(ExprKind::Bool(true), Scalar::Bool)),
    ];
    let reductions = vec![reduction(sum, FoldFn::Add, LONG, None), reduction(least, FoldFn::Min, LONG, Some(seen))];
    let levels = (level, Level::Thread);
    let mut stmts =
        vec![define(sum, int(0)), define(least, int(77)), define(seen, e(ExprKind::Bool(false), Scalar::Bool))];
    let writes = vec![store(at(out, l(r)), l(sum)), when(v(seen, Scalar::Bool), vec![store(at(low, l(r)), l(least))])];
    if level == Level::Thread {
        stmts.push(seq(i, int(0), l(c), body));
        stmts.extend(writes);
    } else {
        stmts.push(spread(levels, Share::Cyclic, reductions, i, (int(0), l(c)), body));
        stmts.push(single(level, writes));
    }
    let kernel = entry.kernel(level, block_threads, k.body(stmts));
    let mut h = F::new();
    let (x, out, low) = (h.input("x", LONG), h.output("out", LONG), h.output("low", LONG));
    let (r, c) = (h.scalar("r", LONG), h.scalar("c", LONG));
    let args = vec![l(c), v(x, LONG), v(out, LONG), v(low, LONG)];
    entry.finish(name, h.body(vec![launch(kernel, args, vec![l(r)])]))
}

/// `x[b*w*t], out[b*w]; b, w, t`: a block an item of `b`, a warp one of `w`, its lanes those of `t`: `100 / x` is summed; then every
/// lane of the block adds the first sum to the others.
fn nested() -> Entry {
    let mut entry = Unfinished::new();
    entry.sites.push(ratio_site());
    let mut k = F::new();
    let (w, t) = (k.scalar("w", LONG), k.scalar("t", LONG));
    let (x, out) = (k.input("x", LONG), k.output("out", LONG));
    let b = k.scalar("b", LONG);
    let (i, j, m) = (k.local("i", LONG), k.local("j", LONG), k.local("m", LONG));
    let (sum, quotient, first) = (k.local("sum", LONG), k.local("quotient", LONG), k.local("first", LONG));
    let row = || add(mul(l(b), l(w)), l(i));
    let quotients = vec![
        define(quotient, call(ratio(), LONG, vec![int(100), load(at(x, add(mul(row(), l(t)), l(j))), LONG)])),
        Stmt::CheckTrap,
        set(sum, add(l(sum), l(quotient))),
    ];
    let sums = vec![reduction(sum, FoldFn::Add, LONG, None)];
    let of_warp = vec![
        define(sum, int(0)),
        spread((Level::Warp, Level::Thread), Share::Blocked, sums, j, (int(0), l(t)), quotients),
        single(Level::Warp, vec![store(at(out, row()), l(sum))]),
    ];
    let start = || load(relaxed(out, mul(l(b), l(w))), LONG);
    let more = vec![store(
        at(out, add(mul(l(b), l(w)), l(m))),
        add(load(at(out, add(mul(l(b), l(w)), l(m))), LONG), l(first)),
    )];
    let body = vec![
        spread((Level::Block, Level::Warp), Share::Cyclic, Vec::new(), i, (int(0), l(w)), of_warp),
        Stmt::Sync(Level::Block),
        define(first, e(ExprKind::Broadcast(Level::Block, Box::new(start())), LONG)),
        spread((Level::Block, Level::Thread), Share::Cyclic, Vec::new(), m, (int(1), l(w)), more),
    ];
    let kernel = entry.kernel(Level::Block, 96, k.body(body));
    let mut h = F::new();
    let (x, out) = (h.input("x", LONG), h.output("out", LONG));
    let (b, w, t) = (h.scalar("b", LONG), h.scalar("w", LONG), h.scalar("t", LONG));
    let args = vec![l(w), l(t), v(x, LONG), v(out, LONG)];
    entry.finish("nested", h.body(vec![launch(kernel, args, vec![l(b)])]))
}

/// `idx[n], out[m], bins[4]; n`: conflicting relaxed stores of structs whose fields must agree, one field read back, atomics.
fn scatter() -> Entry {
    let mut entry = Unfinished::new();
    let mut k = F::new();
    let (idx, out, bins) = (k.input("idx", I32), k.output("out", best()), k.output("bins", I32));
    let i = k.scalar("i", LONG);
    let (j, old) = (k.local("j", LONG), k.local("old", I32));
    let value = e(
        ExprKind::Struct(StructId::new(0), vec![cast(F32, load(at(idx, l(i)), I32)), load(at(idx, l(i)), I32)]),
        best(),
    );
    let field_of = |path: &[u32]| Element { relaxed: true, ..field(out, l(j), path) };
    let one = constant(1, I32);
    let body = vec![
        define(j, cast(LONG, load(at(idx, l(i)), I32))),
        define(old, load(field_of(&[1]), I32)),
        when(bin(BinOp::Ge, v(old, I32), constant(-1, I32)), vec![store(relaxed(out, l(j)), value)]),
        Stmt::Atomic { target: at(bins, bin(BinOp::And, l(i), int(3))), op: FoldFn::Add, value: one },
    ];
    let kernel = entry.kernel(Level::Thread, 128, k.body(body));
    let mut h = F::new();
    let (idx, out, bins) = (h.input("idx", I32), h.output("out", best()), h.output("bins", I32));
    let n = h.scalar("n", LONG);
    entry.finish("scatter", h.body(vec![launch(kernel, vec![v(idx, I32), v(out, best()), v(bins, I32)], vec![l(n)])]))
}

/// `count, total, x[n]; n`: while `x[0]` is below `count`, every element grows by one; then a copy of its elements, made by at most
/// five warps at a time in storage of their own, is summed into `total`, which is a fault if it is 13. All but the growing may wait for others.
fn host_flow() -> Entry {
    let mut entry = Unfinished::new();
    let (room, unlucky) = (
        entry.sites.push(Site { kind: FaultKind::Allocation, span: span(3), names: vec![String::new()] }),
        entry.site(1),
    );
    let mut grow = F::new();
    let (x, i) = (grow.output("x", LONG), grow.scalar("i", LONG));
    let body = vec![store(at(x, l(i)), add(load(at(x, l(i)), LONG), int(1)))];
    let grow = entry.kernel(Level::Thread, 32, grow.body(body));
    let mut sum = F::new();
    let (x, own, total) = (sum.input("x", LONG), sum.output("own", LONG), sum.output("total", LONG));
    let i = sum.scalar("i", LONG);
    let (mine, value) = (sum.local("mine", LONG), sum.local("value", LONG));
    let body = vec![
        define(mine, e(ExprKind::WorkerIndex, LONG)),
        single(Level::Warp, vec![store(at(own, l(mine)), load(at(x, l(i)), LONG))]),
        Stmt::Sync(Level::Warp),
        define(value, e(ExprKind::Broadcast(Level::Warp, Box::new(load(at(own, l(mine)), LONG))), LONG)),
        single(Level::Warp, vec![Stmt::Atomic { target: at(total, int(0)), op: FoldFn::Add, value: l(value) }]),
    ];
    let sum = entry.kernel(Level::Warp, 64, sum.body(body));

    let mut h = F::new();
    let count = cell(&mut h, "count", LONG, false);
    let total = cell(&mut h, "total", LONG, true);
    let x = h.output("x", LONG);
    let n = h.scalar("n", LONG);
    let (own, sums, most) = (h.buffer("own", LONG), h.buffer("sums", LONG), h.local("most", LONG));
    let groups = e(ExprKind::GroupCount(Grid::new(Level::Warp, 64)), LONG);
    let fewer = e(ExprKind::Math(par::MathFn::Min, vec![groups, int(5)]), LONG);
    let step = vec![
        when(not(lt(load(at(x, int(0)), LONG), load(at(count, int(0)), LONG))), vec![Stmt::Break]),
        launch(grow, vec![v(x, LONG)], vec![l(n)]),
    ];
    let body = vec![
        Stmt::Forever { body: block(step), step: Block::default() },
        define(most, fewer),
        Stmt::Alloc { var: own, count: l(most), zero: false, site: room },
        Stmt::Alloc { var: sums, count: int(1), zero: true, site: room },
        Stmt::LaunchGrid {
            kernel: sum,
            args: vec![v(x, LONG), v(own, LONG), v(sums, LONG)],
            extents: vec![l(n)],
            most: Some(l(most)),
        },
        Stmt::Free(own),
        store(at(total, int(0)), load(at(sums, int(0)), LONG)),
        store(at(x, int(0)), bin(BinOp::Sub, int(0), load(at(sums, int(0)), LONG))),
        when(
            bin(BinOp::Eq, load(at(total, int(0)), LONG), int(13)),
            vec![fault(unlucky, vec![load(at(x, int(0)), LONG)])],
        ),
    ];
    entry.finish("host_flow", h.body(body))
}

/// `x[a*b]; a, b`: doubled over two dimensions, then made negative over one, by threads that take four elements at a time; if they may be joined,
/// then doubled once more.
fn side_by_side(name: &str, joined: bool) -> Entry {
    let mut entry = Unfinished::new();
    let mut grid = Grid { items: 4, joined, ..Grid::new(Level::Thread, 64) };
    let mut k = F::new();
    let (b, x) = (k.scalar("b", LONG), k.output("x", I32));
    let (y, at_x) = (k.scalar("y", LONG), k.scalar("x", LONG));
    let i = || add(mul(l(y), l(b)), l(at_x));
    let doubled = mul(constant(2, I32), load(at(x, i()), I32));
    let double = entry.on_grid(grid, k.body(vec![store(at(x, i()), doubled)]));
    let mut k = F::new();
    let (x, i) = (k.output("x", I32), k.scalar("i", LONG));
    let negative = bin(BinOp::Sub, constant(0, I32), load(at(x, l(i)), I32));
    grid.block = 32;
    let negate = entry.on_grid(grid, k.body(vec![store(at(x, l(i)), negative)]));
    let mut h = F::new();
    let (x, a, b) = (h.output("x", I32), h.scalar("a", LONG), h.scalar("b", LONG));
    let doubled = || launch(double, vec![l(b), v(x, I32)], vec![l(a), l(b)]);
    let mut body = vec![doubled(), launch(negate, vec![v(x, I32)], vec![mul(l(a), l(b))])];
    body.extend(joined.then(doubled));
    entry.finish(name, h.body(body))
}

/// `x[n]; n`: elements above 1000 are faults; then, by a launch of its own, all become -1; then 7 elements are a fault of the host. If launches may
/// be joined, there are enough for two grids, and they go on to -40.
fn skips(name: &str, joined: bool) -> Entry {
    let mut entry = Unfinished::new();
    let grid = Grid { joined, ..Grid::new(Level::Thread, 32) };
    let (large, seven) = (entry.site(1), entry.site(1));
    let mut k = F::new();
    let (x, i) = (k.input("x", LONG), k.scalar("i", LONG));
    let check = when(lt(int(1000), load(at(x, l(i)), LONG)), vec![fault(large, vec![l(i)])]);
    let check = entry.on_grid(grid, k.body(vec![check]));
    let mut k = F::new();
    let (n, to, x, i) = (k.scalar("n", LONG), k.scalar("to", LONG), k.output("x", LONG), k.scalar("i", LONG));
    // In every other launch the last thread takes the first element: each changes what another one has written.
    let (place, back) = (k.local("place", LONG), bin(BinOp::Sub, bin(BinOp::Sub, l(n), int(1)), l(i)));
    let is_odd = bin(BinOp::Ne, bin(BinOp::And, l(to), int(1)), int(0));
    let own = e(ExprKind::Select(Box::new(is_odd), Box::new(l(i)), Box::new(back)), LONG);
    let is_next = lt(l(to), load(at(x, l(place)), LONG));
    let next = e(ExprKind::Select(Box::new(is_next), Box::new(l(to)), Box::new(int(0))), LONG);
    let mark = entry.on_grid(grid, k.body(vec![define(place, own), store(at(x, l(place)), next)]));
    let mut h = F::new();
    let (x, n, to) = (h.output("x", LONG), h.scalar("n", LONG), h.local("to", LONG));
    let mark = |to: Expr| launch(mark, vec![l(n), to, v(x, LONG)], vec![l(n)]);
    let mut body = vec![launch(check, vec![v(x, LONG)], vec![l(n)])];
    if joined {
        let down = bin(BinOp::Sub, int(0), l(to));
        body.push(seq(to, int(1), int(41), vec![mark(down)]));
    } else {
        body.push(mark(int(-1)));
    }
    body.push(when(bin(BinOp::Eq, l(n), int(7)), vec![fault(seven, vec![l(n)])]));
    entry.finish(name, h.body(body))
}

const LEVELS: [(&str, Level, u32); 6] = [
    ("rows_thread", Level::Thread, 128),
    ("rows_subwarp2", Level::Subwarp2, 64),
    ("rows_subwarp", Level::Subwarp, 96),
    ("rows_warp", Level::Warp, 64),
    ("rows_block", Level::Block, 160),
    ("rows_block_of_one_warp", Level::Block, 32),
];

fn entries() -> Vec<Entry> {
    let rows = LEVELS.iter().map(|(name, level, block)| rows(name, *level, *block));
    let others = [gather(), nested(), scatter(), host_flow()];
    let alone = [side_by_side("side_by_side", false), skips("skips", false)];
    let joined = [side_by_side("side_by_side_joined", true), skips("skips_joined", true)];
    others.into_iter().chain(alone).chain(joined).chain(rows).collect()
}

fn text() -> String {
    let mut sources = SourceMap::new();
    sources.add("t.hdp", "x\ny\nz\n\nkernel\n0123456789\n");
    let options = Options { line_directives: false, ..Options::default() };
    cuda::module(&program(), &sources, STEM, &entries(), &options).expect("there are device units")
}

fn kernels() -> &'static DeviceKernels {
    static KERNELS: OnceLock<DeviceKernels> = OnceLock::new();
    KERNELS.get_or_init(|| DeviceKernels::build(STEM, &text()).unwrap_or_else(|error| panic!("{error}")))
}

/// An argument: an array in device memory, or a scalar of the host.
enum Arg<'a> {
    Array(*mut c_void, usize),
    Cell(&'a mut i64),
}

fn array<T>(elements: &mut [T]) -> Arg<'static> {
    Arg::Array(elements.as_mut_ptr().cast(), size_of_val(elements))
}

type Outcome = Result<(), (u32, Vec<i64>)>;

/// Calls an entry on a new device; arrays come back.
fn run(name: &str, seed: u64, args: &mut [Arg<'_>], dims: &[i64]) -> Outcome {
    let device = kernels().device(seed, 2);
    let addresses: Vec<*mut c_void> = args
        .iter_mut()
        .map(|arg| match arg {
            Arg::Array(host, bytes) => {
                let address = device.take(*bytes);
                // SAFETY: the array has so many bytes.
                unsafe { device.copy_in(address, *host, *bytes) };
                address
            }
            Arg::Cell(cell) => (&raw mut **cell).cast(),
        })
        .collect();
    // SAFETY: tests pass what the entry's comment says.
    let ended = unsafe { device.call(&format!("hidp2_t_{name}_p"), &addresses, dims) };
    for (arg, &address) in args.iter().zip(&addresses) {
        if let Arg::Array(host, bytes) = arg {
            // SAFETY: as above.
            unsafe { device.copy_out(*host, address, *bytes) };
        }
    }
    match ended {
        Ok(()) => Ok(()),
        Err(Ended::Fault(fault)) => Err((fault.site, fault.values[..fault.count as usize].to_vec())),
        Err(Ended::Wrong(report)) => panic!("{name}: {report}"),
    }
}

#[test]
fn device_units_keep_the_rules() {
    for entry in entries() {
        if let Err(errors) = verify(&program(), &entry) {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            panic!("{}\n{}", errors.join("\n"), print(&program(), &entry));
        }
    }
}

#[test]
fn nvcc_takes_every_device_unit() {
    nvcc::compiles(STEM, &text()).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn grids_reach_every_item_and_report_the_first_fault() {
    for (seed, [a, b, c]) in [(1, [3, 5, 40]), (2, [1, 1, 1]), (3, [70, 3, 2]), (4, [2, 200, 1]), (5, [0, 4, 4])] {
        let count = (a * b * c) as usize;
        let mut x: Vec<f32> = (0..100).map(|i| i as f32).collect();
        let mut idx: Vec<i32> = (0..count as i32).map(|i| i * 7 % 100).collect();
        let mut out = vec![-1.0_f32; count];
        let mut gather = |idx: &mut [i32]| {
            let args = &mut [array(&mut x), array(idx), array(&mut out)];
            (run("gather", seed, args, &[100, a, b, c]), out.clone())
        };
        let (result, seen) = gather(&mut idx);
        assert_eq!(result, Ok(()));
        assert!(seen.iter().zip(&idx).all(|(&value, &i)| value == i as f32), "{a} {b} {c}");
        if count > 3 {
            idx[count - 1] = -5;
            idx[count / 2] = 100;
            idx[count / 2 + 1] = 101;
            assert_eq!(gather(&mut idx).0, Err((0, vec![100, 100, count as i64 / 2])));
        }
    }
}

#[test]
fn rows_are_folded_by_groups_of_every_level() {
    for (name, ..) in LEVELS {
        for (seed, (r, c)) in [(1, (1, 1)), (2, (70, 33)), (3, (5, 300)), (4, (9, 0)), (5, (3, 4))] {
            let count = (r * c) as usize;
            let mut x: Vec<i64> = (0..count as i64).map(|i| i * 37 % 101 - 50).collect();
            let (mut out, mut low) = (vec![-7_i64; r as usize], vec![-7_i64; r as usize]);
            let args = &mut [array(&mut x), array(&mut out), array(&mut low)];
            assert_eq!(run(name, seed, args, &[r, c]), Ok(()));
            for row in 0..r as usize {
                let of_row = &x[row * c as usize..][..c as usize];
                assert_eq!(out[row], of_row.iter().sum(), "{name} {r} x {c}: {row}");
                assert_eq!(low[row], of_row.iter().copied().min().unwrap_or(-7), "{name} {r} x {c}: {row}");
            }
        }
    }
}

#[test]
fn of_several_lanes_faults_the_lowest_position_is_reported() {
    for (name, ..) in LEVELS {
        for seed in 0..4 {
            let (r, c) = (40, 75);
            let mut x = vec![1_i64; (r * c) as usize];
            // In row 17 lanes of one turn, and one that comes to its element sooner, but later in order.
            for (row, at) in [(17, 34), (17, 33), (17, 70), (30, 0), (39, 74)] {
                x[row * 75 + at] = 1001;
            }
            let (mut out, mut low) = (vec![0_i64; r as usize], vec![0_i64; r as usize]);
            let args = &mut [array(&mut x), array(&mut out), array(&mut low)];
            assert_eq!(run(name, seed, args, &[r, c]), Err((0, vec![17, 33])), "{name}");
        }
    }
}

#[test]
fn loops_share_out_inside_of_loops() {
    for (seed, (b, w, t)) in [(1, (2, 7, 50)), (2, (4, 1, 1)), (3, (1, 3, 64)), (4, (2, 100, 3))] {
        let mut x: Vec<i64> = (0..b * w * t).map(|i| i % 9 + 1).collect();
        let mut out = vec![0_i64; (b * w) as usize];
        let result = run("nested", seed, &mut [array(&mut x), array(&mut out)], &[b, w, t]);
        assert_eq!(result, Ok(()));
        let sum = |row: usize| x[row * t as usize..][..t as usize].iter().map(|value| 100 / value).sum::<i64>();
        for (row, value) in out.iter().enumerate() {
            let first = row / w as usize * w as usize;
            assert_eq!(*value, sum(row) + if row == first { 0 } else { sum(first) }, "{b} {w} {t}: {row}");
        }
        let last = x.len() - 1;
        x[last] = 0;
        let result = run("nested", seed, &mut [array(&mut x), array(&mut out)], &[b, w, t]);
        assert_eq!(result, Err((0, vec![100])));
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Best {
    v: f32,
    i: i32,
}

#[test]
fn relaxed_fields_and_atomics() {
    let n = 1000;
    let mut idx: Vec<i32> = (0..n).map(|i| i % 64).collect();
    let mut out = vec![Best { v: -1.0, i: -1 }; 65];
    let mut bins = [0_i32, 1, 2, 3];
    let args = &mut [array(&mut idx), array(&mut out), array(&mut bins)];
    assert_eq!(run("scatter", 3, args, &[n.into()]), Ok(()));
    assert!((0..64).all(|at| out[at as usize] == Best { v: at as f32, i: at }));
    assert_eq!((out[64].i, bins), (-1, [250, 251, 252, 253]));
}

#[test]
fn host_functions_wait_for_what_they_read() {
    for (count, n, expected) in [(7_i64, 20_i64, Ok(())), (-3, 4, Ok(())), (5, 3, Err((1, vec![-13])))] {
        let mut x: Vec<i64> = (0..n).collect();
        if expected.is_err() {
            x = vec![0, -1, -1];
        }
        let grown: Vec<i64> = x.iter().map(|value| value + count.max(0)).collect();
        let sum: i64 = grown.iter().sum();
        let (mut limit, mut total) = (count, 0);
        let args = &mut [Arg::Cell(&mut limit), Arg::Cell(&mut total), array(&mut x)];
        assert_eq!(run("host_flow", 1, args, &[n]), expected);
        assert_eq!((total, x[0], &x[1..]), (sum, -sum, &grown[1..]));
    }
}

#[test]
fn items_side_by_side_are_each_met_once() {
    for (seed, (a, b)) in [(1, (3, 40)), (2, (5, 6001)), (3, (700, 33)), (4, (1, 1)), (5, (2, 8192)), (6, (0, 5))] {
        for (name, times) in [("side_by_side", -2), ("side_by_side_joined", -4)] {
            let mut x: Vec<i32> = (0..(a * b) as i32).collect();
            assert_eq!(run(name, seed, &mut [array(&mut x)], &[a, b]), Ok(()));
            assert!(x.iter().enumerate().all(|(at, value)| *value == times * at as i32), "{name} {a} {b}");
        }
    }
}

#[test]
fn after_a_fault_later_launches_do_nothing() {
    for (name, last) in [("skips", -1), ("skips_joined", -40)] {
        for (n, bad, expected) in [(40, Some(33), Err((0, vec![33]))), (40, None, Ok(())), (7, None, Err((1, vec![7])))]
        {
            let mut x = vec![5_i64; n];
            bad.into_iter().for_each(|at: usize| x[at] = 1001);
            let before = x.clone();
            assert_eq!(run(name, 2, &mut [array(&mut x)], &[n as i64]), expected, "{name}");
            assert_eq!(x, if bad.is_some() { before } else { vec![last; n] }, "{name}");
        }
        // The launch came before the host function's own fault.
        let mut x = vec![1001_i64; 7];
        assert_eq!(run(name, 3, &mut [array(&mut x)], &[7]), Err((0, vec![0])), "{name}");
    }
}
