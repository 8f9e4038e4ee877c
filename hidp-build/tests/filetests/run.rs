//! Kind `run`: every entry of the case, on the interpreter and compiled, with every plan, several thread counts and every
//! instruction set of this machine. Results must agree, integers exactly; faults in kind, place and values.
//!
//! ```text
//! // data: rowptr ascending Z      (see `maker`)
//! // sizes: 4 6 5; 100 3           (further sizes of the dimensions, in order of the header)
//! ```

use std::ffi::c_void;

use hidp_build::compiler::diag::Sink;
use hidp_build::compiler::emit::openmp;
use hidp_build::compiler::index::Id;
use hidp_build::compiler::ir::imp;
use hidp_build::compiler::ir::par::interp::{self, Arg, Array, Data, Error};
use hidp_build::compiler::ir::par::{FaultKind, Func, FuncId, Program};
use hidp_build::compiler::pipeline::{InputFile, PipelineInput, front, lower_entry, optimise};
use hidp_build::compiler::source::Span;
use hidp_build::compiler::target::Model;
use hidp_build::compiler::ty::Ty;

use crate::case::Case;
use crate::maker::{Maker, fillings};
use crate::memory::Block;
use crate::native::{Context, Kernels, isas};

/// Sizes of dimensions, in order of the header; a list repeats. The last one depends on how many dimensions there are.
const SIZES: &[&[i64]] = &[&[0], &[1], &[2], &[3, 0, 2], &[7, 5, 3, 2], &[13, 1, 9, 17], &[64, 33], &[16, 130, 67, 31]];

fn big(dims: usize) -> &'static [i64] {
    match dims {
        0 | 1 => &[20_011],
        2 => &[139, 151],
        3 => &[23, 29, 31],
        _ => &[11, 13, 7, 17, 2, 3],
    }
}

const THREADS: &[u32] = &[1, 2, 3];

pub(crate) fn run(case: &Case) -> Result<(), String> {
    let subject = Subject::compile(case)?;
    let isas = isas();
    let build = |isa| Kernels::build(&subject.stem, &subject.cpp, isa);
    let built: Vec<Kernels> = std::thread::scope(|scope| {
        let handles: Vec<_> = isas.iter().map(|&isa| scope.spawn(move || build(isa))).collect();
        handles
            .into_iter()
            .map(|handle| handle.join().expect("the compiler's thread ends"))
            .collect::<Result<_, String>>()
    })?;
    let fillings = fillings(&case.text)?;
    let mut ended = 0;
    for (&(func, original), entry) in subject.funcs.iter().zip(&subject.entries) {
        let item = &subject.program.funcs[func];
        for (seed, sizes) in sizes(case, item)?.iter().enumerate() {
            let mut maker = Maker::new(item, sizes, seed as u64, &fillings);
            let call = Call { args: maker.args(), dims: maker.sizes() };
            let expected = interp::run(&subject.original, original, call.args.clone());
            ended += usize::from(expected.is_ok());
            for kernels in &built {
                subject
                    .compare(kernels, item, entry, &call, &expected)
                    .map_err(|why| format!("`{}` with {sizes:?}: {why}", item.name))?;
            }
        }
    }
    if ended == 0 && !case.text.contains("// faults always") {
        return Err("faults with whatever arguments".into());
    }
    Ok(())
}

fn sizes(case: &Case, func: &Func) -> Result<Vec<Vec<i64>>, String> {
    let mut sizes: Vec<Vec<i64>> = SIZES.iter().map(|sizes| sizes.to_vec()).collect();
    sizes.push(big(func.dims.len()).to_vec());
    for line in case.text.lines().filter_map(|line| line.strip_prefix("// sizes: ")) {
        for list in line.split(';') {
            let parsed: Result<Vec<i64>, _> = list.split_whitespace().map(str::parse).collect();
            sizes.push(parsed.map_err(|error| format!("{list}: {error}"))?);
        }
    }
    Ok(sizes)
}

/// A case, compiled as far as C++.
struct Subject {
    stem: String,
    input: PipelineInput,
    /// As checked, for the interpreter.
    original: Program,
    /// After all passes.
    program: Program,
    /// Each entry's id after and before the passes.
    funcs: Vec<(FuncId, FuncId)>,
    entries: Vec<imp::Entry>,
    cpp: String,
}

impl Subject {
    fn compile(case: &Case) -> Result<Subject, String> {
        let stem = case.name.replace('-', "_");
        let mut input = PipelineInput::default();
        let id = input.sources.add(format!("{}.hdp", case.name), case.text.as_str());
        input.files.push(InputFile { id, stem: stem.clone(), imports: Vec::new() });
        let mut sink = Sink::new();
        let original = front(&input, &mut sink);
        let program = original.clone().and_then(|original| optimise(original, &mut sink));
        let (Some(original), Some(program)) = (original, program) else {
            let texts: Vec<String> =
                sink.finish().into_iter().map(|d| format!("{}\n{}", d.headline, d.notes.join("\n"))).collect();
            return Err(format!("does not compile: {}", texts.join("; ")));
        };
        let funcs: Vec<(FuncId, FuncId)> =
            program.entries.iter().copied().zip(original.entries.iter().copied()).collect();
        let model = Model::cpu();
        let entries: Vec<imp::Entry> =
            funcs.iter().map(|&(func, _)| lower_entry(&input, &program, func, &model).entry).collect();
        for entry in &entries {
            imp::verify(&program, entry).map_err(|errors| format!("imp: {errors:?}"))?;
        }
        let options = openmp::Options { line_directives: false, native_headers: Vec::new() };
        let cpp = openmp::module(&program, &input.sources, &stem, &entries, &options);
        Ok(Subject { stem, input, original, program, funcs, entries, cpp })
    }

