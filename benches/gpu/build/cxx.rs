//! The C++ library within the program: that of a new system asks for a newer C library than many machines with GPUs have.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Lets the linker find the static library first, in a folder that has nothing else. Without one the program needs the shared one.
pub(crate) fn link_statically(out: &Path) {
    println!("cargo::rerun-if-env-changed=CXX");
    let compiler = env::var("CXX").unwrap_or_else(|_| "c++".into());
    let said = Command::new(compiler).arg("-print-file-name=libstdc++.a").output();
    let found = said.ok().map(|said| PathBuf::from(String::from_utf8_lossy(&said.stdout).trim()));
    let Some(library) = found.filter(|path| path.is_absolute() && path.exists()) else { return };
    let folder = out.join("cxx");
    let link = folder.join("libstdc++.a");
    fs::create_dir_all(&folder).expect("OUT_DIR is writable");
    // It may be that of another compiler.
    let _ = fs::remove_file(&link);
    fs::copy(library, link).expect("OUT_DIR is writable");
    println!("cargo::rustc-link-search=native={}", folder.display());
}
