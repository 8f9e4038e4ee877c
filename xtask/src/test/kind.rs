//! The kinds of tests, as data. A new test belongs to the kind whose picks name it most closely, so that none is left out.

use super::options::Scope;

#[derive(Debug)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    /// The smallest scope that has it.
    pub(super) scope: Scope,
    pub(super) work: Work,
    /// What tests must have that not every machine has.
    pub(super) needs: Needs,
    /// Folders and files that a result depends on. One that passed is kept until one of them changes.
    pub(super) reads: &'static [&'static str],
    /// Folders of cases that `--case` chooses from.
    pub(super) cases: &'static [&'static str],
    /// Whether `--seed` means anything to it.
    pub(super) has_seeds: bool,
    /// Settings for all scopes, and further ones for some.
    variables: &'static [(&'static str, &'static str)],
    variables_of: &'static [(Scope, &'static str, &'static str)],
    /// Seconds of processor from nothing, in the scope `cargo xtask test`.
    pub(super) budget: u32,
    /// Whether Clang compiles some of it, too, where it is there.
    pub(super) has_clang: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Builds the tests. Nothing else can be done without.
    Build,
    /// Runs the tests that these picks name more closely than those of any other kind.
    Tests(&'static [Pick]),
    /// Runs what documentation of the libraries shows.
    Documentation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    Nvcc,
}

/// Tests by package, test program and module or name. What is empty is any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pick(pub(super) &'static str, pub(super) &'static str, pub(super) &'static str);

/// The packages of the compiler, and this one.
pub(super) const COMPILER_PACKAGES: [&str; 12] = [
    "hidp-build",
    "hidp-fit",
    "hidp-syntax",
    "hidp-ir",
    "hidp-prove",
    "hidp-check",
    "hidp-pass",
    "hidp-plan",
    "hidp-lower",
    "hidp-emit",
    "hidp-explain",
    "xtask",
];

const COMPILER_PICKS: [Pick; 12] = {
    let mut picks = [Pick("", "", ""); 12];
    let mut at = 0;
    while at < picks.len() {
        picks[at] = Pick(COMPILER_PACKAGES[at], "", "");
        at += 1;
    }
    picks
};

/// The compiler and what generated code includes.
const GENERATED: &[&str] = &["hidp-build", "hidp-std/include", "hidp-sys", "Cargo.toml", "Cargo.lock"];
/// The same with programs by hand, and what runs their PTX.
const COMPILED_BY_NVCC: &[&str] =
    &["hidp-build", "hidp-std/include", "hidp-sys", "benches/peers/cuda", "benches/ptx", "Cargo.toml", "Cargo.lock"];
/// All but documents, of which tests read the registry of plans' words.
const CODE: &[&str] =
    &["hidp-build", "hidp-std", "hidp-sys", "examples", "benches", "docs/design/plan.md", "Cargo.toml", "Cargo.lock"];
const EVERYTHING: &[&str] = &[""];

const fn file_tests(module: &'static str) -> Pick {
    Pick("hidp-build", "filetests", module)
}

const fn parts(module: &'static str) -> Pick {
    Pick("hidp-build", "parts", module)
}

const USUAL: Kind = Kind {
    name: "",
    what: "",
    scope: Scope::Usual,
    work: Work::Build,
    needs: Needs::Nothing,
    reads: EVERYTHING,
    cases: &[],
    has_seeds: false,
    variables: &[],
    variables_of: &[],
    budget: 0,
    has_clang: false,
};

