//! Which instruction sets code is compiled for.

use crate::Isa;
use crate::cargo;
use crate::report::Problem;
use hidp_syntax::diag::Code;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wish {
    /// All that the target may have.
    All,
    /// The one that the building machine has.
    Native,
    These(Vec<Isa>),
}

/// What the environment asks for, else the build script, else all in release builds and the machine's own in others.
pub(crate) fn choose(asked: Option<&[Isa]>) -> Result<Vec<Isa>, Problem> {
    cargo::watch_variable(VARIABLE);
    let target = cargo::target();
    let native = (target == cargo::host()).then(native);
    resolve(wish(&cargo::text(VARIABLE), asked, cargo::is_release())?, &target, native)
}

fn wish(variable: &str, asked: Option<&[Isa]>, is_release: bool) -> Result<Wish, Problem> {
    Ok(match (parse(variable)?, asked) {
        (Some(wish), _) => wish,
        (None, Some(isas)) => Wish::These(isas.to_owned()),
        (None, None) if is_release => Wish::All,
        (None, None) => Wish::Native,
    })
}

const VARIABLE: &str = "HIDP_ISAS";

fn parse(text: &str) -> Result<Option<Wish>, Problem> {
    let wrong = || {
        Problem::new(Code::BadIsas, format!("`{VARIABLE}` is `{text}`"))
            .help("it may be `all`, `native`, or a list of `base`, `v2`, `v3` and `v4`")
    };
    match text.trim() {
        "" => Ok(None),
        "all" => Ok(Some(Wish::All)),
        "native" => Ok(Some(Wish::Native)),
        list => {
            let named = |name: &str| [Isa::Base, Isa::V2, Isa::V3, Isa::V4].into_iter().find(|isa| isa.name() == name);
            let isas: Option<Vec<Isa>> = list.split(',').map(|name| named(name.trim())).collect();
            isas.map(|isas| Some(Wish::These(isas))).ok_or_else(wrong)
        }
    }
}

/// The instruction sets for a target, most demanding first; `native` is that of the building machine where that is the target.
fn resolve(wish: Wish, target: &str, native: Option<Isa>) -> Result<Vec<Isa>, Problem> {
    let has_levels = target.starts_with("x86_64");
    match (wish, native) {
        (Wish::These(mut isas), _) => {
            isas.sort();
            isas.dedup();
            isas.reverse();
            match isas.first() {
                None => Err(Problem::new(Code::BadIsas, "`Builder::isas` is given none")),
                Some(level) if *level > Isa::Base && !has_levels => {
                    let headline = format!("`{}` is a level of x86-64, and the target is `{target}`", level.name());
                    Err(Problem::new(Code::BadIsas, headline).help("other targets have `base` alone"))
                }
                Some(_) => Ok(isas),
            }
        }
        (Wish::Native, Some(isa)) => Ok(vec![isa]),
        // The machine that will run it is unknown.
        (Wish::Native, None) | (Wish::All, _) => {
            Ok(if has_levels { vec![Isa::V4, Isa::V3, Isa::V2] } else { vec![Isa::Base] })
        }
    }
}

/// What this machine has, as `hidp_std::Isa::detect` finds it: build scripts are compiled without the run time.
#[cfg(target_arch = "x86_64")]
fn native() -> Isa {
    macro_rules! all {
        ($($feature:tt)*) => { true $(&& is_x86_feature_detected!($feature))* };
    }
    if !all!("cmpxchg16b" "popcnt" "sse3" "ssse3" "sse4.1" "sse4.2") {
        Isa::Base
    } else if !all!("avx" "avx2" "bmi1" "bmi2" "f16c" "fma" "lzcnt" "movbe" "xsave") {
        Isa::V2
    } else if !all!("avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl") {
        Isa::V3
    } else {
        Isa::V4
    }
}

/// Other processors have one set.
#[cfg(not(target_arch = "x86_64"))]
fn native() -> Isa {
    Isa::Base
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    const X86: &str = "x86_64-unknown-linux-gnu";
    const ARM: &str = "aarch64-unknown-linux-gnu";

    #[test]
    fn targets_have_levels_unless_one_machine_is_meant() {
        let of = |wish: Wish, target: &str, native: Option<Isa>| resolve(wish, target, native).unwrap();
        assert_eq!(of(Wish::All, X86, Some(Isa::V3)), [Isa::V4, Isa::V3, Isa::V2]);
        assert_eq!(of(Wish::Native, X86, Some(Isa::V3)), [Isa::V3]);
        assert_eq!(of(Wish::Native, X86, None).len(), 3, "in cross builds");
        assert_eq!(of(Wish::All, ARM, None), [Isa::Base]);
        let these = Wish::These(vec![Isa::V2, Isa::V4, Isa::V2]);
        assert_eq!(of(these, X86, Some(Isa::V3)), [Isa::V4, Isa::V2]);
        assert_eq!(of(Wish::These(vec![Isa::Base]), ARM, None), [Isa::Base]);
    }

    #[test]
    fn what_a_target_cannot_have_is_refused() {
        let refused =
            |isas: &[Isa], target: &str| resolve(Wish::These(isas.into()), target, None).unwrap_err().to_string();
        let level = refused(&[Isa::Base, Isa::V3], ARM);
        assert!(level.contains("`v3` is a level of x86-64, and the target is `aarch64-unknown-linux-gnu`"), "{level}");
        assert!(refused(&[], X86).contains("`Builder::isas` is given none"));
    }

    #[test]
    fn the_environment_goes_before_the_build_script_and_that_before_the_profile() {
        let (v2, v4) = (Wish::These(vec![Isa::V2]), Wish::These(vec![Isa::V4]));
        let asked = Some(&[Isa::V4][..]);
        for is_release in [false, true] {
            assert_eq!(wish("v2", asked, is_release).unwrap(), v2);
            assert_eq!(wish("", asked, is_release).unwrap(), v4);
        }
        assert_eq!(wish("", None, true).unwrap(), Wish::All);
        assert_eq!(wish("", None, false).unwrap(), Wish::Native);
    }

    #[test]
    fn levels_are_told_apart_as_the_run_time_does() {
        let levels = |path: &str| {
            let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
            let lines = text.lines().map(str::trim).filter(|line| line.ends_with("\") {"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(levels("src/isas.rs").len(), 3);
        assert_eq!(levels("src/isas.rs"), levels("../hidp-std/src/isa.rs"));
    }

    #[test]
    fn the_variable_is_read_or_refused() {
        assert_eq!(parse("").unwrap(), None);
        assert_eq!(parse("all").unwrap(), Some(Wish::All));
        assert_eq!(parse("native").unwrap(), Some(Wish::Native));
        assert_eq!(parse("v2, v4").unwrap(), Some(Wish::These(vec![Isa::V2, Isa::V4])));
        for wrong in ["v5", "v2;v3", "All", ","] {
            assert!(parse(wrong).unwrap_err().to_string().contains(&format!("`HIDP_ISAS` is `{wrong}`")), "{wrong}");
        }
    }
}
