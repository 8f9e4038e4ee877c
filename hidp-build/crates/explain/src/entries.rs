//! The report on an entry, for people and for tools: shapes, fusion, remaining checks, plans and the fate of other candidates, costs,
//! and the generated code.

mod accesses;
mod codelets;
mod json;
mod kernels;
mod recurrences;
mod searched;
mod text;
mod work;

use crate::traffic::Resources;
use accesses::AccessFacts;
use codelets::Codelets;
use hidp_build::compiler::pipeline::{
    Lowered, Options, PipelineInput, alternatives, device_plans_of, lower_entry, plans_of,
};
use hidp_emit::{cuda, openmp};
use hidp_ir::imp;
use hidp_ir::par::{self, FuncId, Program, shape};
use hidp_pass::{assume, fuse};
use hidp_plan::target::{DeviceModel, Model};
use hidp_plan::{
    Candidate, Cost, Dispatch, Explored, Fate, Measure, MeasureOf, Models, Plan, Shown, Strategy, array_homes,
    as_directives, cost, expanded, explore, explore_device, nests, pinned, wide,
};
use hidp_prove as prove;
use hidp_syntax::source::{SourceMap, Span};
use kernels::PlanKernels;
use recurrences::Recurrences;

/// What an explanation contains besides the summary, and its format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// `par` after all passes.
    pub par: bool,
    /// `imp`, one unit per plan.
    pub imp: bool,
    /// The generated C++.
    pub source: bool,
    /// What directives pin, as lines of plans.
    pub expanded: bool,
    /// The format.
    pub format: Format,
}

/// The format of an explanation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Text.
    #[default]
    Plain,
    /// Text with colours for a terminal.
    Colour,
    /// A JSON list with one object per entry.
    Json,
    /// Only the plans, as a file that pins them.
    Pin,
    /// Only the preferred plans, as directives that pin them.
    PinDirectives,
}

