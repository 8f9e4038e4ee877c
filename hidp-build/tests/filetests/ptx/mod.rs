//! The table of `cargo xtask ptx-count`: what programs of papers do on a GPU, with and without directives, beside the same by hand. Both are compiled to PTX, whose instructions
//! are run and counted, and the results are compared with references.

mod called;
mod row;
mod sources;
mod table;
mod time;

use std::path::PathBuf;

use hidp_build::compiler::ir::imp::{Unit, UnitTarget};
use hidp_build::compiler::ir::par::interp::{Arg, Array, Data, Value};
use hidp_build::compiler::plan::{
    Limits, Natives, Predictions, add_device_rules, candidates, dispatch, explore_device,
};
use hidp_build::compiler::target::{DeviceModel, Model};
use hidp_ptx::Compiler;

use crate::made::root;
use crate::maker::{Maker, fillings};
use crate::subject::{Entry, Outcome, Request, Subject};

/// A program of a paper.
struct Paper {
    title: &'static str,
    /// Of the function; with directives `_placed` follows.
    name: &'static str,
    case: &'static str,
    /// Sizes of dimensions with which results are compared.
    small: &'static [i64],
    /// The same for originals that take some sizes only.
    even: &'static [i64],
    /// Those of the table, and how many blocks of each launch run: the same work in each is counted once.
    sizes: &'static [i64],
    most: u64,
    /// Whether by hand several steps are one launch, which no plan does.
    exempt: bool,
}

const HICUDA: &str = "papers_hicuda";
const LEE: &str = "papers_lee";

const fn paper(names: [&'static str; 3], small: &'static [i64], sizes: &'static [i64], most: u64) -> Paper {
    let [title, name, case] = names;
    Paper { title, name, case, small, even: small, sizes, most, exempt: false }
}

const fn exempt(paper: Paper) -> Paper {
    Paper { exempt: true, ..paper }
}

const fn even(paper: Paper, even: &'static [i64]) -> Paper {
    Paper { even, ..paper }
}

const PAPERS: [Paper; 13] = [
    paper(["matrix product", "multiplied", HICUDA], &[130, 35, 140], &[2048, 2048, 2048], 2),
    even(paper(["CP", "potential", HICUDA], &[70, 20, 90], &[1024, 1024, 1024], 2), &[70, 24, 256]),
    paper(["SAD", "differences", HICUDA], &[2, 3, 8], &[18, 22, 32], 16),
    paper(["TPACF", "correlated", HICUDA], &[150, 200, 20], &[4096, 4096, 20], 16),
    paper(["RPES", "repulsion", HICUDA], &[5, 70], &[30, 40000], 8),
    paper(["NN", "nearest", LEE], &[3000], &[1 << 22], 32),
    paper(["Gaussian", "eliminated", LEE], &[37], &[512], 8),
    exempt(paper(["Hotspot", "heated", LEE], &[37, 70], &[1024, 1024], 16)),
    paper(["Mandelbrot", "turns", LEE], &[37, 50], &[1024, 1024], 64),
    paper(["SRAD", "evened", LEE], &[37, 70], &[1024, 1024], 16),
    exempt(paper(["Pathfinder", "walked", LEE], &[9, 700], &[64, 200_000], 16)),
    even(paper(["LUD", "factored", LEE], &[50], &[512], 8), &[48]),
    paper(["BFS", "levels", LEE], &[300, 900], &[1 << 17, 1 << 20], called::ALL),
];

/// Instead of what the cases say, for turns that differ from run to run.
const DATA: &str = "
// data: steps in 8 8
// data: most in 100 100
// data: points random
// data: random random
";

/// Arguments of a call.
fn request(subject: &Subject, entry: &Entry, text: &str, sizes: &[i64]) -> Request {
    let fillings = fillings(&format!("{text}{DATA}")).expect("fillings");
    let func = subject.func(entry);
    let mut maker = Maker::new(subject.original(), func, sizes, 3, &fillings);
    let mut args = maker.args().expect("sizes that fit");
    for (param, arg) in func.params.iter().zip(&mut args) {
        // What pairs of points fall into evenly, and the part of the plane where turns differ.
        match (func.name.trim_end_matches("_placed"), func.vars[*param].name.as_str(), &mut *arg) {
            ("correlated", "edges", Arg::Array(Array { data, shape })) => {
                *data = Data::F32((0..shape[0]).map(|at| (2 * at - shape[0] + 1) as f32 / shape[0] as f32).collect());
            }
            ("turns", "left", Arg::Scalar(value)) => *value = Value::F32(-2.0),
            ("turns", "top", Arg::Scalar(value)) => *value = Value::F32(-1.25),
            ("turns", "step", Arg::Scalar(value)) => *value = Value::F32(2.5 / sizes[0] as f32),
            _ => {}
        }
    }
    Request::new(args, maker.dims(), Outcome::Unknown)
}

/// nvcc, where `CUDA_HOME` names one.
fn compiler() -> Option<Compiler> {
    let home = PathBuf::from(std::env::var_os("CUDA_HOME").filter(|home| !home.is_empty())?);
    let include = ["hidp-std/include", "hidp-sys/include"].map(|folder| root().join(folder)).to_vec();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("ptx");
    Some(Compiler { home, include, folder })
}

/// The version that runs untuned.
fn chosen<'e>(subject: &Subject, entry: &'e Entry, dims: &[i64]) -> &'e Unit {
    let (program, models) = (subject.program(), (Model::cpu(), DeviceModel::cuda()));
    let name = &subject.func(entry).name;
    let id = program.entries.iter().copied().find(|id| program.funcs[*id].name == *name).expect("an entry");
    let func = &program.funcs[id];
    let plans = explore_device(program, id, &models.1, Limits::default(), Natives::default()).plans;
    let host = candidates(program, id, &models.0);
    let mut rules = dispatch(program, func, &host, &models.0);
    add_device_rules(&mut rules, program, func, (&host[0], &plans), (&models.0, &models.1), Predictions::default());
    let plan = rules.on_device(func, &plans, dims).expect("plans for devices");
    subject.units(entry, UnitTarget::Device).find(|unit| unit.plan == plan.name).expect("it is compiled")
}
