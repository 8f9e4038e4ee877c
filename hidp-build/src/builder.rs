//! A build and its settings.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cargo::{self, Cargo, Switches};
use crate::compiler::pipeline::{self, IdleRecord, InputFile, NativeStruct, Options, PipelineInput, PipelineOutput};
use crate::kernels::{self, Compilers, Work};
use crate::nvcc::Wish;
use crate::objects::write_if_changed;
use crate::report::{Problem, Report, Result};
use crate::toolchain::Wanted;
use crate::{Cuda, Isa, included, isas, sources};
use hidp_emit::rust::{self, Library, Toolchains, links};
use hidp_plan::{Limits, Natives, Record, read_records};
use hidp_syntax::diag::{Code, Sink};
use hidp_syntax::source::SourceMap;

/// A build and its settings. Paths are relative to the package's root.
///
/// Environment variables override some settings and add to others; `docs/environment.md` of the repository lists them.
///
/// ```no_run
/// // build.rs
/// fn main() -> hidp_build::Result {
///     hidp_build::Builder::new()
///         .folder("src/kernels")
///         .header("src/native.hpp") // declares the `extern` functions
///         .vouch_for_natives()
///         .compile()
/// }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    folders: Vec<PathBuf>,
    headers: Vec<PathBuf>,
    structs: Option<Vec<NativeStruct>>,
    vouched: bool,
    isas: Option<Vec<Isa>>,
    threads: bool,
    openmp: bool,
    cuda: Cuda,
    cuda_arch: Vec<String>,
    line_directives: bool,
    out_dir: Option<PathBuf>,
    include: Option<Vec<PathBuf>>,
    tuning: Option<PathBuf>,
    limits: Limits,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// A build of no files, with default settings.
    pub fn new() -> Self {
        Self {
            folders: Vec::new(),
            headers: Vec::new(),
            structs: None,
            vouched: false,
            isas: None,
            threads: true,
            openmp: false,
            cuda: Cuda::Auto,
            cuda_arch: Vec::new(),
            line_directives: true,
            out_dir: None,
            include: None,
            tuning: None,
            limits: Limits::default(),
        }
    }
    /// Compiles all `.hdp` files in this folder and the folders below it. Can be called several times; `folder` may also be a single file.
    pub fn folder(mut self, folder: impl AsRef<Path>) -> Self {
        self.folders.push(folder.as_ref().to_owned());
        self
    }
    /// A C++ header that declares `extern` functions, or a C header that defines `extern` structs. Can be called several times.
    ///
    /// The structs are read by bindgen, which needs libclang: enable the feature `bindgen` of this crate.
    pub fn header(mut self, header: impl AsRef<Path>) -> Self {
        self.headers.push(header.as_ref().to_owned());
        self
    }
    /// Declares the `extern` structs of the headers, instead of reading them: for machines without libclang. The C++ compiler rejects sizes and
    /// offsets that differ from the header's.
    pub fn structs(mut self, structs: impl IntoIterator<Item = NativeStruct>) -> Self {
        self.structs = Some(structs.into_iter().collect());
        self
    }
    /// Promises that the native functions have no undefined behaviour for any arguments, and no side effects. Wrappers that use them
    /// become safe functions.
    pub fn vouch_for_natives(mut self) -> Self {
        self.vouched = true;
        self
    }
    /// Compiles for these instruction sets. By default, release builds are for all levels of the target (x86-64-v2, v3 and v4), other builds
    /// for the building machine only, which takes a third of the time. The environment variable `HIDP_ISAS` (`all`, `native`, or a list such as
    /// `v2,v3`) overrides this.
    pub fn isas(mut self, isas: impl IntoIterator<Item = Isa>) -> Self {
        self.isas = Some(isas.into_iter().collect());
        self
    }
    /// Whether kernels use threads. Default: `true`.
    pub fn threads(mut self, threads: bool) -> Self {
        self.threads = threads;
        self
    }
    /// Whether kernels run on the threads of the C++ compiler's OpenMP library rather than on the run time's own. Default: `false`. The
    /// environment variable `HIDP_OPENMP=on` enables it too. The build fails if the library is missing.
    ///
    /// OpenMP's threads wait as `OMP_WAIT_POLICY` says, spinning by default; the process ends if the system cannot start a thread, and forked
    /// processes hang.
    pub fn openmp(mut self, openmp: bool) -> Self {
        self.openmp = openmp;
        self
    }
    /// Whether kernels are also compiled for NVIDIA GPUs. Default: [`Cuda::Auto`], if nvcc is found. `HIDP_CUDA` overrides it.
    pub fn cuda(mut self, cuda: Cuda) -> Self {
        self.cuda = cuda;
        self
    }
    /// Compiles for GPUs of these architectures (`sm_90`), and for newer ones through the newest one's PTX, which the driver compiles when
    /// a program first runs. Default: `sm_80`, whose code runs on compute capabilities 8.0, 8.6 and 8.9, and its PTX on all later ones.
    /// `HIDP_CUDA_ARCH` (`sm_80,sm_90`) overrides it.
    pub fn cuda_arch(mut self, archs: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        self.cuda_arch = archs.into_iter().map(|arch| arch.as_ref().to_owned()).collect();
        self
    }
    /// Whether debuggers, profilers and the C++ compiler's messages show the `.hdp` files rather than the generated C++. Default: `true`.
    /// Device code without line directives has about half the size.
    pub fn line_directives(mut self, line_directives: bool) -> Self {
        self.line_directives = line_directives;
        self
    }
    /// Writes generated files here instead of to `OUT_DIR`, for use outside build scripts. A build script whose files need different
    /// settings builds twice, the second time to a folder below `OUT_DIR`, and the package includes the `hidp_kernels.rs` in it.
    pub fn out_dir(mut self, out_dir: impl AsRef<Path>) -> Self {
        self.out_dir = Some(out_dir.as_ref().to_owned());
        self
    }
    /// The file of tuning records to embed. Default: `hidp-tune.toml` in each folder of programs, if it exists.
    pub fn tuning(mut self, file: impl AsRef<Path>) -> Self {
        self.tuning = Some(file.as_ref().to_owned());
        self
    }
    /// The maximum number of plans per entry, best scores first. Default: 4. Each costs code size and compile time.
    pub fn versions(mut self, most: usize) -> Self {
        self.limits.most = most;
        self
    }
    /// Whether entries also get versions with other tile sizes, for the tuner to compare. Default: `false`. The environment variable
    /// `HIDP_VARIANTS=on` enables it too.
    pub fn variants(mut self, variants: bool) -> Self {
        self.limits.variants = variants;
        self
    }
    /// Whether entries get a version for each composition of codelets that the compiler kept, including those that it estimates to be slow,
    /// or to be no faster and large. Default: `false`. [`variants`](Self::variants) enables it too.
    pub fn compositions(mut self, compositions: bool) -> Self {
        self.limits.compositions = compositions;
        self
    }
    /// Folders with the run time's headers, for use outside build scripts.
    pub fn run_time_headers(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.include = Some(folders.into_iter().collect());
        self
    }

    /// Builds, and tells Cargo what to link and when to rebuild.
    ///
    /// # Errors
    /// If a file cannot be read or written, a setting is invalid, or a compiler is missing or fails. Errors in the programs themselves are
    /// reported by rustc where the kernels are included.
    pub fn compile(self) -> Result {
        let cargo = Cargo::read(self.out_dir.as_deref())?;
        let mut report = Report::default();
        self.build(&cargo, &mut report)?;
        report.warnings.iter().for_each(|text| cargo::warn(text));
        // What rustc is told of is no failure of the build script.
        let told = cargo::is_build_script() && report.problems.is_empty();
        report.error().filter(|_| !told).map_or(Ok(()), Err)
    }

    fn build(&self, cargo: &Cargo, report: &mut Report) -> Result {
        fs::create_dir_all(&cargo.out_dir).map_err(|error| {
            let headline = format!("cannot make `{}`: {error}", cargo.out_dir.display());
            Problem::new(Code::OutputFailed, headline)
        })?;
        cargo::watch(Path::new("build.rs"));
        let loaded = sources::load(&cargo.root, &self.folders);
        loaded.watched.iter().for_each(|path| cargo::watch(path));
        loaded.problems.iter().for_each(|problem| report.problem(problem));
        report.diagnostics(&loaded.sources, &loaded.diagnostics);
        if report.has_errors() {
            return broken(cargo, report, &loaded.sources, &loaded.files);
        }

        let isas = isas::choose(self.isas.as_deref())?;
        let switches = Switches::read()?;
        let wish = Wish::read(self.cuda, &self.cuda_arch, cargo)?;
        let native_headers: Vec<String> = self.headers.iter().map(|header| header.display().to_string()).collect();
        let run_time = self.include.clone().map_or_else(cargo::run_time_headers, Ok).unwrap_or_default();
        let mut input = PipelineInput {
            sources: loaded.sources,
            files: loaded.files,
            options: Options {
                pins: loaded.pins,
                namespace: cargo.namespace.clone(),
                isas,
                line_directives: self.line_directives,
                headers: included::texts(&cargo.root, &run_time, &native_headers),
                native_headers,
                native_structs: None,
                vouched: self.vouched,
                records: self.records(cargo, report),
                cuda: wish.may_have(),
                numbers: wish.is_simulated(),
                natives: Natives::Everywhere,
                limits: Limits { variants: self.limits.variants || switches.variants, ..self.limits },
                strict: switches.strict,
            },
        };
        let structs = match &self.structs {
            Some(structs) => self.check_headers(cargo).map(|()| Some(structs.clone())),
            None => self.native_structs(cargo, &pipeline::named_structs(&input)),
        };
        match structs {
            Ok(structs) => input.options.native_structs = structs,
            Err(problem) => {
                report.problem(&problem);
                return Ok(());
            }
        }
        let mut output = pipeline::compile(&input);
        output.idle_records.iter().for_each(|(entry, why)| report.problem(&idle_record(entry, *why)));
        report.diagnostics(&input.sources, &output.diagnostics);
        if report.has_errors() {
            return broken(cargo, report, &input.sources, &input.files);
        }
        let (libraries, toolchains) = if output.cpp.is_empty() || cargo.docs_only {
            (Vec::new(), Toolchains::default())
        } else {
            match self.kernels(cargo, report, &wish, switches, &mut input, &mut output) {
                Ok(compiled) => compiled,
                Err(problem) => {
                    report.problem(&problem);
                    return Ok(());
                }
            }
        };
        let text = output.rust + &links(&libraries, &toolchains);
        write_if_changed(&kernels_file(cargo), &text)?;
        Ok(())
    }

    /// Compiles what was generated; gives what Rust has to link, and the C++ compiler's version.
    fn kernels(
        &self,
        cargo: &Cargo,
        report: &mut Report,
        wish: &Wish,
        switches: Switches,
        input: &mut PipelineInput,
        output: &mut PipelineOutput,
    ) -> std::result::Result<(Vec<Library>, Toolchains), Problem> {
        let include = self.include.clone().map_or_else(cargo::run_time_headers, Ok)?;
        self.check_headers(cargo)?;
        let compilers = Compilers::find(cargo, self.whose_threads(switches.openmp), self.line_directives, wish)?;
        if input.options.cuda && !compilers.have_cuda() {
            input.options.cuda = false;
            *output = pipeline::compile(input);
        }
        if let Some(file) = output.natives.take()
            && let Err(problem) = compilers.take_natives(cargo, &include, &file)
        {
            report.problem(&wish.without_natives(problem)?);
            input.options.natives = Natives::Host;
            *output = pipeline::compile(input);
        }
        let work = Work { cargo, isas: &input.options.isas, include: &include, output, quick: switches.quick };
        kernels::compile(&work, &compilers, report)
    }

    /// Whose threads kernels run on.
    fn whose_threads(&self, openmp: bool) -> Wanted {
        match (self.threads, self.openmp || openmp) {
            (false, _) => Wanted::Nobodys,
            (true, false) => Wanted::Teams,
            (true, true) => Wanted::OpenMps,
        }
    }

    /// What the headers say of the program's extern structs.
    #[cfg(feature = "bindgen")]
    fn native_structs(
        &self,
        cargo: &Cargo,
        names: &[String],
    ) -> std::result::Result<Option<Vec<NativeStruct>>, Problem> {
        if names.is_empty() || self.headers.is_empty() {
            return Ok(None);
        }
        self.check_headers(cargo)?;
        for name in ["LIBCLANG_PATH", "BINDGEN_EXTRA_CLANG_ARGS"] {
            cargo::watch_variable(name);
        }
        // Documentation is made without them.
        let include = self.include.clone().map_or_else(cargo::run_time_headers, Ok).unwrap_or_default();
        crate::headers::structs(&cargo.root, &include, &self.headers, names).map(Some)
    }

    /// Without bindgen, headers are not read.
    #[cfg(not(feature = "bindgen"))]
    fn native_structs(
        &self,
        cargo: &Cargo,
        names: &[String],
    ) -> std::result::Result<Option<Vec<NativeStruct>>, Problem> {
        if names.is_empty() { Ok(None) } else { self.check_headers(cargo).map(|()| None) }
    }

    /// The tuning records to embed.
    fn records(&self, cargo: &Cargo, report: &mut Report) -> Vec<Record> {
        // The folders are watched. Told to watch a file that is not there yet, cargo would run the script at every build.
        let usual =
            || self.folders.iter().map(|folder| folder.join(TUNING)).filter(|file| cargo.root.join(file).exists());
        let files = self.tuning.clone().map_or_else(|| usual().collect(), |file| vec![file]);
        files.iter().flat_map(|file| records_of(&cargo.root.join(file), report)).collect()
    }

    fn check_headers(&self, cargo: &Cargo) -> std::result::Result<(), Problem> {
        for header in &self.headers {
            let path = cargo.root.join(header);
            cargo::watch(&path);
            fs::metadata(&path).map_err(|error| {
                Problem::new(Code::NoHeader, format!("cannot read the header `{}`: {error}", header.display()))
            })?;
        }
        Ok(())
    }
}