/// The explanation of one entry.
struct Explanation {
    name: String,
    place: String,
    /// What directives pin, as lines, if that is asked for or for tools.
    expanded: Vec<String>,
    /// The preferred plan of each target as directives, if that is asked for or for tools.
    directives: Vec<String>,
    /// Recurrences that it uses, and how they are computed.
    recurrences: Vec<String>,
    /// The ways of these that are taken, as lines.
    courses: Vec<String>,
    /// Codelets that it could take, and what became of them.
    codelets: Vec<String>,
    nests: Vec<NestFacts>,
    /// Nests that were not fused, and why.
    apart: Vec<String>,
    /// Where nests stand that run without tests if some hold before them, and what these are.
    tested: Vec<Tested>,
    /// Tests that are made inside nests even so.
    checks: Vec<Check>,
    plans: Vec<Plan>,
    /// Those of its other forms, for all targets.
    composed: Vec<Plan>,
    /// Whether a file pins the plans.
    pinned: bool,
    /// Levels of a GPU and what became of them, and the plans for it; or why GPUs are left out.
    device: Result<Explored, String>,
    /// What the search for mappings of each nest finds, if devices are not left out.
    searched: Vec<String>,
    /// The kernels of those plans.
    kernels: Vec<PlanKernels>,
    /// For each of those plans, where arrays of iterations are.
    homes: Vec<(String, Vec<String>)>,
    /// Names of measures, and what they are.
    measures: Vec<(&'static str, String)>,
    rules: Vec<String>,
    /// What is taken for granted of how much launches have to do.
    work: Vec<String>,
    /// Tunables of a call, and their domains.
    tunables: Vec<(String, Vec<i64>)>,
    versions: Vec<Version>,
    /// Titles and texts of what else was wanted.
    more: Vec<(&'static str, String)>,
}

/// A version, and what it consists of.
struct Version {
    plan: String,
    kernels: usize,
    /// Bytes that the threads of a block share, of the kernel with most of them; without those of primitives.
    shared: usize,
}

struct NestFacts {
    shape: String,
    candidates: Vec<Candidate>,
    /// Sizes beyond which iterations in lanes run in order instead.
    limits: Vec<String>,
    bytes: String,
    flops: String,
    accesses: Vec<AccessFacts>,
}

/// What is tested before a nest.
struct Tested {
    place: String,
    conditions: Vec<String>,
}

/// A check that remains.
struct Check {
    place: String,
    text: String,
    reason: String,
}

/// Explains entries of a program that went through all passes, with what the device's compiler made of their kernels, as far as it
/// was asked, or without devices, for a reason. Ends in a line break.
pub(crate) fn entries(
    input: &PipelineInput,
    program: &Program,
    funcs: &[FuncId],
    wanted: Wanted,
    resources: Result<&[Resources], &str>,
) -> String {
    let (known, codelets) = (Recurrences::of(input), Codelets::of(input));
    let explanations = funcs.iter().map(|&func| Explanation {
        recurrences: known.lines(&program.funcs[func].name),
        courses: known.pin(&program.funcs[func].name),
        codelets: [codelets.lines(&program.funcs[func].name), codelets::left_out(input, program, func)].concat(),
        ..explanation(input, program, func, wanted, resources)
    });
    match wanted.format {
        Format::Plain | Format::Colour => {
            let colour = wanted.format == Format::Colour;
            explanations.map(|explanation| explanation.text(colour)).collect::<Vec<_>>().join("\n")
        }
        Format::Json => json::list(&explanations.collect::<Vec<_>>()),
        Format::PinDirectives => {
            explanations.map(|explanation| explanation.pin_directives()).collect::<Vec<_>>().join("\n")
        }
        Format::Pin => explanations.map(|explanation| explanation.pin()).collect::<Vec<_>>().join("\n"),
    }
}

fn explanation(
    input: &PipelineInput,
    program: &Program,
    func: FuncId,
    wanted: Wanted,
    resources: Result<&[Resources], &str>,
) -> Explanation {
    let (model, device, item) = (Model::cpu(), DeviceModel::cuda(), &program.funcs[func]);
    let models = Models { cpu: &model, device: &device };
    let pins = pinned(program, &input.sources, &input.options.pins, func, models);
    let lowered = lower_entry(input, program, func, &model);
    let explored = explore(program, func, &model, input.options.limits);
    let print = |expr: Option<par::Expr>| {
        expr.map_or("unknown".to_owned(), |expr| par::text::hidp_expr(program, &item.vars, &expr))
    };
    let nests = nests(item).into_iter().enumerate().map(|(at, map)| {
        let Cost { bytes, flops } = cost(program, item, map);
        let rows = || explored.candidates.iter().filter(|row| row.nest == Some(at));
        let is_wide = rows().any(|row| row.name == Strategy::Wide.name() && row.fate == Fate::Kept);
        NestFacts {
            shape: shape::nested(map).print(program, &item.vars).to_string(),
            candidates: placed(&input.sources, rows()),
            limits: if is_wide { limits(program, item, map) } else { Vec::new() },
            bytes: print(bytes),
            flops: print(flops),
            accesses: accesses::accesses(&input.sources, program, item, map),
        }
    });
    let nests = nests.collect();
    let shown = |shown: Shown| {
        let head = format!("{}, nest at {}", shown.target, place(&input.sources, shown.at));
        std::iter::once(head).chain(shown.lines.into_iter().map(|line| format!("  {line}")))
    };
    let in_json = wanted.format == Format::Json;
    let expanded = if wanted.expanded || in_json { expanded(program, func) } else { Vec::new() };
    let preferred = |plans: Vec<Plan>| plans.into_iter().next();
    let preferred = match wanted.format {
        Format::PinDirectives | Format::Json => [
            preferred(plans_of(input, program, func, &model)),
            preferred(device_plans_of(input, program, func, models)),
        ],
        Format::Plain | Format::Colour | Format::Pin => [None, None],
    };
    let directives = preferred.into_iter().flatten();
    let directives = directives.flat_map(|plan| as_directives(program, func, &plan, models)).flat_map(shown).collect();
    let dispatch = &lowered.dispatch;
    let otherwise = lowered.entry.units.first().map(|unit| format!("otherwise: {}", unit.plan));
    Explanation {
        name: item.name.clone(),
        place: place(&input.sources, item.span),
        expanded: expanded.into_iter().flat_map(shown).collect(),
        directives,
        recurrences: Vec::new(),
        courses: Vec::new(),
        codelets: Vec::new(),
        nests,
        apart: apart(&input.sources, program, func),
        tested: tested(&input.sources, program, func),
        checks: checks(&input.sources, program, func),
        plans: plans_of(input, program, func, &model),
        composed: {
            let mut all = alternatives::all(input, program, func, &model).plans;
            if resources.is_ok() {
                all.extend(alternatives::all_of_devices(input, program, func, models));
            }
            all.into_iter().filter(|(form, _)| *form != func).flat_map(|(_, plans)| plans).collect()
        },
        pinned: pins.is_some_and(|pins| !pins.cpu.is_empty()),
        device: resources.map_err(str::to_owned).map(|_| {
            let Options { limits, natives, .. } = input.options;
            let plans = device_plans_of(input, program, func, models);
            let found = explore_device(program, func, &device, limits, natives);
            Explored { plans, candidates: placed(&input.sources, found.candidates.iter()) }
        }),
        searched: match resources {
            Ok(_) => searched::lines(program, item, &device),
            Err(_) => Vec::new(),
        },
        kernels: resources.map(|found| kernels::kernels(program, &lowered.entry, found)).unwrap_or_default(),
        homes: match resources {
            Ok(_) => homes(program, item, &device_plans_of(input, program, func, models), &device),
            Err(_) => Vec::new(),
        },
        measures: dispatch.measures.iter().map(|measure| (measure.name, meaning(program, func, measure))).collect(),
        rules: dispatch.rules.iter().map(|rule| dispatch.print(rule)).chain(otherwise).collect(),
        work: work::lines(&input.sources, &lowered.entry),
        tunables: tunables(dispatch),
        versions: lowered.entry.units.iter().map(|unit| version(program, unit)).collect(),
        more: more(input, program, lowered, wanted),
    }
}

/// Where each plan has the arrays of iterations that are not small ones of a lane; plans without such are left out.
fn homes(program: &Program, func: &par::Func, plans: &[Plan], model: &DeviceModel) -> Vec<(String, Vec<String>)> {
    let of_plan = |plan: &Plan| (plan.name.clone(), array_homes(program, func, plan, model));
    plans.iter().map(of_plan).filter(|(_, lines)| !lines.is_empty()).collect()
}

/// What calls set, and the values of it.
fn tunables(dispatch: &Dispatch) -> Vec<(String, Vec<i64>)> {
    let of_threads = dispatch.tunables.iter();
    let of_threads = of_threads.map(|t| (t.name.clone(), t.domain.iter().copied().map(i64::from).collect()));
    let of_codelets = dispatch.settings.iter().map(|set| (set.setting.name.clone(), set.setting.values.clone()));
    of_threads.chain(of_codelets).collect()
}

fn version(program: &Program, unit: &imp::Unit) -> Version {
    let shared = unit.kernels.iter().map(|(_, kernel)| imp::shared_bytes(program, &kernel.function));
    Version { plan: unit.plan.clone(), kernels: unit.kernels.len(), shared: shared.max().unwrap_or(0) }
}

fn place(sources: &SourceMap, span: Span) -> String {
    let at = sources.position(span);
    format!("{}:{}:{}", sources.file(span.file).name(), at.line, at.column)
}

/// Candidates whose refusals name the statement that they are for, and its line.
fn placed<'a>(sources: &SourceMap, candidates: impl Iterator<Item = &'a Candidate>) -> Vec<Candidate> {
    let placed = |candidate: &Candidate| {
        let mut candidate = candidate.clone();
        if let Fate::Excluded(refusal) = &mut candidate.fate {
            let text = shortened(sources.snippet(refusal.at));
            refusal.why = format!("{}, at {} `{text}`", refusal.why, place(sources, refusal.at)).into();
        }
        candidate
    };
    candidates.map(placed).collect()
}

/// Where whole iterations do not run in lanes.
fn limits(program: &Program, func: &par::Func, map: &par::Map) -> Vec<String> {
    let line = |limit: &wide::Limit| {
        let name = &func.vars[limit.array].name;
        match limit.taken {
            wide::Taken::Elements(most) => {
                format!("wide runs in order where an iteration has more than {most} elements of `{name}`")
            }
            wide::Taken::Rows => format!("wide runs in order where iterations have no row of `{name}`"),
        }
    };
    let mut lines: Vec<String> = wide::limits(program, func, map).iter().map(line).collect();
    lines.dedup();
    lines
}

/// Letters of a statement that are shown.
const SHOWN: usize = 48;

/// The beginning of a statement, on one line.
fn shortened(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    if line.chars().count() <= SHOWN { line } else { line.chars().take(SHOWN).chain(['…']).collect() }
}

fn apart(sources: &SourceMap, program: &Program, func: FuncId) -> Vec<String> {
    let notes = fuse::report(program, &program.funcs[func]);
    let line = |note: &fuse::Note| {
        format!("{} and {}: {}", place(sources, note.first), place(sources, note.second), note.reason)
    };
    notes.iter().map(line).collect()
}

fn tested(sources: &SourceMap, program: &Program, func: FuncId) -> Vec<Tested> {
    let func = &program.funcs[func];
    let print = |condition: &par::Expr| par::text::hidp_expr(program, &func.vars, condition);
    let all = assume::tested(&func.body).into_iter();
    all.map(|assume::Tested { nest, conditions }| Tested {
        place: place(sources, nest),
        conditions: conditions.iter().map(print).collect(),
    })
    .collect()
}

/// Those of nests that stand twice are made where what is tested before does not hold.
fn checks(sources: &SourceMap, program: &Program, func: FuncId) -> Vec<Check> {
    let mut tested = program.clone();
    assume::where_all_holds(&mut tested.funcs[func].body);
    let remaining = prove::remaining(&tested, func);
    let check = |check: &prove::RemainingCheck| Check {
        place: place(sources, check.span),
        text: sources.snippet(check.span).replace('\n', " "),
        reason: check.reason.clone(),
    };
    remaining.iter().map(check).collect()
}

fn meaning(program: &Program, func: FuncId, measure: &Measure) -> String {
    let vars = &program.funcs[func].vars;
    let value = par::text::hidp_expr(program, vars, &measure.value);
    match measure.of {
        MeasureOf::Shapes => value,
        MeasureOf::Longest(bounds) => {
            let [low, high] = [bounds.low, bounds.high].map(|(var, _)| &vars[var].name);
            format!("longest of the {value} segments in `{low}` and `{high}`")
        }
        MeasureOf::Balance(_) => "elements of all segments / longest".to_owned(),
        MeasureOf::Work => format!("{value}, as vector lanes compute"),
        MeasureOf::Copied => "bytes of the host's arrays that are read, and written".to_owned(),
        MeasureOf::Intensity => "1024 * operations / copied".to_owned(),
    }
}

fn more(input: &PipelineInput, program: &Program, lowered: Lowered, wanted: Wanted) -> Vec<(&'static str, String)> {
    let mut more = Vec::new();
    if wanted.par {
        more.push(("parallel form", par::print(program)));
    }
    if wanted.imp {
        more.push(("imperative form", imp::print(program, &lowered.entry)));
    }
    if wanted.source {
        let native_headers = input.options.native_headers.clone();
        let options = openmp::Options { line_directives: false, native_headers, numbers: false };
        let entries = [lowered.entry];
        more.push(("generated C++", openmp::module(program, &input.sources, "explained", &entries, &options)));
        let cuda = cuda::module(program, &input.sources, "explained", &entries, &options);
        more.extend(cuda.map(|text| ("generated CUDA", text)));
    }
    more
}
