//! Outputs of the C++ compiler that are named after all that they are made from, and made once.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

pub(crate) fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("run");
    fs::create_dir_all(&folder).expect("a folder for outputs");
    folder
}

/// FNV-1a, to name outputs after what they are made from.
pub(crate) fn hash(mut state: u64, bytes: &[u8]) -> u64 {
    for &byte in bytes {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    state
}

/// A C++ compiler.
pub(crate) struct Compiler {
    pub(crate) name: String,
    /// What it says of itself; nothing where it is not there.
    pub(crate) version: String,
}

/// The compiler of the product's usual builds.
pub(crate) fn compiler() -> &'static Compiler {
    static COMPILER: OnceLock<Compiler> = OnceLock::new();
    COMPILER.get_or_init(|| Compiler::named(std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned())))
}

/// A number that changes with the usual compiler and with any header of the run time that code for processors includes.
pub(crate) fn headers_hash() -> u64 {
    compiler().headers_hash()
}

/// A number that changes with the usual compiler and with any header of the run time.
pub(crate) fn all_headers_hash() -> u64 {
    compiler().all_headers_hash()
}

fn hash_but(without: &[PathBuf]) -> u64 {
    let mut files = Vec::new();
    for folder in ["hidp-std/include", "hidp-sys/include", "hidp-sys/src", "hidp-build/tests/cases/run/natives"] {
        collect(&root().join(folder), without, &["h", "hpp", "cuh", "cpp"], &mut files);
    }
    files.sort();
    files.iter().fold(0xcbf2_9ce4_8422_2325, |state, file| hash(state, &fs::read(file).expect("a readable header")))
}

/// Files whose names end so, in a folder and those in it.
pub(crate) fn collect(folder: &Path, without: &[PathBuf], ends: &[&str], files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            if !without.contains(&path) {
                collect(&path, without, ends, files);
            }
        } else if path.extension().and_then(OsStr::to_str).is_some_and(|end| ends.contains(&end)) {
            files.push(path);
        }
    }
}

/// What a case needs of its own helpers differs from case to case, and Clang names those in namespaces without name too. Tests that cannot fault
/// are joined by `&`, without a branch.
const CLANG: &[&str] = &[
    "-Wno-unused-function",
    "-Wno-unused-const-variable",
    "-Wno-integer-overflow",
    "-Wno-bitwise-instead-of-logical",
    // What a precompiled header makes of its templates is made once.
    "-fpch-instantiate-templates",
];

/// What a file needs of memory, GCC would otherwise look through again and again for what is no longer used.
const GCC: &[&str] = &["--param=ggc-min-heapsize=1048576"];

/// Flags by which files include a header first that is compiled already.
pub(crate) type First = Result<Vec<String>, String>;

/// Runs the usual compiler with these flags on `inputs` unless `output` is there.
pub(crate) fn compile(output: &Path, flags: &[&str], inputs: &[PathBuf]) -> Result<(), String> {
    compiler().compile(output, flags, inputs)
}

impl Compiler {
    pub(crate) fn named(name: String) -> Compiler {
        let output = Command::new(&name).arg("--version").output();
        let version = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        Compiler { name, version: version.unwrap_or_default() }
    }

    fn is_clang(&self) -> bool {
        self.version.contains("clang")
    }

    /// A number that changes with the compiler and with any header of the run time that code for processors includes.
    pub(crate) fn headers_hash(&self) -> u64 {
        static HASH: OnceLock<u64> = OnceLock::new();
        let of_devices = ["hidp-std/include/hidp/cuda", "hidp-std/include/hidp/simt"].map(|folder| root().join(folder));
        hash(*HASH.get_or_init(|| hash_but(&of_devices)), self.version.as_bytes())
    }

    /// A number that changes with the compiler and with any header of the run time.
    pub(crate) fn all_headers_hash(&self) -> u64 {
        static HASH: OnceLock<u64> = OnceLock::new();
        hash(*HASH.get_or_init(|| hash_but(&[])), self.version.as_bytes())
    }

