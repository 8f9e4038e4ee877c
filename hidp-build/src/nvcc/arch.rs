//! The architectures that kernels are compiled for.

use std::fmt;

use crate::report::Problem;
use hidp_syntax::diag::Code;

/// Code for 8.0 also runs on 8.6 and 8.9, and its PTX is compiled by the driver, once, for everything newer.
const DEFAULT: &str = "sm_80";

/// An architecture: `sm_90`, `sm_90a`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Arch {
    number: u32,
    /// `a` or `f`: code that newer GPUs do not run.
    suffix: Option<char>,
}

impl Arch {
    fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("sm_").unwrap_or(text);
        let suffix = digits.chars().last().filter(|last| matches!(last, 'a' | 'f'));
        let digits = suffix.map_or(digits, |suffix| digits.strip_suffix(suffix).unwrap_or(digits));
        let is_number = (2..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse().ok()).flatten().map(|number| Self { number, suffix })
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.number)?;
        self.suffix.map_or(Ok(()), |suffix| write!(f, "{suffix}"))
    }
}

/// Architectures, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Archs(Vec<Arch>);

impl Archs {
    /// Reads names as the build script or `HIDP_CUDA_ARCH` gives them; nothing stands for the default.
    pub(crate) fn parse<'a>(names: impl Iterator<Item = &'a str>) -> Result<Self, Problem> {
        let parsed = names.filter(|name| !name.is_empty()).map(|name| Arch::parse(name).ok_or_else(|| unknown(name)));
        let mut archs = parsed.collect::<Result<Vec<Arch>, Problem>>()?;
        if archs.is_empty() {
            archs.extend(Arch::parse(DEFAULT));
        }
        archs.sort();
        archs.dedup();
        Ok(Self(archs))
    }

    /// What nvcc is told: code for each, and PTX of the newest for GPUs that are newer still.
    pub(crate) fn flags(&self) -> Vec<String> {
        let code = self.0.iter().map(|arch| {
            let number = arch.to_string().replace("sm_", "");
            format!("-gencode=arch=compute_{number},code=sm_{number}")
        });
        let newest = self.0.iter().map(|arch| arch.number).max();
        code.chain(newest.map(|number| format!("-gencode=arch=compute_{number},code=compute_{number}"))).collect()
    }
}

impl fmt::Display for Archs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|arch| write!(f, "{arch}, "))?;
        let newest = self.0.iter().map(|arch| arch.number).max().unwrap_or_default();
        write!(f, "PTX of compute_{newest}")
    }
}

fn unknown(name: &str) -> Problem {
    Problem::new(Code::BadCudaOption, format!("`{name}` is no architecture of a GPU"))
        .help("write `sm_90`, several with commas between: `HIDP_CUDA_ARCH=sm_80,sm_90`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archs(names: &[&str]) -> Archs {
        Archs::parse(names.iter().copied()).unwrap()
    }

    #[test]
    fn each_has_code_and_the_newest_ptx() {
        assert_eq!(
            archs(&["sm_100", "80"]).flags(),
            [
                "-gencode=arch=compute_80,code=sm_80",
                "-gencode=arch=compute_100,code=sm_100",
                "-gencode=arch=compute_100,code=compute_100"
            ]
        );
        assert_eq!(archs(&["sm_100", "80", "sm_80"]).to_string(), "sm_80, sm_100, PTX of compute_100");
    }

    #[test]
    fn ptx_is_for_all_newer_gpus() {
        assert_eq!(
            archs(&["sm_90a"]).flags(),
            ["-gencode=arch=compute_90a,code=sm_90a", "-gencode=arch=compute_90,code=compute_90"]
        );
    }

    #[test]
    fn nothing_is_the_default() {
        assert_eq!(archs(&[]).to_string(), "sm_80, PTX of compute_80");
        assert_eq!(archs(&[""]), archs(&["sm_80"]));
    }

    #[test]
    fn other_names_are_errors() {
        for name in ["native", "sm_", "sm_9", "sm_9000", "sm_90x", "90aa", "9.0", "compute_90"] {
            let problem = Archs::parse([name].into_iter()).unwrap_err().to_string();
            assert!(problem.starts_with(&format!("error[HD0917]: `{name}` is no architecture")), "{problem}");
        }
    }
}
