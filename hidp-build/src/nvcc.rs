//! NVIDIA's compiler: whether there is one, what it is told, and what it says of kernels.

mod arch;
mod blocks;
mod kernel_name;
mod places;
mod probe;
mod ptxas;
mod tool;
mod unit;

use std::env;
use std::ffi::OsString;

pub use ptxas::{Kernel, kernels, table};
pub use tool::Checker;

pub(crate) use arch::Archs;
use places::Candidate;
pub(crate) use probe::Nvcc;
pub(crate) use unit::{Job, KERNELS, report, units};

use crate::cargo::{self, Cargo};
use crate::report::Problem;
use crate::toolchain::Toolchain;
use hidp_syntax::diag::Code;

/// Whether kernels are also compiled for NVIDIA GPUs. The environment variable `HIDP_CUDA` (`auto`, `off`, `required`, `simulated`) overrides
/// the build script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cuda {
    /// If nvcc is found.
    #[default]
    Auto,
    /// Never.
    Off,
    /// Always: without nvcc the build fails.
    Required,
    /// The C++ compiler compiles the same text for an executor on the host, which checks every access of every thread. For tests of
    /// programs without a GPU, with `hidp_std`'s feature `simulated-device`; slow.
    Simulated,
}

impl Cuda {
    fn parse(text: &str) -> Result<Self, Problem> {
        match text {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            "required" => Ok(Self::Required),
            "simulated" => Ok(Self::Simulated),
            _ => Err(Problem::new(Code::BadCudaOption, format!("`HIDP_CUDA` is `{text}`"))
                .help("it may be `auto`, `off`, `required` or `simulated`")),
        }
    }
}

/// Why a build on this machine makes no kernels for GPUs, as far as environment variables and programs tell.
pub(crate) fn left_out(variable: impl Fn(&str) -> Option<OsString>) -> Result<Option<String>, Problem> {
    Ok(match asked(variable("HIDP_CUDA"), Cuda::Auto)? {
        Cuda::Off => Some("`HIDP_CUDA` is `off`".to_owned()),
        Cuda::Required | Cuda::Simulated => None,
        Cuda::Auto => places::candidates(variable).is_empty().then(|| {
            format!("there is no nvcc in {}; `HIDP_CUDA=simulated` shows what it would compile", places::LIST)
        }),
    })
}

/// What a value of `HIDP_CUDA` says; `otherwise` where it says nothing.
fn asked(value: Option<OsString>, otherwise: Cuda) -> Result<Cuda, Problem> {
    let text = value.map(|value| value.to_string_lossy().into_owned());
    text.filter(|text| !text.is_empty()).map_or(Ok(otherwise), |text| Cuda::parse(&text))
}

/// What was decided for a build.
pub(crate) struct Choice {
    pub(crate) nvcc: Option<Nvcc>,
    /// Why there is none, for the report.
    pub(crate) reason: String,
    /// An nvcc was found and is not disabled, but cannot be used.
    pub(crate) warning: Option<Problem>,
}

/// Every environment variable that nvcc or the search for it reads, `PATH` apart: it differs between a terminal and an editor, and
/// cargo would build again whenever the two take turns. A program that was found is watched instead.
const VARIABLES: [&str; 8] = [
    "HIDP_CUDA",
    "HIDP_CUDA_ARCH",
    places::VARIABLES[0],
    places::VARIABLES[1],
    places::VARIABLES[2],
    "NVCC_CCBIN",
    "NVCC_PREPEND_FLAGS",
    "NVCC_APPEND_FLAGS",
];

/// What the build script and the environment say.
pub(crate) struct Wish {
    cuda: Cuda,
    archs: Archs,
    /// Why there cannot be any, whatever is installed.
    obstacle: Option<String>,
    candidates: Vec<Candidate>,
}

