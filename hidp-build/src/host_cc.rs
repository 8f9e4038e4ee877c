//! Compiles the generated C++: once for each instruction set.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::cargo;
use crate::objects::{Object, Unit, compile_cpp, excerpt, write};
use crate::report::Problem;
use crate::sizes::SECONDS;
use crate::toolchain::Toolchain;
use hidp_emit::openmp::FLAGS;
use hidp_emit::rust::Isa;
use hidp_syntax::diag::Code;

/// What is compiled, and how.
pub(crate) struct Job<'a> {
    pub(crate) toolchain: &'a Toolchain,
    /// The folder with the C++ files, where objects go too.
    pub(crate) out_dir: &'a Path,
    /// C++ files in `out_dir`.
    pub(crate) files: &'a [String],
    pub(crate) isas: &'a [Isa],
    /// Folders with the run time's headers.
    pub(crate) include: &'a [PathBuf],
    /// Native headers are relative to this folder. System headers are not looked for there, whatever lies in it.
    pub(crate) root: &'a Path,
    pub(crate) effort: Effort,
}

/// How much the compiler does for what processors run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    Most,
    /// For tests, which call it a few times: half the time to compile it. Of long files, as quickly as can be.
    Some,
    /// For tests of device code: as quickly as can be.
    Least,
}

/// Bytes of a file beyond which the compiler may take as long with `-O1` as with `-O3`: most of it is one version after another.
const LONG: u64 = 400_000;

impl Effort {
    fn flag(self, bytes: u64) -> &'static str {
        match self {
            Effort::Most => "-O3",
            Effort::Some if bytes <= LONG => "-O1",
            Effort::Some | Effort::Least => "-O0",
        }
    }
}

/// The objects to make.
pub(crate) fn units<'a>(job: &'a Job<'a>) -> impl Iterator<Item = CppUnit<'a>> {
    job.files.iter().flat_map(move |file| job.isas.iter().map(move |&isa| CppUnit { job, file, isa }))
}

/// One file for one instruction set.
pub(crate) struct CppUnit<'a> {
    job: &'a Job<'a>,
    file: &'a str,
    isa: Isa,
}

impl Unit for CppUnit<'_> {
    fn file(&self) -> &str {
        self.file
    }

    fn object(&self) -> Object<'_> {
        let stem = self.file.trim_end_matches(".cpp");
        let name = format!("{stem}.{}", self.isa.name());
        let inputs = (self.job.toolchain.identity(), self.flags(), self.job.include, self.job.root, self.file);
        let key = format!("{:016x}", cargo::hash(&inputs));
        Object { out_dir: self.job.out_dir, name, key, besides: &[] }
    }

    fn compile(&self, object: &Object<'_>) -> Result<Vec<PathBuf>, Problem> {
        let mut command = self.job.toolchain.command();
        command.args(self.flags());
        for folder in self.job.include {
            command.arg("-I").arg(folder);
        }
        command.arg("-iquote").arg(self.job.root);
        let start = Instant::now();
        let source = self.job.out_dir.join(self.file);
        let files = compile_cpp(command, &source, object, |command, output| self.failed(command, output))?;
        write(&object.path(SECONDS), &format!("{:.1}", start.elapsed().as_secs_f64()))?;
        Ok(files)
    }
}

impl CppUnit<'_> {
    fn flags(&self) -> Vec<String> {
        // A file that is not there fails when it is compiled.
        let bytes = fs::metadata(self.job.out_dir.join(self.file)).map_or(0, |metadata| metadata.len());
        let effort = |flag| if flag == Effort::Most.flag(bytes) { self.job.effort.flag(bytes) } else { flag };
        let own = FLAGS.iter().map(|&flag| effort(flag).to_owned());
        let threads = self.job.toolchain.thread_flags();
        // Line tables only: debuggers and profilers find the `.hdp` lines.
        let branches = self.job.toolchain.branch_flags().iter().map(|&flag| flag.to_owned());
        own.chain(Toolchain::isa_flags(self.isa)).chain(threads).chain(branches).chain(["-g1".to_owned()]).collect()
    }

    fn failed(&self, command: &str, output: &str) -> Problem {
        let headline = format!("the C++ compiler failed on `{}` for `{}`", self.file, self.isa.name());
        let problem = Problem::new(Code::CompilerFailed, headline).note(excerpt(output)).note(command);
        if output.contains("-march") {
            problem.help("this compiler is too old: GCC 11 and Clang 12 know the levels of x86-64")
        } else {
            problem
        }
    }
}
