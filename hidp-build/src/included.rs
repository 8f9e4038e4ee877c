//! Reads the headers that generated code may include, for the stamps of tuning records.

use std::fs;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use crate::compiler::pipeline::{Headers, includes};

/// The headers of the run time, and the native ones with what they include below `root`. What cannot be read is left out: who compiles will
/// say so.
pub(crate) fn texts(root: &Path, run_time: &[PathBuf], native: &[String]) -> Headers {
    let mut headers = Headers::default();
    for folder in run_time {
        let entries = WalkDir::new(folder.join("hidp")).sort_by_file_name().into_iter().filter_map(Result::ok);
        for entry in entries.filter(|entry| entry.file_type().is_file()) {
            let name = entry.path().strip_prefix(folder).ok().and_then(|path| path.to_str());
            if let (Some(name), Ok(text)) = (name, fs::read_to_string(entry.path())) {
                headers.insert(name.replace('\\', "/"), text);
            }
        }
    }
    let mut open = native.to_vec();
    while let Some(name) = open.pop() {
        if headers.contains(&name) {
            continue;
        }
        if let Ok(text) = fs::read_to_string(root.join(&name)) {
            open.extend(includes(&name, &text).flatten());
            headers.insert(name, text);
        }
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_headers_bring_what_they_include() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tmp/included");
        fs::create_dir_all(root.join("src")).expect("a folder");
        fs::write(root.join("src/a.hpp"), "#include \"b.hpp\"\n#include <vector>\n#include \"src/c.hpp\"\n")
            .expect("a");
        fs::write(root.join("src/b.hpp"), "#include \"a.hpp\"\n").expect("b");
        fs::write(root.join("src/c.hpp"), "").expect("c");
        let run_time = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hidp-std/include");
        let found = texts(&root, &[run_time], &["src/a.hpp".to_owned()]);
        for name in ["src/a.hpp", "src/b.hpp", "src/c.hpp", "hidp/core.hpp", "hidp/cuda/prim/block_sort.cuh"] {
            assert!(found.contains(name), "{name}");
        }
        assert!(!found.contains("vector"));
    }
}
