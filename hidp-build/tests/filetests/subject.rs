//! A program on its way from source to compiled code, each stage of which can be called.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ffi::c_void;

use hidp_build::compiler::diag::{Diagnostic, Sink};
use hidp_build::compiler::emit::c_like::name;
use hidp_build::compiler::emit::{cuda, openmp};
use hidp_build::compiler::index::Id;
use hidp_build::compiler::ir::imp::{self, UnitTarget};
use hidp_build::compiler::ir::par::interp::{self, Arg, Error};
use hidp_build::compiler::ir::par::{ExprKind, Func, FuncId, Program, VarId, VarKind};
use hidp_build::compiler::lower::{Defect, lower};
use hidp_build::compiler::pipeline::{InputFile, PipelineInput, front, lower_entry, optimise};
use hidp_build::compiler::plan::{
    Candidate, Fate, Limits, Models, PinFile, Strategy, check_directives, check_pins, explore,
};
use hidp_build::compiler::source::Span;
use hidp_build::compiler::syntax::ast::Direction;
use hidp_build::compiler::target::{DeviceModel, Model};
use hidp_build::compiler::ty::Ty;
use hidp_sys::hidp_fault;

use crate::answers;
use crate::device::{Device, Ended};
use crate::memory::{Block, layout};
use crate::native::{Context, Kernels, targets};
use crate::natives;
use crate::record;
use crate::run::is_full;
use crate::same;
use crate::turns::Share;

/// Most steps of the interpreter; what takes more is compared with stated results only.
const FUEL: u64 = 30_000_000;

/// A file, compiled as far as C++.
pub(crate) struct Subject {
    pub(crate) stem: String,
    input: PipelineInput,
    /// As checked.
    original: Program,
    /// After all passes.
    program: Program,
    pub(crate) entries: Vec<Entry>,
    pub(crate) cpp: String,
    /// CUDA, if any entry has a version for a device.
    pub(crate) cu: Option<String>,
}

/// What a case says whose variants are of interest on processors.
const ON_PROCESSORS: &str = "// variants on processors";

/// What a case says whose large outputs are written past the caches from few bytes on.
const STREAMS: &str = "// streams early";

/// The usual model, or one that streams outputs of this many bytes.
fn model_for(text: &str) -> Model {
    let model = Model::cpu();
    let stream = if text.lines().any(|line| line == STREAMS) { 512 } else { model.stream };
    Model { stream, ..model }
}

/// Leaves the versions for devices out that a build without variants does not have.
fn without_variants_on_devices(
    code: &mut imp::Entry,
    input: &PipelineInput,
    program: &Program,
    func: FuncId,
    model: &Model,
) {
    let mut plain = input.clone();
    plain.options.limits.variants = false;
    let plain = lower_entry(&plain, program, func, model).entry;
    let is_plain = |unit: &imp::Unit| plain.units_for(UnitTarget::Device).any(|kept| kept.plan == unit.plan);
    code.units.retain(|unit| unit.target == UnitTarget::Cpu || is_plain(unit));
}

/// A function that can be called.
pub(crate) struct Entry {
    before: FuncId,
    after: FuncId,
    pub(crate) code: imp::Entry,
}

/// What came of a call.
pub(crate) enum Outcome {
    /// The arguments afterwards.
    Results(Vec<Arg>),
    /// A fault.
    Fault(interp::Fault),
    /// The interpreter gave up.
    Unknown,
}

/// A call's arguments, dimensions and what the interpreter makes of them.
pub(crate) struct Request {
    pub(crate) args: Vec<Arg>,
    pub(crate) dims: Vec<i64>,
    pub(crate) expected: Outcome,
    /// Which plans for devices are called.
    pub(crate) share: Share,
    /// The arguments as code sees them, once a call was made.
    blocks: OnceCell<Vec<Block>>,
}

impl Request {
    pub(crate) fn new(args: Vec<Arg>, dims: Vec<i64>, expected: Outcome) -> Request {
        Request { args, dims, expected, share: Share::Every, blocks: OnceCell::new() }
    }

