//! What is generated for programs built by hand.

use super::*;
use hidp_ir::imp::UnitTarget::{Cpu, Device};
use hidp_ir::par::{
    BinOp, Block, Const, ConvertMode, Expr, ExprKind, FaultKind, Func, ScalarFn, ScalarFnId, Setting, Stmt, StmtKind,
    Struct, Var, VarId, VarKind,
};
use hidp_plan::target::{Stage, Tunable};
use hidp_plan::{Bound, Bounds, Condition, Measure, MeasureOf, Parts, Record, Rule, VersionsSet};
use hidp_syntax::ast::Direction;
use hidp_syntax::index::{Arena, Id};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::Span;
use hidp_syntax::ty::{Scalar, StructId, Ty};

const TEXT: &str = "\
# Sparse matrix times vector.
#   y = A x, see [1]
function SpmvCSR
input int rowptr[R+1]; input float val[Z], _alpha; input int match[n];
inout long n;
output float y[R], _sum; output Best best;
{ y[rowptr[0]] = 1; }
";

/// Builds a function over [`TEXT`].
struct Fixture {
    sources: SourceMap,
    file: FileId,
    func: Func,
    program: Program,
}

impl Fixture {
    fn span(&self, text: &str) -> Span {
        let start = TEXT.find(text).expect("part of the text");
        Span::new(self.file, start, start + text.len())
    }
    fn var(&mut self, name: &str, ty: Ty, kind: VarKind, shape: Vec<Expr>) -> VarId {
        let span = self.span("function");
        self.func.vars.push(Var { name: name.into(), ty, shape, kind, span })
    }
    fn param(&mut self, name: &str, ty: Ty, direction: Direction, shape: Vec<Expr>) -> VarId {
        let id = self.var(name, ty, VarKind::Param(direction), shape);
        self.func.params.push(id);
        id
    }
    fn read(&self, var: VarId, text: &str) -> Expr {
        Expr::read(var, self.func.vars[var].ty, self.span(text))
    }

    fn new() -> Self {
        let mut sources = SourceMap::new();
        let file = sources.add("kernels/spmv.hdp", TEXT);
        let span = Span::new(file, 0, 0);
        let func = Func {
            recur: None,
            name: "SpmvCSR".into(),
            doc: vec!["Sparse matrix times vector.".into(), "  y = A x, see [1]".into()],
            params: Vec::new(),
            dims: Vec::new(),
            vars: Arena::new(),
            body: Block::default(),
            contract: true,
            unchecked: false,
            span,
        };
        let mut program = Program::default();
        let fields = vec![("v".into(), Ty::Scalar(Scalar::F32)), ("type".into(), Ty::BOOL)];
        let best = Struct { name: "Best".into(), fields, native: false, doc: vec!["The best.".into()], span };
        let best = Ty::Struct(program.structs.push(best));

        let mut this = Self { sources, file, func, program };
        let (int, float) = (Ty::Scalar(Scalar::I32), Ty::Scalar(Scalar::F32));
        let r = this.var("R", Ty::LONG, VarKind::Dim, Vec::new());
        let z = this.var("Z", Ty::LONG, VarKind::Dim, Vec::new());
        this.func.dims = vec![r, z];
        let span = this.span("R+1");
        let mut r_plus_1 = Expr::long(BinOp::Add, this.read(r, "R+1"), Expr::int(1, span));
        r_plus_1.span = span;
        this.param("rowptr", int, Direction::Input, vec![r_plus_1]);
        let extent = this.read(z, "Z");
        this.param("val", float, Direction::Input, vec![extent]);
        this.param("_alpha", float, Direction::Input, Vec::new());
        let n = this.var("n", int, VarKind::Param(Direction::Inout), Vec::new());
        let kind = ExprKind::Convert { operand: Box::new(this.read(n, "n")), mode: ConvertMode::Cast };
        let extent = Expr { kind, ty: Ty::LONG, span: this.span("n]").start_point() };
        this.param("match", int, Direction::Input, vec![extent]);
        this.func.params.push(n);
        let extent = this.read(r, "R]").clone();
        this.param("y", float, Direction::Output, vec![Expr { span: this.span("R+1").start_point(), ..extent }]);
        this.param("_sum", float, Direction::Output, Vec::new());
        this.param("best", best, Direction::Output, Vec::new());
        this
    }

