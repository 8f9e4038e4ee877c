//! What a build is made of, what can be chosen, and what it gives.

use hidp_emit::rust::Isa;
use hidp_plan::{Limits, Natives, PinFile, Record};
use hidp_syntax::diag::Diagnostic;
use hidp_syntax::source::{FileId, SourceMap};

use super::{Headers, IdleRecord, NativeStruct};

/// A build.
#[derive(Clone, Debug, Default)]
pub struct PipelineInput {
    /// Every file of the build, imported ones included.
    pub sources: SourceMap,
    /// What is known of each file, in the order of generated modules.
    pub files: Vec<InputFile>,
    /// What can be chosen.
    pub options: Options,
}

/// A file and what it imports.
#[derive(Clone, Debug)]
pub struct InputFile {
    /// The file.
    pub id: FileId,
    /// Name of its Rust module and of its C++ file: an identifier, unique in the build.
    pub stem: String,
    /// The files that its `import` items mean, in their order. No file imports itself, directly or not.
    pub imports: Vec<FileId>,
}

/// What can be chosen.
#[derive(Clone, Debug)]
pub struct Options {
    /// Part of every symbol, so that the kernels of two crates in one program do not meet: see [`symbol`](super::symbol).
    pub namespace: String,
    /// Instruction sets that the C++ is compiled for, most demanding first.
    pub isas: Vec<Isa>,
    /// Whether `#line` directives tie the C++ to the `.hdp` files.
    pub line_directives: bool,
    /// C++ headers that declare the native functions and structs.
    pub native_headers: Vec<String>,
    /// The texts of the headers that generated code may include. What is not there belongs to the C++ compiler.
    pub headers: Headers,
    /// The structs that the native headers define and the program names; `None` if the headers were not read.
    pub native_structs: Option<Vec<NativeStruct>>,
    /// Whether the build script vouches for the native functions: wrappers that use them are safe.
    pub vouched: bool,
    /// Tuning records.
    pub records: Vec<Record>,
    /// Whether CUDA is generated too.
    pub cuda: bool,
    /// Whether that is for the executor, which tells accesses apart by numbers in the text.
    pub numbers: bool,
    /// What the native headers are compiled for.
    pub natives: Natives,
    /// How many plans an entry may have.
    pub limits: Limits,
    /// Files of pinned plans.
    pub pins: Vec<PinFile>,
    /// Whether a version with a defect ends the build, though others can run in its place.
    pub strict: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            namespace: "k".into(),
            isas: vec![Isa::Base],
            line_directives: true,
            native_headers: Vec::new(),
            headers: Headers::default(),
            native_structs: None,
            vouched: false,
            records: Vec::new(),
            cuda: false,
            numbers: false,
            natives: Natives::Everywhere,
            limits: Limits::default(),
            pins: Vec::new(),
            strict: true,
        }
    }
}

/// A generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedFile {
    /// Name without folder: `gemm.cpp`.
    pub name: String,
    /// Contents.
    pub text: String,
}

/// What a build gives.
#[derive(Clone, Debug, Default)]
pub struct PipelineOutput {
    /// Contents of `hidp_kernels.rs`, but for the libraries that it links ([`links`](hidp_emit::rust::links)); nothing if a diagnostic is an error.
    pub rust: String,
    /// One C++ file for each `.hdp` file with entries; none if a diagnostic is an error.
    pub cpp: Vec<GeneratedFile>,
    /// One CUDA file, `<stem>.cu`, for each `.hdp` file with entries that have versions for a GPU, if [`Options::cuda`]; none if a
    /// diagnostic is an error.
    pub cuda: Vec<GeneratedFile>,
    /// A CUDA file that compiles if the native headers do, and all that the CUDA files use of them: none if they use nothing.
    pub natives: Option<GeneratedFile>,
    /// Errors and warnings, in order of file and position.
    pub diagnostics: Vec<Diagnostic>,
    /// The versions of each entry, file by file.
    pub versions: Vec<EntryVersions>,
    /// Entries of tuning records that are not used.
    pub idle_records: Vec<(String, IdleRecord)>,
}

/// An entry and its versions for CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryVersions {
    /// Name of the C++ file without extension.
    pub stem: String,
    /// `file::function`
    pub name: String,
    /// The part of its symbols that names the entry.
    pub symbol: String,
    /// Names of its plans.
    pub plans: Vec<String>,
}