impl Wish {
    /// Reads it, and looks for programs that may be nvcc.
    pub(crate) fn read(asked: Cuda, archs: &[String], cargo: &Cargo) -> Result<Self, Problem> {
        VARIABLES.iter().for_each(|name| cargo::watch_variable(name));
        let text = |name: &str| env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let cuda = self::asked(env::var_os("HIDP_CUDA"), asked)?;
        let named = text("HIDP_CUDA_ARCH").filter(|text| !text.trim().is_empty());
        let archs = match &named {
            Some(named) => Archs::parse(named.split([',', ' ', ';'])),
            None => Archs::parse(archs.iter().map(String::as_str)),
        }?;
        let obstacle = match cuda {
            Cuda::Off => Some("it was not wanted".to_owned()),
            Cuda::Simulated => Some("it is simulated".to_owned()),
            Cuda::Auto | Cuda::Required if cargo.docs_only => Some("only documentation is made".to_owned()),
            Cuda::Auto | Cuda::Required => foreign(&cargo::target(), &cargo::host()),
        };
        let candidates = match obstacle {
            Some(_) => Vec::new(),
            None => places::candidates(|name| env::var_os(name)),
        };
        Ok(Self { cuda, archs, obstacle, candidates })
    }

    /// Whether CUDA should be generated: there may be an nvcc for it.
    pub(crate) fn may_have(&self) -> bool {
        self.is_simulated() || !self.candidates.is_empty()
    }

    /// Whether the C++ compiler compiles it.
    pub(crate) fn is_simulated(&self) -> bool {
        self.cuda == Cuda::Simulated
    }

    /// The first nvcc that can be used.
    pub(crate) fn fulfil(&self, toolchain: &Toolchain) -> Result<Choice, Problem> {
        let mut refusals = Vec::new();
        for Candidate { program, is_named } in &self.candidates {
            match Nvcc::probe(program, &self.archs, toolchain) {
                Ok(nvcc) => {
                    cargo::watch(&nvcc.program);
                    return Ok(Choice { nvcc: Some(nvcc), reason: String::new(), warning: None });
                }
                Err(why) if *is_named => {
                    let reason = format!("`NVCC` names what cannot be used: `{}`: {why}", program.display());
                    return Err(missing(&reason));
                }
                Err(why) => refusals.push(format!("`{}`: {why}", program.display())),
            }
        }
        self.without(&refusals)
    }

    /// Entries that use native functions are for the CPU alone, unless more was demanded.
    pub(crate) fn without_natives(&self, problem: Problem) -> Result<Problem, Problem> {
        let help = "include `<hidp/function.h>` and write `HIDP_FUNCTION` before each function";
        if self.cuda == Cuda::Required {
            return Err(problem.help(help));
        }
        let headline =
            "entries that use native functions or structs run on the CPU alone: nvcc does not take their headers";
        Ok(problem.again(Code::NativesOnHost, headline).help(help))
    }

    /// A build for the CPU alone, unless more was demanded.
    fn without(&self, refusals: &[String]) -> Result<Choice, Problem> {
        let reason = match (&self.obstacle, refusals) {
            (Some(obstacle), _) => obstacle.clone(),
            (None, []) => format!("no nvcc in {}", places::LIST),
            (None, refusals) => refusals.join("\n"),
        };
        if self.cuda == Cuda::Required {
            return Err(missing(&reason));
        }
        let warning = (!refusals.is_empty()).then(|| {
            let headline = "kernels are compiled for the CPU alone: nvcc cannot be used";
            Problem::new(Code::IdleNvcc, headline).note(&reason).help("say `HIDP_CUDA=off` if that is meant")
        });
        Ok(Choice { nvcc: None, reason, warning })
    }
}

/// Why no GPU can be had with this target, if so.
fn foreign(target: &str, host: &str) -> Option<String> {
    let is_known =
        ["x86_64-", "aarch64-"].iter().any(|start| target.starts_with(start)) && target.contains("-linux-gnu");
    if !is_known {
        return Some(format!("nvcc does not compile for `{target}`"));
    }
    (target != host).then(|| format!("the target `{target}` is not the machine that builds, `{host}`"))
}

fn missing(reason: &str) -> Problem {
    Problem::new(Code::NoNvcc, "CUDA is demanded, and there is no nvcc that can be used").note(reason).help(
        "install NVIDIA's CUDA toolkit, 12.0 or later, and name its folder: `CUDA_HOME=/usr/local/cuda`; nvcc alone is also\n\
         a Python package: `pip install nvidia-cuda-nvcc nvidia-cuda-crt nvidia-nvvm nvidia-cuda-runtime nvidia-cuda-cccl`\n\
         (one version for all), or build for the CPU alone: `HIDP_CUDA=off`",
    )
}

#[cfg(test)]
mod tests;
