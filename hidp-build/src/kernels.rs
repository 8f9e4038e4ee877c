//! From generated files to what cargo links: compilers, objects, one static library, the libraries below it.

use std::path::PathBuf;

use crate::Isa;
use crate::cargo::{self, Cargo};
use crate::compiler::pipeline::{GeneratedFile, PipelineOutput};
use crate::host_cc;
use crate::nvcc::{self, Choice, Nvcc, Wish};
use crate::objects::{self, Unit, write_if_changed};
use crate::report::{Problem, Report};
use crate::simulated;
use crate::sizes;
use crate::toolchain::{OpenMp, Toolchain, Wanted};
use hidp_emit::rust::{Library, Toolchains};

/// The compilers of a build.
pub(crate) struct Compilers {
    toolchain: Toolchain,
    choice: Choice,
    simulated: bool,
}

impl Compilers {
    /// Finds them. `lines`: whether device code should have tables of lines.
    pub(crate) fn find(cargo: &Cargo, threads: Wanted, lines: bool, wish: &Wish) -> Result<Self, Problem> {
        let toolchain = Toolchain::find(&cargo.out_dir, threads)?;
        let mut choice = wish.fulfil(&toolchain)?;
        choice.nvcc.iter_mut().for_each(|nvcc| nvcc.lines = lines);
        Ok(Self { toolchain, choice, simulated: wish.is_simulated() })
    }

    /// Whether there is one for device code.
    pub(crate) fn have_cuda(&self) -> bool {
        self.simulated || self.choice.nvcc.is_some()
    }
}

impl Compilers {
    /// Whether nvcc takes what a program uses of native headers; the error is why not. The C++ compiler takes all of it for an executor.
    pub(crate) fn take_natives(&self, cargo: &Cargo, include: &[PathBuf], file: &GeneratedFile) -> Result<(), Problem> {
        let Some(nvcc) = &self.choice.nvcc else { return Ok(()) };
        write_if_changed(&cargo.out_dir.join(&file.name), &file.text)?;
        let files = [file.name.clone()];
        let job = nvcc::Job { nvcc, out_dir: &cargo.out_dir, files: &files, include, root: &cargo.root, strict: false };
        nvcc::units(&job).try_for_each(|unit| objects::update(&unit).map(drop))
    }
}

/// A build's generated files, and what compilers need to know.
pub(crate) struct Work<'a> {
    pub(crate) cargo: &'a Cargo,
    pub(crate) isas: &'a [Isa],
    /// Folders with the run time's headers.
    pub(crate) include: &'a [PathBuf],
    pub(crate) output: &'a PipelineOutput,
    /// Whether kernels for processors are to be compiled soon rather than well.
    pub(crate) quick: bool,
}

/// Compiles; gives what Rust has to link, and the C++ compiler's version.
pub(crate) fn compile(
    work: &Work<'_>,
    compilers: &Compilers,
    report: &mut Report,
) -> Result<(Vec<Library>, Toolchains), Problem> {
    let Work { cargo, output, .. } = work;
    for file in output.cpp.iter().chain(&output.cuda) {
        write_if_changed(&cargo.out_dir.join(&file.name), &file.text)?;
    }
    let (cpp, cuda) = (names(&output.cpp), names(&output.cuda));
    let job = host_cc::Job {
        toolchain: &compilers.toolchain,
        out_dir: &cargo.out_dir,
        files: &cpp,
        isas: work.isas,
        include: work.include,
        root: &cargo.root,
        effort: match (compilers.simulated, work.quick) {
            (true, _) => host_cc::Effort::Least,
            (false, true) => host_cc::Effort::Some,
            (false, false) => host_cc::Effort::Most,
        },
    };
    let cuda_job = compilers.choice.nvcc.as_ref().map(|nvcc| nvcc::Job {
        nvcc,
        out_dir: &cargo.out_dir,
        files: &cuda,
        include: work.include,
        root: &cargo.root,
        strict: false,
    });
    // nvcc takes longest: it begins.
    let cuda_units: Vec<_> = cuda_job.iter().flat_map(nvcc::units).collect();
    let cpp_units: Vec<_> = host_cc::units(&job).collect();
    let simulated_job = simulated::Job {
        toolchain: &compilers.toolchain,
        out_dir: &cargo.out_dir,
        files: if compilers.simulated { &cuda } else { &[] },
        include: work.include,
        root: &cargo.root,
    };
    let simulated_units = simulated::units(&simulated_job)?;
    let units = cuda_units.iter().map(|unit| unit as &dyn Unit);
    let units = units.chain(simulated_units.iter().map(|unit| unit as &dyn Unit));
    let units = units.chain(cpp_units.iter().map(|unit| unit as &dyn Unit));
    let library = format!("hidp_kernels_{}", cargo.namespace);
    let compiled = objects::compile(&cargo.out_dir, &library, &units.collect::<Vec<_>>());
    compiled.headers.iter().for_each(|header| cargo::watch(header));
    compiled.problems.iter().for_each(|problem| report.problem(problem));
    say(cargo, &compilers.choice, cuda_job.as_ref(), report)?;
    write_if_changed(&cargo.out_dir.join(sizes::CODE), &sizes::report(&cargo.out_dir, work.isas, &output.versions))?;

    cargo::search(&cargo.out_dir);
    let own = Library { name: library, is_static: true };
    let nvcc = compilers.choice.nvcc.as_ref().filter(|_| !cuda.is_empty());
    let openmp = compilers.toolchain.openmp().map(openmp_library);
    let executor = simulated_units.first().map(|_| Library { name: "stdc++".into(), is_static: false });
    let libraries =
        [own].into_iter().chain(executor).chain(nvcc.map(cuda_libraries).into_iter().flatten()).chain(openmp);
    let device = match nvcc {
        Some(nvcc) => format!("nvcc {}", nvcc.version),
        None if compilers.simulated => compilers.toolchain.version(),
        None => String::new(),
    };
    Ok((libraries.collect(), Toolchains { cpu: compilers.toolchain.version(), device }))
}

fn names(files: &[GeneratedFile]) -> Vec<String> {
    files.iter().map(|file| file.name.clone()).collect()
}

/// Writes what was made for GPUs, or why nothing was.
fn say(cargo: &Cargo, choice: &Choice, job: Option<&nvcc::Job<'_>>, report: &mut Report) -> Result<(), Problem> {
    choice.warning.iter().for_each(|warning| report.problem(warning));
    let text = match job {
        Some(job) => nvcc::report(job),
        None => format!("CUDA is left out: {}\n", choice.reason),
    };
    if cargo::is_build_script() {
        print!("{text}");
    }
    write_if_changed(&cargo.out_dir.join(nvcc::KERNELS), &text).map(drop)
}

/// The run-time library, static: the driver is found when the program runs. And what that needs of the system.
fn cuda_libraries(nvcc: &Nvcc) -> Vec<Library> {
    cargo::search(&nvcc.libraries);
    let own = Library { name: "cudart_static".into(), is_static: true };
    let system = ["stdc++", "dl", "rt", "pthread"].map(|name| Library { name: name.into(), is_static: false });
    [own].into_iter().chain(system).collect()
}

/// Tells cargo where the OpenMP library is.
fn openmp_library(openmp: &OpenMp) -> Library {
    if let Some(folder) = &openmp.folder {
        cargo::search(folder);
        if openmp.library == "omp" {
            cargo::tell(&format!("rustc-link-arg=-Wl,-rpath,{}", folder.display()));
        }
    }
    Library { name: openmp.library.clone(), is_static: false }
}