    pub(crate) fn with(self, share: Share) -> Request {
        Request { share, ..self }
    }
}

impl Subject {
    pub(crate) fn compile(name: &str, text: &str) -> Result<Subject, String> {
        Subject::compile_with(name, text, None)
    }

    /// The same with a file of pinned plans.
    pub(crate) fn compile_with(name: &str, text: &str, plans: Option<&str>) -> Result<Subject, String> {
        let (input, original, program) = optimised(name, text, plans, targets().devices)?;
        let model = model_for(text);
        let mut wrong = Sink::new();
        let models = Models { cpu: &model, device: &DeviceModel::cuda() };
        check_pins(&program, &input.sources, &input.options.pins, models, &mut wrong);
        check_directives(&program, models, &mut wrong);
        if wrong.has_errors() {
            let said = |d: Diagnostic| format!("{}: {}", d.headline, d.primary.text);
            let texts: Vec<String> = wrong.finish().into_iter().map(said).collect();
            return Err(format!("plans are not as they are pinned: {}", texts.join("\n")));
        }
        let lowered = |after| {
            let mut lowered = lower_entry(&input, &program, after, &model);
            if text.lines().any(|line| line == ON_PROCESSORS) && !is_full() {
                without_variants_on_devices(&mut lowered.entry, &input, &program, after, &model);
            }
            Some((lowered.entry, lowered.defects))
        };
        let entries = entries(&original, &program, lowered)?;
        Ok(Subject::of((input, original, program), entries))
    }

    /// Those entries that have nests which can run under a strategy, with this plan alone, whatever it promises. Nothing if there are none.
    pub(crate) fn forced(name: &str, text: &str, strategy: Strategy) -> Result<Option<Subject>, String> {
        let (input, original, program) = optimised(name, text, None, false)?;
        let model = Model::cpu();
        // With variants it does not matter what is gained.
        let limits = Limits { most: usize::MAX, variants: true, ..input.options.limits };
        let lowered = |after: FuncId| {
            let explored = explore(&program, after, &model, limits);
            let is_kept = |row: &Candidate| row.name == strategy.name() && row.nest.is_some() && row.fate == Fate::Kept;
            let plan = explored.plans.iter().find(|plan| plan.name == strategy.name());
            let plan = plan.filter(|_| explored.candidates.iter().any(is_kept))?;
            let symbol = format!("forced_{}_{}", input.files[0].stem, program.funcs[after].name);
            Some(lower(&program, after, &symbol, std::slice::from_ref(plan), &model))
        };
        let entries = entries(&original, &program, lowered)?;
        Ok((!entries.is_empty()).then(|| Subject::of((input, original, program), entries)))
    }

    fn of((input, original, program): (PipelineInput, Program, Program), entries: Vec<Entry>) -> Subject {
        let stem = input.files[0].stem.clone();
        let codes: Vec<imp::Entry> = entries.iter().map(|entry| entry.code.clone()).collect();
        let native_headers = input.options.native_headers.clone();
        let options = openmp::Options { line_directives: true, native_headers, numbers: true };
        let cpp = openmp::module(&program, &input.sources, &stem, &codes, &options);
        let cu = cuda::module(&program, &input.sources, &stem, &codes, &options);
        Subject { stem, input, original, program, entries, cpp, cu }
    }