    /// Every plan with every number of threads.
    fn compare(
        &self,
        kernels: &Kernels,
        func: &Func,
        entry: &imp::Entry,
        call: &Call,
        expected: &Result<interp::Results, Error>,
    ) -> Result<(), String> {
        for unit in &entry.units {
            for &threads in THREADS {
                let found = self.call(kernels, func, entry, unit, call, &Context::new(threads));
                let same = match (expected, &found) {
                    (Ok(expected), Ok(found)) => same_args(&expected.args, found),
                    (Err(Error::Fault(expected)), Err(found)) => self.same_fault(expected, found),
                    (expected, found) => Err(format!("expected {}\nfound {}", brief(expected), brief(found))),
                };
                same.map_err(|why| format!("plan {}, {threads} threads: {why}", unit.plan))?;
            }
        }
        Ok(())
    }

    fn call(
        &self,
        kernels: &Kernels,
        func: &Func,
        entry: &imp::Entry,
        unit: &imp::Unit,
        Call { args, dims }: &Call,
        context: &Context,
    ) -> Result<Vec<Arg>, Found> {
        let types: Vec<Ty> = func.params.iter().map(|&param| func.vars[param].ty).collect();
        let mut blocks: Vec<Block> =
            args.iter().zip(&types).map(|(arg, &ty)| Block::of(&self.program, ty, arg)).collect();
        let params: Vec<*mut c_void> = blocks.iter_mut().map(Block::address).collect();
        let symbol = openmp::symbol(entry, unit);
        // SAFETY: the blocks have the shapes that the dimensions say, the interpreter checked that.
        let result = unsafe { kernels.call(context, &symbol, &params, dims) };
        let intact = blocks.iter().all(Block::intact);
        if !intact {
            return Err(Found { what: "wrote outside an argument".into(), ..Found::default() });
        }
        match result {
            Ok(()) => {
                let back = blocks.iter().zip(args).zip(&types);
                Ok(back.map(|((block, arg), &ty)| block.back(&self.program, ty, arg)).collect())
            }
            Err(fault) => {
                let site = &entry.sites[Id::new(fault.site as usize)];
                let values = fault.values[..fault.count as usize].to_vec();
                Err(Found { what: String::new(), kind: Some(site.kind), span: Some(site.span), values })
            }
        }
    }

    fn same_fault(&self, expected: &interp::Fault, found: &Found) -> Result<(), String> {
        let same =
            found.kind == Some(expected.kind) && found.span == Some(expected.span) && found.values == expected.values;
        if same {
            return Ok(());
        }
        let text = |span: Option<Span>| span.map_or("", |span| self.input.sources.snippet(span));
        Err(format!(
            "expected fault {:?} {:?} at `{}`, found {:?} {:?} at `{}` {}",
            expected.kind,
            expected.values,
            text(Some(expected.span)),
            found.kind,
            found.values,
            text(found.span),
            found.what,
        ))
    }
}

/// What an entry is called with.
struct Call {
    args: Vec<Arg>,
    /// Values of the dimensions, in order of the header.
    dims: Vec<i64>,
}

/// How a compiled call failed.
#[derive(Debug, Default)]
struct Found {
    what: String,
    kind: Option<FaultKind>,
    span: Option<Span>,
    values: Vec<i64>,
}

fn brief<T: std::fmt::Debug>(value: &T) -> String {
    format!("{value:?}").chars().take(600).collect()
}

fn same_args(expected: &[Arg], found: &[Arg]) -> Result<(), String> {
    for (number, (expected, found)) in expected.iter().zip(found).enumerate() {
        let same = match (expected, found) {
            (Arg::Array(expected), Arg::Array(found)) => same_data(&expected.data, &found.data),
            (expected, found) => same_data(&data_of(expected), &data_of(found)),
        };
        same.map_err(|why| format!("argument {number}: {why}"))?;
    }
    Ok(())
}

fn data_of(arg: &Arg) -> Data {
    match arg {
        Arg::Array(Array { data, .. }) => data.clone(),
        Arg::Scalar(value) => Data::Struct(vec![value.clone()]),
        Arg::Output => Data::Struct(Vec::new()),
    }
}

fn same_data(expected: &Data, found: &Data) -> Result<(), String> {
    let flat = |data: &Data| {
        let values = data.values();
        let structs = matches!(values.first(), Some(interp::Value::Struct(_)));
        if structs { values.iter().flat_map(crate::memory::leaves).collect() } else { values }
    };
    let (expected, found) = (flat(expected), flat(found));
    let scale = expected
        .iter()
        .filter_map(|value| value.as_float())
        .filter(|f| f.is_finite())
        .fold(1.0, |a: f64, b| a.max(b.abs()));
    for (index, (expected, found)) in expected.iter().zip(&found).enumerate() {
        let same = match (expected.as_float(), found.as_float()) {
            (Some(a), Some(b)) => {
                let single = expected.scalar() == Some(hidp_build::compiler::ty::Scalar::F32);
                let tolerance = scale * if single { 1e-5 } else { 1e-12 };
                a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance
            }
            _ => expected == found,
        };
        if !same {
            return Err(format!("element {index} is {found:?}, but must be {expected:?}"));
        }
    }
    if expected.len() == found.len() { Ok(()) } else { Err("another number of elements".into()) }
}