/// In the order in which they begin: first what is quick and fails often, then what takes longest, mostly with one processor.
pub(super) const KINDS: &[Kind] = &[
    Kind { name: "build", what: "compiles tests, examples and benchmarks", scope: Scope::Quick, budget: 330, ..USUAL },
    Kind {
        name: "cases",
        what: "programs that are parsed, refused, rendered, fused",
        scope: Scope::Quick,
        work: Work::Tests(&[file_tests("")]),
        reads: &["hidp-build", "docs/errors.md", "Cargo.lock"],
        cases: &["parse", "check", "render", "fuse"],
        variables: &[("HIDP_CUDA", "off")],
        budget: 8,
        ..USUAL
    },
    Kind {
        name: "compiler",
        what: "tests of the compiler's parts",
        scope: Scope::Quick,
        work: Work::Tests(&COMPILER_PICKS),
        reads: CODE,
        budget: 75,
        ..USUAL
    },
    Kind {
        name: "documents",
        what: "what documents say of the compiler, and xtask, which reads all files",
        scope: Scope::Quick,
        work: Work::Tests(&[
            parts("docs"),
            parts("edge_cases"),
            Pick("hidp-plan", "hidp_plan", ""),
            Pick("xtask", "xtask", ""),
            Pick("xtask", "cuda_toolkit", ""),
        ]),
        budget: 12,
        ..USUAL
    },
    Kind {
        name: "emit",
        what: "emitted C++ and CUDA as written down, and taken by the compilers without a warning",
        scope: Scope::Quick,
        work: Work::Tests(&[file_tests("emit")]),
        reads: GENERATED,
        cases: &["emit"],
        variables_of: &[(Scope::Quick, "HIDP_CUDA", "off")],
        budget: 36,
        ..USUAL
    },
    Kind {
        name: "run",
        what: "every plan of every entry, on threads and on the executor, beside the interpreter; by GCC and Clang",
        scope: Scope::Quick,
        work: Work::Tests(&[file_tests("run")]),
        reads: GENERATED,
        cases: &["run"],
        has_seeds: true,
        variables_of: &[(Scope::Quick, "HIDP_RUN", "quick"), (Scope::Full, "HIDP_RUN", "all")],
        budget: 500,
        has_clang: true,
        ..USUAL
    },
    Kind {
        name: "build scripts",
        what: "packages of users, built by cargo",
        work: Work::Tests(&[Pick("hidp-build", "cargo", "")]),
        reads: &["hidp-build", "hidp-std", "hidp-sys", "docs/tuning.md", "Cargo.toml", "Cargo.lock"],
        variables_of: &[(Scope::Full, "HIDP_RUN", "all")],
        budget: 80,
        ..USUAL
    },
    Kind {
        name: "random",
        what: "random programs, compiled, beside the interpreter",
        work: Work::Tests(&[file_tests("random_native")]),
        reads: GENERATED,
        has_seeds: true,
        variables_of: &[(Scope::Full, "HIDP_RUN", "all")],
        budget: 45,
        has_clang: true,
        ..USUAL
    },
    Kind {
        name: "lanes",
        what: "nests of cases of kind `run` with whole iterations in vector lanes wherever they can be, beside the interpreter",
        work: Work::Tests(&[file_tests("lanes")]),
        reads: GENERATED,
        cases: &["run"],
        variables_of: &[(Scope::Full, "HIDP_RUN", "all")],
        budget: 10,
        ..USUAL
    },
    Kind {
        name: "executor",
        what: "what the executor must find, and the primitives for devices on it",
        work: Work::Tests(&[
            file_tests("device_units"),
            file_tests("lines"),
            file_tests("wrong_kernels"),
            file_tests("counted"),
            file_tests("counts"),
            parts("device_prims"),
        ]),
        reads: GENERATED,
        variables: &[("HIDP_CUDA", "off")],
        variables_of: &[(Scope::Full, "HIDP_RUN", "all")],
        budget: 85,
        ..USUAL
    },
    Kind {
        name: "nvcc",
        what: "headers, primitives and units for devices, compiled by nvcc",
        work: Work::Tests(&[
            file_tests("nvcc"),
            file_tests("device_units::nvcc_takes_every_device_unit"),
            file_tests("papers::nvcc_takes_programs_of_papers"),
            file_tests("ptx"),
        ]),
        needs: Needs::Nvcc,
        reads: COMPILED_BY_NVCC,
        budget: 65,
        ..USUAL
    },
    Kind {
        name: "sanitizers",
        what: "cases of kind `run` with the sanitizers for memory and undefined behaviour, launches with that for threads",
        work: Work::Tests(&[file_tests("sanitized")]),
        reads: GENERATED,
        budget: 42,
        ..USUAL
    },
    Kind {
        name: "run time",
        what: "contexts, views, devices, primitives as functions, the tuner",
        work: Work::Tests(&[Pick("hidp-std", "", ""), Pick("hidp-sys", "", "")]),
        reads: &["hidp-build", "hidp-std", "hidp-sys", "Cargo.toml", "Cargo.lock"],
        budget: 40,
        ..USUAL
    },
    Kind {
        name: "programs",
        what: "examples, benchmarks, and programs for devices on the executor",
        work: Work::Tests(&[Pick("", "", "")]),
        budget: 40,
        ..USUAL
    },
    Kind {
        name: "documentation",
        what: "what the documentation of the libraries shows",
        work: Work::Documentation,
        reads: &[
            "hidp-build",
            "hidp-std",
            "hidp-sys",
            "README.md",
            "docs/gpu.md",
            "docs/tuning.md",
            "Cargo.toml",
            "Cargo.lock",
        ],
        budget: 25,
        ..USUAL
    },
];