    /// The entry of this name.
    pub(crate) fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| self.func(entry).name == name)
    }

    /// CUDA with one plan of one entry, as a build has it.
    pub(crate) fn cuda_of(&self, entry: &Entry, unit: &imp::Unit) -> String {
        let code = imp::Entry { units: vec![unit.clone()], ..entry.code.clone() };
        let options = openmp::Options { line_directives: false, native_headers: Vec::new(), numbers: false };
        cuda::module(&self.program, &self.input.sources, &self.stem, &[code], &options).expect("a plan for devices")
    }

    /// What code of an entry's plan is called.
    pub(crate) fn symbol(&self, entry: &Entry, unit: &imp::Unit) -> String {
        name::host(&entry.code, unit)
    }

    /// Whether plans of such a file fit.
    pub(crate) fn takes(&self, plans: &str) -> bool {
        let mut sources = self.input.sources.clone();
        let pins = [PinFile { program: self.input.files[0].id, plans: sources.add("more.plan", plans) }];
        let (cpu, device) = (Model::cpu(), DeviceModel::cuda());
        let mut wrong = Sink::new();
        check_pins(&self.program, &sources, &pins, Models { cpu: &cpu, device: &device }, &mut wrong);
        !wrong.has_errors()
    }

    /// The program as checked.
    pub(crate) fn original(&self) -> &Program {
        &self.original
    }

    /// The program after all passes, which plans are of.
    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    /// The function as checked.
    pub(crate) fn func(&self, entry: &Entry) -> &Func {
        &self.original.funcs[entry.before]
    }

    /// Asks the interpreter, for small arguments also about what the passes made of the function.
    pub(crate) fn request(&self, entry: &Entry, args: Vec<Arg>, dims: Vec<i64>) -> Result<Request, String> {
        let small = dims.iter().all(|&dim| dim < 1000) && dims.iter().product::<i64>() < 3000;
        let options = interp::Options {
            fuel: Some(FUEL),
            races: small,
            natives: natives::functions(),
            ..interp::Options::default()
        };
        let expected = interpret(&self.original, entry.before, &args, &options)?;
        let request = Request::new(args, dims, expected);
        if small && !matches!(request.expected, Outcome::Unknown) {
            let found = interpret(&self.program, entry.after, &request.args, &options);
            found
                .and_then(|found| self.agree(entry, &request, &found, false))
                .map_err(|why| format!("passes: {why}"))?;
        }
        Ok(request)
    }

    /// The fault that is stated as its kind and values, where the interpreter cannot say at which place: there must be only one.
    pub(crate) fn only_fault(&self, entry: &Entry, stated: &str) -> Result<interp::Fault, String> {
        let (kind, values) = stated.split_once(' ').ok_or("a fault without values")?;
        let values = values.trim_matches(['[', ']']).split(", ").filter(|value| !value.is_empty());
        let values = values.map(str::parse).collect::<Result<Vec<i64>, _>>().map_err(|error| error.to_string())?;
        let mut sites = entry.code.sites.iter().map(|(_, site)| site).filter(|site| format!("{:?}", site.kind) == kind);
        let site = sites.next().ok_or_else(|| format!("nothing faults with {kind}"))?;
        match sites.all(|other| other.span == site.span) {
            true => Ok(interp::Fault { kind: site.kind, span: site.span, values }),
            false => Err(format!("the interpreter does not end, and {kind} may be at several places")),
        }
    }

    /// The call with what must come of it, as a file holds it. `stated` are parameters of which something is known where the
    /// interpreter gave up.
    pub(crate) fn answer(
        &self,
        entry: &Entry,
        request: &Request,
        stated: &[(usize, Arg)],
        exact: bool,
    ) -> answers::Call {
        let func = self.func(entry);
        let after = |number: usize| match &request.expected {
            Outcome::Results(args) => args.get(number),
            Outcome::Unknown => stated.iter().find(|(position, _)| *position == number).map(|(_, arg)| arg),
            Outcome::Fault(_) => None,
        };
        let blocks = self.blocks(entry, request);
        let params = func.params.iter().zip(&request.args).zip(blocks).enumerate();
        let args = params.map(|(number, ((&param, arg), before))| {
            let var = &func.vars[param];
            let written = matches!(var.kind, VarKind::Param(Direction::Output | Direction::Inout));
            let after = after(number).filter(|_| written);
            record::argument(&self.program, var.ty, arg, before, after)
        });
        let fault = match &request.expected {
            Outcome::Fault(fault) => {
                let [line, column] = self.place(entry, fault.span);
                Some(answers::Fault { kind: fault.kind as u32, line, column, values: fault.values.clone() })
            }
            Outcome::Results(_) | Outcome::Unknown => None,
        };
        let name = format!("{}::{}", self.stem, func.name);
        answers::Call { entry: name, exact, dims: request.dims.clone(), args: args.collect(), fault }
    }

    /// Line and column of a fault; none where codelets compute the same otherwise, and fault at other places.
    fn place(&self, entry: &Entry, span: Span) -> [u32; 2] {
        if self.has_codelets(entry) {
            return [0, 0];
        }
        let place = self.input.sources.position(span);
        [place.line, place.column]
    }

    fn has_codelets(&self, entry: &Entry) -> bool {
        self.program.alternatives_of(entry.after).next().is_some()
    }

    /// What a program needs that calls the C++ and has no compiler: the entries' plans with their symbols, and the places of faults in
    /// order of their numbers. A line is `entry NAME`, `plan NAME SYMBOL` or `site KIND LINE COLUMN`.
    pub(crate) fn table(&self) -> String {
        let mut lines = Vec::new();
        for entry in &self.entries {
            lines.push(format!("entry {}::{}", self.stem, self.func(entry).name));
            for setting in self.program.settings_of(entry.after) {
                let values: Vec<String> = setting.values.iter().map(i64::to_string).collect();
                lines.push(format!("setting {}", values.join(" ")));
            }
            for unit in self.units(entry, imp::UnitTarget::Cpu) {
                lines.push(format!("plan {} {}_base", unit.plan, name::host(&entry.code, unit)));
            }
            for (_, site) in entry.code.sites.iter() {
                let [line, column] = self.place(entry, site.span);
                lines.push(format!("site {} {line} {column}", site.kind as u32));
            }
        }
        lines.join("\n") + "\n"
    }

    /// What the numbers in faults of compiled code stand for.
    pub(crate) fn places(&self) -> String {
        self.entries.iter().map(|entry| format!("{:?}\n", entry.code.sites)).collect()
    }

    /// A call's dimensions and settings: other values of these for other sizes.
    fn set(&self, entry: &Entry, request: &Request) -> Vec<i64> {
        let number = request.dims.iter().sum::<i64>() as usize;
        let settings = self.program.settings_of(entry.after).into_iter();
        let values = settings.map(|setting| setting.values[number % setting.values.len()]);
        request.dims.iter().copied().chain(values).collect()
    }

    /// Calls compiled code with one plan.
    pub(crate) fn call(
        &self,
        kernels: &Kernels,
        (entry, unit): (&Entry, &imp::Unit),
        request: &Request,
        context: &Context,
    ) -> Result<Outcome, String> {
        let mut blocks = self.blocks(entry, request).to_vec();
        let params: Vec<*mut c_void> = blocks.iter_mut().map(Block::address).collect();
        let symbol = name::host(&entry.code, unit);
        // SAFETY: the blocks have the shapes that the dimensions say, the interpreter checked that.
        let result = unsafe { kernels.call(context, &symbol, &params, &self.set(entry, request)) };
        self.outcome(entry, request, &blocks, result)
    }

    /// Calls device code with one plan. Arrays begin at multiples of 256 bytes, or an element later.
    pub(crate) fn call_on(
        &self,
        device: &Device<'_>,
        (entry, unit): (&Entry, &imp::Unit),
        request: &Request,
        later: bool,
    ) -> Result<Outcome, String> {
        let mut blocks = self.blocks(entry, request).to_vec();
        let is_array = |number: usize| matches!(request.args[number], Arg::Array(_));
        let mut params: Vec<*mut c_void> = blocks.iter_mut().map(Block::address).collect();
        let host = params.clone();
        for (number, param) in params.iter_mut().enumerate().filter(|(number, _)| is_array(*number)) {
            let bytes = blocks[number].length();
            let var = &self.func(entry).vars[self.func(entry).params[number]];
            let before = if later { layout(&self.program, var.ty).0 } else { 0 };
            let block = device.take(before + bytes);
            device.name(block, &format!("`{}`", var.name));
            *param = block.wrapping_byte_add(before);
            // SAFETY: the block has so many bytes.
            unsafe { device.copy_in(*param, host[number], bytes) };
        }
        // SAFETY: arrays are on the device; the shapes are what the dimensions say, the interpreter checked that.
        let result = unsafe { device.call(&name::host(&entry.code, unit), &params, &self.set(entry, request)) };
        let fault = match result {
            Ok(()) => Ok(()),
            Err(Ended::Fault(fault)) => Err(fault),
            Err(Ended::Wrong(reports)) => return Err(reports),
        };
        for (number, block) in blocks.iter_mut().enumerate().filter(|(number, _)| is_array(*number)) {
            // SAFETY: the block has so many bytes.
            unsafe { device.copy_out(block.address(), params[number], block.length()) };
        }
        self.outcome(entry, request, &blocks, fault)
    }

    fn types<'s>(&'s self, entry: &Entry) -> impl Iterator<Item = Ty> + 's {
        let func = self.func(entry);
        func.params.iter().map(|&param| func.vars[param].ty)
    }

    /// The arguments as code sees them.
    pub(crate) fn blocks<'r>(&self, entry: &Entry, request: &'r Request) -> &'r [Block] {
        let make = |(arg, ty)| Block::of(&self.program, ty, arg);
        request.blocks.get_or_init(|| request.args.iter().zip(self.types(entry)).map(make).collect())
    }

    /// What came of a call that left this in its arguments.
    pub(crate) fn outcome(
        &self,
        entry: &Entry,
        request: &Request,
        blocks: &[Block],
        result: Result<(), hidp_fault>,
    ) -> Result<Outcome, String> {
        if !blocks.iter().all(Block::intact) {
            return Err("wrote outside an argument".into());
        }
        let before = self.blocks(entry, request);
        let back = |(((block, before), arg), ty): (((&Block, &Block), &Arg), Ty)| {
            // Most arrays are read only.
            let is_as_before = matches!(arg, Arg::Array(_)) && block.argument() == before.argument();
            if is_as_before { arg.clone() } else { block.back(&self.program, ty, arg) }
        };
        let all = || blocks.iter().zip(before).zip(&request.args).zip(self.types(entry));
        Ok(match result {
            Ok(()) => Outcome::Results(all().map(back).collect()),
            Err(fault) => {
                // What a call that ends with a fault has done to outputs, nobody promises.
                let func = self.func(entry);
                let is_input = |param: &VarId| func.vars[*param].kind == VarKind::Param(Direction::Input);
                let changed = |((block, before), param): &((&Block, &Block), &VarId)| {
                    is_input(param) && block.argument() != before.argument()
                };
                if let Some((_, param)) = blocks.iter().zip(before).zip(&func.params).find(changed) {
                    return Err(format!("wrote to the input `{}` before the fault", func.vars[*param].name));
                }
                let site = &entry.code.sites[Id::new(fault.site as usize)];
                let values = fault.values[..fault.count as usize].to_vec();
                Outcome::Fault(interp::Fault { kind: site.kind, span: site.span, values })
            }
        })
    }

    /// The plans of an entry for a target.
    pub(crate) fn units<'e>(&self, entry: &'e Entry, target: imp::UnitTarget) -> impl Iterator<Item = &'e imp::Unit> {
        entry.code.units_for(target)
    }

    /// Whether what was found is what the interpreter said. Codelets have faults of their own, at other places.
    pub(crate) fn agree(&self, entry: &Entry, request: &Request, found: &Outcome, exact: bool) -> Result<(), String> {
        let has_codelets = self.has_codelets(entry);
        let alike = |expected: &interp::Fault, found: &interp::Fault| {
            let interp::Fault { kind, span, values } = found;
            (expected.kind, &expected.values) == (*kind, values) && (has_codelets || expected.span == *span)
        };
        match (&request.expected, found) {
            (Outcome::Unknown, _) => Ok(()),
            (Outcome::Results(expected), Outcome::Results(found)) => same::args(expected, found, exact),
            (Outcome::Fault(expected), Outcome::Fault(found)) if alike(expected, found) => Ok(()),
            (expected, found) => Err(format!("expected {}, found {}", self.text(expected), self.text(found))),
        }
    }

    fn text(&self, outcome: &Outcome) -> String {
        match outcome {
            Outcome::Results(args) => format!("{args:?}").chars().take(300).collect(),
            Outcome::Unknown => "whatever".into(),
            Outcome::Fault(fault) => self.fault(fault),
        }
    }

    /// A fault with the source text of its place.
    pub(crate) fn fault(&self, fault: &interp::Fault) -> String {
        let place = |span: Span| self.input.sources.snippet(span);
        format!("{:?} {:?} at `{}`", fault.kind, fault.values, place(fault.span))
    }
}