    fn entry(&self) -> imp::Entry {
        let mut sites = Arena::new();
        let names = vec!["rowptr[0]".into(), String::new(), String::new()];
        sites.push(imp::Site { kind: FaultKind::Index, span: self.span("y[rowptr[0]]"), names });
        let unit = |plan: &str, target| imp::Unit {
            plan: plan.into(),
            plan_text: String::new(),
            target,
            host: imp::Function::default(),
            kernels: Arena::new(),
        };
        imp::Entry {
            symbol: "k_4spmv_SpmvCSR".into(),
            sites,
            units: vec![unit("rows", Cpu), unit("serial", Cpu), unit("warp", Device)],
        }
    }

    fn module(self, vouched: bool) -> String {
        let entry = self.entry();
        let mut program = self.program.clone();
        let func = program.funcs.push(self.func.clone());
        program.entries.push(func);
        let stems = OrdMap::from([(self.file, "spmv".to_owned())]);
        let options = Options { isas: &[Isa::V4, Isa::V2], vouched, stems: &stems };
        module(
            &program,
            &self.sources,
            "spmv",
            &[EntryInfo { func, entry: &entry, dispatch: &Dispatch::default() }],
            &options,
        )
    }
}

/// The lines of `text` without indentation, from one that holds `start` to the next that is `end`.
fn part<'a>(text: &'a str, start: &str, end: &str) -> Vec<&'a str> {
    let lines = text.lines().map(str::trim).skip_while(|line| !line.contains(start));
    let mut part: Vec<&str> = Vec::new();
    for line in lines {
        part.push(line);
        if line == end {
            break;
        }
    }
    part
}

#[test]
fn the_signature_follows_the_header() {
    let text = Fixture::new().module(false);
    let expected = [
        "pub fn spmv_csr(",
        "cx: &::hidp_std::Context,",
        "rowptr: &(impl ::hidp_std::View<i32, 1> + ?Sized),",
        "val: &(impl ::hidp_std::View<f32, 1> + ?Sized),",
        "alpha: f32,",
        "r#match: &(impl ::hidp_std::View<i32, 1> + ?Sized),",
        "n: &mut i32,",
        "y: &mut (impl ::hidp_std::ViewMut<f32, 1> + ?Sized),",
        ") -> ::hidp_std::Result<(f32, Best)> {",
    ];
    assert_eq!(part(&text, "pub fn", ") -> ::hidp_std::Result<(f32, Best)> {"), expected);
    let body = part(&text, "let rowptr", "Ok((sum, best))");
    assert!(body.contains(&"let mut sum = 0.0_f32;"), "{body:#?}");
    assert!(body.contains(&"let mut best = Best::default();"), "{body:#?}");
    assert!(body.contains(&"let y = ::hidp_std::rt::Array::output(&entry_tables::SPMV_CSR, 5, y)?;"), "{body:#?}");
    assert!(body.contains(&"::hidp_std::rt::Arg::size_mut(n),"), "{body:#?}");
    assert!(body.contains(&"::hidp_std::rt::Arg::scalar(&alpha),"), "{body:#?}");
    assert!(body.iter().any(|line| line.starts_with("unsafe { ::hidp_std::rt::call::<8, 2>(")), "{body:#?}");
}

#[test]
fn comments_and_faults_are_documented() {
    let text = Fixture::new().module(false);
    let doc = part(&text, "/// Sparse", "pub fn spmv_csr(").join("\n");
    assert!(doc.contains("/// y = A x, see \\[1\\]"), "{doc}");
    assert!(doc.contains("| input `int rowptr[R+1]` | `rowptr` |"), "{doc}");
    assert!(doc.contains("| output `float _sum` | returned |"), "{doc}");
    assert!(doc.contains("- index outside its array: `y[rowptr[0]]` (line 7)"), "{doc}");
}