/// Name of a file of tuning records.
const TUNING: &str = "hidp-tune.toml";

fn records_of(path: &Path, report: &mut Report) -> Vec<Record> {
    cargo::watch(path);
    let (records, ignored) = match fs::read_to_string(path) {
        Ok(text) => read_records(&text),
        Err(error) => (Vec::new(), vec![format!("all of it: {error}")]),
    };
    for what in ignored {
        let headline = format!("of the tuning file `{}` this is ignored: {what}", path.display());
        report.problem(&Problem::new(Code::IdleTuning, headline));
    }
    records
}

fn idle_record(entry: &str, why: IdleRecord) -> Problem {
    let headline = match why {
        IdleRecord::Stale => format!("a tuning record is ignored: `{entry}` is compiled to something else now"),
        IdleRecord::Unknown => format!("a tuning record is ignored: there is no entry `{entry}`"),
    };
    Problem::new(Code::IdleTuning, headline).help("tune again, or delete the record")
}

/// Leaves it to rustc to report the errors in programs, so that they reach editors; cargo only shows how many there are, for packages
/// that do not include their kernels.
fn broken(cargo: &Cargo, report: &mut Report, sources: &SourceMap, files: &[InputFile]) -> Result {
    if report.programs.is_empty() || !report.problems.is_empty() {
        return Ok(());
    }
    let mut names = Vec::new();
    for (number, message) in report.messages().iter().enumerate() {
        let name = format!("hidp_error_{}.txt", number + 1);
        write_if_changed(&cargo.out_dir.join(&name), message)?;
        names.push(name);
    }
    let trees: Vec<_> =
        files.iter().map(|file| (file.stem.as_str(), hidp_syntax::parse(sources, file.id, &mut Sink::new()))).collect();
    let modules: Vec<_> = trees.iter().map(|(stem, tree)| (*stem, tree)).collect();
    write_if_changed(&kernels_file(cargo), &rust::broken(&names, &modules))?;
    if cargo::is_build_script() {
        let count = names.len();
        let errors = if count == 1 { "an error".to_owned() } else { format!("{count} errors") };
        report.warnings.push(format!("{errors} in HiDP programs: see what rustc reports of `hidp_kernels.rs`"));
    }
    Ok(())
}

fn kernels_file(cargo: &Cargo) -> PathBuf {
    cargo.out_dir.join("hidp_kernels.rs")
}