pub(super) fn by_name(name: &str) -> &'static Kind {
    KINDS.iter().find(|kind| kind.name == name).expect("a kind of the table")
}

impl Kind {
    /// What its tests are told.
    pub(super) fn variables(&self, scope: Scope) -> Vec<(&'static str, &'static str)> {
        let of_scope = self.variables_of.iter().filter(|(of, ..)| *of == scope);
        self.variables.iter().copied().chain(of_scope.map(|&(_, name, value)| (name, value))).collect()
    }

    /// Whether it runs a test.
    pub(super) fn runs(&self, package: &str, program: &str, test: &str) -> bool {
        match self.work {
            Work::Tests(_) => KINDS
                .iter()
                .max_by_key(|kind| kind.closeness(package, program, test))
                .is_some_and(|kind| kind.name == self.name),
            Work::Build | Work::Documentation => false,
        }
    }

    fn closeness(&self, package: &str, program: &str, test: &str) -> usize {
        match self.work {
            Work::Tests(picks) => {
                picks.iter().map(|pick| pick.closeness(package, program, test)).max().unwrap_or_default()
            }
            Work::Build | Work::Documentation => 0,
        }
    }
}

impl Pick {
    /// How closely it names a test; 0 if it means another.
    fn closeness(&self, package: &str, program: &str, test: &str) -> usize {
        let is_any_or = |part: &str, whole: &str| part.is_empty() || part == whole;
        let is_inside =
            self.2.is_empty() || test == self.2 || test.strip_prefix(self.2).is_some_and(|rest| rest.starts_with("::"));
        if is_any_or(self.0, package) && is_any_or(self.1, program) && is_inside {
            let named = [self.0, self.1].into_iter().filter(|part| !part.is_empty()).count();
            1 + named + self.2.len()
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(package: &str, program: &str, test: &str) -> Vec<&'static str> {
        KINDS.iter().filter(|kind| kind.runs(package, program, test)).map(|kind| kind.name).collect()
    }

    #[test]
    fn every_test_belongs_to_one_kind() {
        assert_eq!(of("hidp-build", "filetests", "check"), ["cases"]);
        assert_eq!(of("hidp-build", "filetests", "random::seeds"), ["cases"]);
        assert_eq!(of("hidp-build", "filetests", "run"), ["run"]);
        assert_eq!(of("hidp-build", "filetests", "run::entries"), ["run"]);
        assert_eq!(of("hidp-build", "filetests", "lanes::x"), ["lanes"]);
        assert_eq!(of("hidp-build", "filetests", "device_units::grids"), ["executor"]);
        assert_eq!(of("hidp-build", "filetests", "counted::banks_take_turns"), ["executor"]);
        assert_eq!(of("hidp-build", "filetests", "device_units::nvcc_takes_every_device_unit"), ["nvcc"]);
        assert_eq!(of("hidp-build", "filetests", "papers::nvcc_takes_programs_of_papers"), ["nvcc"]);
        assert_eq!(of("hidp-build", "filetests", "ptx::table::x"), ["nvcc"]);
        assert_eq!(of("hidp-build", "parts", "proofs::x"), ["compiler"]);
        assert_eq!(of("hidp-build", "ir", "par::x"), ["compiler"]);
        assert_eq!(of("hidp-build", "parts", "docs::x"), ["documents"]);
        assert_eq!(of("hidp-plan", "hidp_plan", "notation::x"), ["documents"]);
        assert_eq!(of("xtask", "xtask", "x"), ["documents"]);
        assert_eq!(of("xtask", "cuda_toolkit", "x"), ["documents"]);
        assert_eq!(of("hidp-build", "parts", "device_prims::x"), ["executor"]);
        assert_eq!(of("hidp-build", "cargo", "x"), ["build scripts"]);
        assert_eq!(of("hidp-std", "calls", "x"), ["run time"]);
        assert_eq!(of("gemm", "gemm", "x"), ["programs"]);
    }

    #[test]
    fn every_part_of_the_compiler_is_tested_quickly() {
        let parts = std::fs::read_dir("../hidp-build/crates").unwrap();
        for part in parts {
            let name = format!("hidp-{}", part.unwrap().file_name().to_string_lossy());
            assert!(COMPILER_PACKAGES.contains(&name.as_str()), "`{name}` is missing");
        }
    }

    #[test]
    fn kinds_have_names_and_budgets() {
        assert!(KINDS.iter().all(|kind| !kind.name.is_empty() && !kind.what.is_empty() && kind.budget > 0));
        assert_eq!(KINDS.iter().filter(|kind| kind.work == Work::Build).count(), 1);
    }
}