#[test]
fn tables_say_which_version_runs_when() {
    let fixture = Fixture::new();
    let (entry, mut program) = (fixture.entry(), fixture.program.clone());
    let (rows, steps) = (fixture.read(fixture.func.dims[0], "R+1"), fixture.func.params[2]);
    let func = program.funcs.push(fixture.func.clone());
    let inner = fixture.read(steps, "_alpha");
    let rowptr = fixture.func.params[0];
    let tunable = Tunable { name: "threads".into(), stage: Stage::Run, domain: vec![1, 2] };
    let dispatch = Dispatch {
        tunables: vec![tunable],
        settings: vec![VersionsSet {
            setting: Setting { name: "sum.least".into(), values: vec![16, 4096] },
            plans: vec!["serial".into()],
        }],
        measures: vec![
            Measure { name: "parallel", value: rows.clone(), of: MeasureOf::Shapes },
            Measure { name: "inner", value: inner, of: MeasureOf::Shapes },
            Measure {
                name: "longest",
                value: rows,
                of: MeasureOf::Longest(Bounds { low: (rowptr, 0), high: (rowptr, 1) }),
            },
        ],
        rules: vec![Rule {
            conditions: vec![
                Condition { measure: 0, least: true, bound: Bound::Fixed(4) },
                Condition { measure: 1, least: false, bound: Bound::PerThread(2) },
            ],
            plan: "serial".into(),
        }],
        classes: vec![0, 0, 1],
        parts: Some(Parts { dim: 1, besides: vec![Some(1), None], uneven: true }),
        positions: [fixture.func.params[0]].into(),
        hashes: vec!["a1".into(), "b2".into()],
        source: "1f".into(),
        device_source: "2f".into(),
        records: vec![Record {
            entry: "spmv::SpmvCSR".into(),
            source: "1f".into(),
            texts: ["device", "architecture", "vendor", "isa", "toolchain", "host", "rules", "versions"]
                .map(|key| (key, key.to_uppercase())),
            threads: 4,
        }],
    };
    let stems = OrdMap::from([(fixture.file, "spmv".to_owned())]);
    let options = Options { isas: &[Isa::Base], vouched: false, stems: &stems };
    let info = EntryInfo { func, entry: &entry, dispatch: &dispatch };
    let text = module(&program, &fixture.sources, "spmv", &[info], &options);
    let squeezed: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "Measure { name: \"parallel\", program: &[Op::Dim(0)] },",
        "Measure { name: \"longest\", program: &[Op::Dim(0), Op::Longest(&[SegmentBound { param: 0, elem: Elem::I32, offset: 0 }, \
         SegmentBound { param: 0, elem: Elem::I32, offset: 1 }])] },",
        "Rule { conditions: &[Condition { measure: 0, least: true, bound: Bound::Fixed(4) }, \
         Condition { measure: 1, least: false, bound: Bound::PerThread(2) }], version: 1, settings: Settings::USUAL },",
        "plan: \"rows\", hash: \"a1\",",
        "classes: &[0, 0, 1], parts: Some(Parts { dim: 1, besides: &[Some(1), None], uneven: true }),",
        "tunables: &[Tunable { name: \"threads\", domain: &[1, 2] }],",
        "settings: &[Setting { name: \"sum.least\", values: &[16, 4096], versions: &[1] }],",
        "::hidp_std::rt::call::<8, 3>(cx, &entry_tables::SPMV_CSR, args)",
        "source: \"1f\", toolchain: super::super::TOOLCHAIN, device_source: \"2f\", \
         device_toolchain: super::super::DEVICE_TOOLCHAIN, kernels: super::super::NAMES,",
        "pub(super) const NAMES: &[&str] = &[\"spmv::SpmvCSR\"];",
        "Record { source: \"1f\", threads: 4, device: \"DEVICE\", architecture: \"ARCHITECTURE\", vendor: \"VENDOR\", \
         isa: \"ISA\", toolchain: \"TOOLCHAIN\", host: \"HOST\", rules: \"RULES\", versions: \"VERSIONS\"",
        "name: \"rowptr\", reads: true, writes: false, elem: Elem::I32, positions: true,",
        "name: \"val\", reads: true, writes: false, elem: Elem::F32, positions: false,",
        "pub(super) static ENTRIES: &[&::hidp_std::rt::entry::Entry] = &[&entry_tables::SPMV_CSR];",
        "::hidp_std::rt::Arg::size(&alpha),", // measures use its value
    ] {
        assert!(squeezed.contains(expected), "{expected}\n{squeezed}");
    }
}