/// A program before and after all passes.
fn optimised(
    name: &str,
    text: &str,
    plans: Option<&str>,
    cuda: bool,
) -> Result<(PipelineInput, Program, Program), String> {
    let stem = name.replace('-', "_");
    let mut input = PipelineInput::default();
    input.options.cuda = cuda;
    let id = input.sources.add(format!("{name}.hdp"), text);
    input.files.push(InputFile { id, stem, imports: Vec::new() });
    if let Some(plans) = plans {
        let plans = input.sources.add(format!("{name}.plan"), plans);
        input.options.pins.push(PinFile { program: id, plans });
    }
    input.options.limits.compositions = true;
    let says = |words: &str| text.lines().any(|line| line == words);
    input.options.limits.variants = says("// variants") || says(ON_PROCESSORS);
    natives::name_header(text, &mut input.options);
    let mut sink = Sink::new();
    let original = front(&input, &mut sink);
    let program = original.clone().and_then(|original| optimise(original, cuda, &mut sink));
    let (Some(original), Some(program)) = (original, program) else {
        let texts: Vec<String> =
            sink.finish().into_iter().map(|d| format!("{}\n{}", d.headline, d.notes.join("\n"))).collect();
        return Err(format!("does not compile: {}", texts.join("; ")));
    };
    Ok((input, original, program))
}