    /// Compiles `inputs` with these flags unless `output` is there.
    pub(crate) fn compile(&self, output: &Path, flags: &[&str], inputs: &[PathBuf]) -> Result<(), String> {
        if output.is_file() {
            return Ok(());
        }
        let temporary = output.with_extension(format!("{}.part", std::process::id()));
        let result = Command::new(&self.name)
            .args(["-Wall", "-Wextra", "-Werror"])
            .args(if self.is_clang() { CLANG } else { GCC })
            .args(flags)
            .arg("-I")
            .arg(root().join("hidp-std/include"))
            .arg("-I")
            .arg(root().join("hidp-sys/include"))
            .args(inputs)
            .arg("-o")
            .arg(&temporary)
            .output()
            .map_err(|error| format!("cannot start the C++ compiler `{}`: {error}", self.name))?;
        if !result.status.success() {
            return Err(String::from_utf8_lossy(&result.stderr).into_owned());
        }
        fs::rename(&temporary, output).map_err(|error| error.to_string())
    }

    /// Compiles a header; files that cannot use that are an error. `key` changes with whatever the header includes.
    pub(crate) fn precompiled(&self, name: &str, text: &str, key: u64, flags: &[&str]) -> First {
        let key = flags.iter().fold(hash(key, text.as_bytes()), |state, flag| hash(state, flag.as_bytes()));
        let folder = folder().join(format!("{name}-{key:016x}"));
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let header = folder.join(format!("{name}.hpp"));
        let compiled = folder.join(format!("{name}.hpp.{}", if self.is_clang() { "pch" } else { "gch" }));
        if !compiled.is_file() {
            // Another process may be about to read it.
            let temporary = header.with_extension(format!("{}.part", std::process::id()));
            fs::write(&temporary, text)
                .and_then(|()| fs::rename(&temporary, &header))
                .map_err(|error| error.to_string())?;
            // Clang otherwise wants what is included to be as old as it was.
            let of_clang: &[&str] = if self.is_clang() { &["-Xclang", "-fno-pch-timestamp"] } else { &[] };
            self.compile(&compiled, &[flags, of_clang, &["-x", "c++-header"]].concat(), std::slice::from_ref(&header))?;
        }
        let path = |path: PathBuf| path.display().to_string();
        Ok(if self.is_clang() {
            vec!["-include-pch".to_owned(), path(compiled)]
        } else {
            vec!["-Winvalid-pch".to_owned(), "-include".to_owned(), path(header)]
        })
    }
}

/// The executor of device code, which every file that is compiled with `-DHIDP_SIMT_LIBRARY=1` needs.
pub(crate) fn executor() -> Result<PathBuf, String> {
    static EXECUTOR: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let make = || {
        let output = folder().join(format!("executor-{:016x}.so", all_headers_hash()));
        let source = output.with_extension("cpp");
        fs::write(&source, "#include <hidp/simt/device.hpp>\n").map_err(|error| error.to_string())?;
        let flags = ["-std=c++17", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-semantic-interposition"];
        let settings = ["-ftls-model=initial-exec", "-DHIDP_SIMT=1", "-DHIDP_ISA=simt", "-DHIDP_SIMT_LIBRARY=2"];
        compile(&output, &[&flags[..], &settings].concat(), &[source]).map(|()| output)
    };
    EXECUTOR.get_or_init(make).clone()
}

/// What the run time's headers ask for by pragmas, which a precompiled header loses.
pub(crate) const LOST: [&str; 8] = [
    "-Wno-unknown-warning-option",
    "-Wno-unknown-pragmas",
    "-Wno-type-limits",
    "-Wno-tautological-compare",
    "-Wno-overflow",
    "-Wno-misleading-indentation",
    "-Wno-maybe-uninitialized",
    "-Wno-aggressive-loop-optimizations",
];
