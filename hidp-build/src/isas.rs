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
    let wish = match parse(&cargo::text(VARIABLE))? {
        Some(wish) => wish,
        None => match asked {
            Some(isas) => Wish::These(isas.to_owned()),
            None if cargo::is_release() => Wish::All,
            None => Wish::Native,
        },
    };
    Ok(resolve(wish, &cargo::target(), (cargo::target() == cargo::host()).then(native).flatten()))
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
fn resolve(wish: Wish, target: &str, native: Option<Isa>) -> Vec<Isa> {
    let all = if target.starts_with("x86_64") { vec![Isa::V4, Isa::V3, Isa::V2] } else { vec![Isa::Base] };
    match (wish, native) {
        (Wish::These(mut isas), _) => {
            isas.sort();
            isas.dedup();
            isas.reverse();
            isas
        }
        (Wish::Native, Some(isa)) => vec![isa],
        // Nobody knows what the machine has that will run it.
        (Wish::Native, None) | (Wish::All, _) => all,
    }
}

/// What this machine has, as `hidp_std::Isa::detect` finds it.
#[cfg(target_arch = "x86_64")]
fn native() -> Option<Isa> {
    macro_rules! all {
        ($($feature:tt)*) => { true $(&& is_x86_feature_detected!($feature))* };
    }
    Some(if !all!("cmpxchg16b" "popcnt" "sse3" "ssse3" "sse4.1" "sse4.2") {
        Isa::Base
    } else if !all!("avx" "avx2" "bmi1" "bmi2" "f16c" "fma" "lzcnt" "movbe" "xsave") {
        Isa::V2
    } else if !all!("avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl") {
        Isa::V3
    } else {
        Isa::V4
    })
}

/// Other processors have one set.
#[cfg(not(target_arch = "x86_64"))]
fn native() -> Option<Isa> {
    Some(Isa::Base)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_have_levels_unless_one_machine_is_meant() {
        let (x86, arm) = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu");
        assert_eq!(resolve(Wish::All, x86, Some(Isa::V3)), [Isa::V4, Isa::V3, Isa::V2]);
        assert_eq!(resolve(Wish::Native, x86, Some(Isa::V3)), [Isa::V3]);
        assert_eq!(resolve(Wish::Native, x86, None).len(), 3);
        assert_eq!(resolve(Wish::All, arm, None), [Isa::Base]);
        let these = Wish::These(vec![Isa::V2, Isa::V4, Isa::V2]);
        assert_eq!(resolve(these, x86, Some(Isa::V3)), [Isa::V4, Isa::V2]);
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