/// The entries that are lowered, without a defect and verified.
fn entries(
    original: &Program,
    program: &Program,
    lowered: impl Fn(FuncId) -> Option<(imp::Entry, Vec<Defect>)>,
) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    for (&after, &before) in program.entries.iter().zip(&original.entries) {
        let Some((code, defects)) = lowered(after) else { continue };
        if let Some(defect) = defects.first() {
            return Err(format!("plan {} has a defect: expected that {}", defect.plan, defect.expected));
        }
        imp::verify(program, &code).map_err(|errors| format!("`{}`: {errors:?}", program.funcs[after].name))?;
        entries.push(Entry { before, after, code });
    }
    Ok(entries)
}

fn interpret(program: &Program, func: FuncId, args: &[Arg], options: &interp::Options) -> Result<Outcome, String> {
    match interp::run_with(program, func, args.to_vec(), options) {
        Ok(results) => Ok(Outcome::Results(results.args)),
        Err(Error::Fault(fault)) => Ok(Outcome::Fault(fault)),
        Err(Error::OutOfFuel) => Ok(Outcome::Unknown),
        Err(error @ (Error::Call(_) | Error::Unsound(_) | Error::Race { .. } | Error::Native(_))) => {
            Err(format!("the interpreter: {error}"))
        }
    }
}

/// The dimensions' values from the first array that carries each plain name.
pub(crate) fn bind(func: &Func, args: &[Arg]) -> Result<Vec<i64>, String> {
    let mut bound = BTreeMap::new();
    for (param, arg) in func.params.iter().zip(args) {
        if let Arg::Array(array) = arg {
            for (extent, size) in func.vars[*param].shape.iter().zip(&array.shape) {
                if let ExprKind::Read(dim) = extent.kind {
                    bound.entry(dim).or_insert(*size);
                }
            }
        }
    }
    func.dims
        .iter()
        .map(|dim| bound.get(dim).copied().ok_or_else(|| "no array carries a dimension alone".into()))
        .collect()
}