#[test]
fn tables_describe_extents_versions_and_sites() {
    let text = Fixture::new().module(false);
    let squeezed: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "fn hidp2_k_4spmv_SpmvCSR_rows_v4(call: *mut hidp_call) -> i32;",
        "fn hidp2_k_4spmv_SpmvCSR_serial_v2(call: *mut hidp_call) -> i32;",
        "name: \"spmv::SpmvCSR\",",
        "shape: &[&[Op::Dim(0), Op::Const(1), Op::Add]], shape_text: &[\"R+1\"]",
        "shape: &[&[Op::Scalar(4)]],",
        "name: \"_sum\", reads: false, writes: true, elem: Elem::F32, positions: false, shape: &[], shape_text: &[]",
        "dims: &[\"R\", \"Z\"],",
        "Code { isa: Isa::V4, function: hidp2_k_4spmv_SpmvCSR_rows_v4 },",
        "fn hidp2_k_4spmv_SpmvCSR_warp_cuda(call: *mut hidp_call) -> i32;",
        "plan: \"warp\", hash: \"\", code: Codes::Device(hidp2_k_4spmv_SpmvCSR_warp_cuda),",
        "file: \"kernels/spmv.hdp\", line: 7, column: 3, text: \"y[rowptr[0]]\", kind: 1,",
        "names: &[\"rowptr[0]\", \"\", \"\"]",
    ] {
        assert!(squeezed.contains(expected), "{expected} is not in\n{text}");
    }
    let plans: Vec<&str> = text.lines().map(str::trim).filter(|line| line.starts_with("plan:")).collect();
    assert_eq!(plans, ["plan: \"rows\",", "plan: \"serial\",", "plan: \"warp\","]);
}

#[test]
fn structs_have_the_layout_of_c() {
    let text = Fixture::new().module(false);
    let item = part(&text, "/// The best.", "}");
    let expected = ["pub struct Best {", "/// `v`", "pub v: f32,", "/// `type`", "pub r#type: bool,", "}"];
    assert!(item.contains(&"#[repr(C)]"), "{item:#?}");
    assert!(item.ends_with(&expected), "{item:#?}");
    assert!(text.contains("unsafe impl ::hidp_std::Zeroed for Best {}"), "{text}");
}

#[test]
fn structs_of_other_files_are_used_from_there() {
    let mut fixture = Fixture::new();
    let other = fixture.sources.add("kernels/ops.hdp", "struct Best {}");
    fixture.program.structs[StructId::new(0)].span = Span::new(other, 0, 6);
    let entry = fixture.entry();
    let mut program = fixture.program.clone();
    let func = program.funcs.push(fixture.func.clone());
    let stems = OrdMap::from([(fixture.file, "spmv".to_owned()), (other, "ops".to_owned())]);
    let options = Options { isas: &[Isa::Base], vouched: false, stems: &stems };
    let spmv = module(
        &program,
        &fixture.sources,
        "spmv",
        &[EntryInfo { func, entry: &entry, dispatch: &Dispatch::default() }],
        &options,
    );
    assert!(spmv.contains("super::ops::Best") && !spmv.contains("pub struct"), "{spmv}");
    let ops = module(&program, &fixture.sources, "ops", &[], &options);
    assert!(ops.contains("pub struct Best") && !ops.contains("entry_tables"), "{ops}");
}

/// A fixture that calls a native function.
fn with_native() -> Fixture {
    let mut fixture = Fixture::new();
    let span = fixture.span("y[rowptr[0]]");
    let native = ScalarFn {
        name: "my_less".into(),
        params: Vec::new(),
        result: Ty::BOOL,
        vars: Arena::new(),
        body: None,
        contract: true,
        span,
    };
    let native: ScalarFnId = fixture.program.scalar_fns.push(native);
    let cond = Expr { kind: ExprKind::Call(native, Vec::new()), ty: Ty::BOOL, span };
    let kind = StmtKind::If { cond, then: Block::default(), otherwise: Block::default() };
    fixture.func.body.stmts.push(Stmt { kind, span });
    fixture
}

#[test]
fn only_what_the_compiler_cannot_check_is_unsafe() {
    assert!(Fixture::new().module(false).contains("pub fn spmv_csr("));
    let text = with_native().module(false);
    assert!(text.contains("pub unsafe fn spmv_csr(") && text.contains("/// # Safety"), "{text}");
    assert!(text.contains("`my_less`"), "{text}");
    assert!(with_native().module(true).contains("pub fn spmv_csr("), "vouched for");
    let mut fixture = with_native();
    fixture.func.unchecked = true;
    assert!(fixture.module(true).contains("pub unsafe fn spmv_csr("), "nobody vouches for indices");
}

#[test]
fn narrow_arithmetic_in_extents_is_checked() {
    let mut fixture = Fixture::new();
    let span = fixture.span("R+1");
    let ty = Ty::Scalar(Scalar::U8);
    let two = Expr { kind: ExprKind::Const(Const::Int(2)), ty, span };
    let u8s = Expr { kind: ExprKind::Read(fixture.func.params[4]), ty, span };
    let product = ExprKind::Binary { op: BinOp::Mul, left: Box::new(u8s), right: Box::new(two), checked: false };
    let product = Expr { kind: product, ty, span };
    let kind = ExprKind::Convert { operand: Box::new(product), mode: ConvertMode::Cast };
    let rowptr = fixture.func.params[0];
    fixture.func.vars[rowptr].shape = vec![Expr { kind, ty: Ty::LONG, span }];
    let text = fixture.module(false);
    assert!(text.contains("&[Op::Scalar(4), Op::Const(2), Op::Mul, Op::InRange(0, 255)]"), "{text}");
}

#[test]
fn broken_programs_show_messages_and_have_functions_to_call() {
    let text = "static function helper input int x[N]; { }\nstruct Best { int i; }\n\
                function saxpy input float _a, x[N]; inout float y[N], _b; output double _s, _t; { y = ; }\n\
                function best input int x[N]; output Best b; { }\nfunction Nothing { }";
    let mut sources = SourceMap::new();
    let id = sources.add("match.hdp", text);
    let file = hidp_syntax::parse(&sources, id, &mut hidp_syntax::diag::Sink::new());
    let text = broken(&["hidp_error_1.txt".into()], &[("match", &file)]);
    assert!(text.contains("::core::compile_error!(::core::include_str!(\"hidp_error_1.txt\"));\n"), "{text}");
    assert!(text.contains("pub mod r#match {"), "{text}");
    let saxpy = "pub fn saxpy<T0, T1, T2, T3>(_cx: &::hidp_std::Context, _0: T0, _1: T1, _2: T2, _3: T3) \
                 -> ::hidp_std::Result<(f64, f64)> {";
    assert!(text.contains(saxpy), "{text}");
    assert!(text.contains("pub fn nothing<>(_cx: &::hidp_std::Context) -> ::hidp_std::Result {"), "{text}");
    assert!(!text.contains("helper") && !text.contains("fn best"), "{text}");
}

#[test]
fn libraries_are_linked_by_the_generated_file() {
    let libraries =
        [Library { name: "hidp_kernels_x".into(), is_static: true }, Library { name: "gomp".into(), is_static: false }];
    let text = links(&libraries, &Toolchains { cpu: "g++ 12".into(), device: "nvcc 13".into() });
    assert!(text.contains("const TOOLCHAIN: &str = \"g++ 12\";"), "{text}");
    assert!(text.contains("#[link(name = \"hidp_kernels_x\", kind = \"static\")]\nunsafe extern \"C\" {}"), "{text}");
    assert!(text.contains("#[link(name = \"gomp\")]"), "{text}");
}
