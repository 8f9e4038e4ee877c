//! Folders as users have them.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::report::Report;

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!("hidp-sources-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let folder = Self(std::env::temp_dir().join(name));
        fs::create_dir_all(&folder.0).unwrap();
        files.iter().for_each(|(name, text)| folder.write(name, text.as_bytes()));
        folder
    }
    fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    fn load(&self) -> Loaded {
        load(&self.0, &["k".into()])
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn names(loaded: &Loaded) -> Vec<&str> {
    loaded.files.iter().map(|file| loaded.sources.file(file.id).name()).collect()
}

/// Everything that was reported, as the terminal shows it.
fn errors(loaded: &Loaded) -> String {
    let mut report = Report::default();
    loaded.problems.iter().for_each(|problem| report.problem(problem));
    report.diagnostics(&loaded.sources, &loaded.diagnostics);
    report.error().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn programs_are_found_in_the_order_of_their_names() {
    let folder =
        Folder::new(&[("k/b.hdp", ""), ("k/a.hdp", ""), ("k/sub/c-d.hdp", ""), ("k/.a.hdp", ""), ("k/x.txt", "")]);
    let loaded = folder.load();
    assert_eq!(names(&loaded), ["k/a.hdp", "k/b.hdp", "k/sub/c-d.hdp"]);
    let stems: Vec<&str> = loaded.files.iter().map(|file| file.stem.as_str()).collect();
    assert_eq!(stems, ["a", "b", "c_d"]);
    assert_eq!(errors(&loaded), "");
    assert!(loaded.watched.contains(&folder.0.join("k")) && loaded.watched.contains(&folder.0.join("k/a.hdp")));
}

#[test]
fn a_file_may_stand_for_a_folder() {
    let folder = Folder::new(&[("k/a.hdp", ""), ("k/b.hdp", "")]);
    assert_eq!(names(&load(&folder.0, &["k/b.hdp".into()])), ["k/b.hdp"]);
}

#[test]
fn missing_and_empty_folders_are_errors() {
    let folder = Folder::new(&[("other/x.txt", "")]);
    let text = errors(&folder.load());
    assert!(text.starts_with("error[HD0901]: cannot read `k`: "), "{text}");
    folder.write("k/readme.md", b"");
    let text = errors(&folder.load());
    assert!(text.starts_with("error[HD0902]: no `.hdp` file in `k`"), "{text}");
}

#[test]
fn imports_are_read_once_from_anywhere() {
    let folder = Folder::new(&[
        ("k/a.hdp", "import \"../lib/ops.hdp\"; import \"b.hdp\";"),
        ("k/b.hdp", "import \"../lib/ops.hdp\";"),
        ("lib/ops.hdp", "import \"more.hdp\";"),
        ("lib/more.hdp", ""),
    ]);
    let loaded = folder.load();
    assert_eq!(errors(&loaded), "");
    assert_eq!(names(&loaded), ["k/a.hdp", "k/b.hdp", "lib/ops.hdp", "lib/more.hdp"]);
    let imports: Vec<Vec<FileId>> = loaded.files.iter().map(|file| file.imports.clone()).collect();
    let id = |index: usize| loaded.files[index].id;
    assert_eq!(imports, [vec![id(2), id(1)], vec![id(2)], vec![id(3)], vec![]]);
    assert!(loaded.watched.contains(&folder.0.join("lib/more.hdp")));
}

#[test]
fn a_missing_import_is_shown_where_it_stands() {
    let folder = Folder::new(&[("k/a.hdp", "import \"bops.hdp\";\n"), ("k/ops.hdp", "")]);
    let text = errors(&folder.load());
    assert!(text.starts_with("error[HD0904]: there is no file `k/bops.hdp`\n --> k/a.hdp:1:8\n"), "{text}");
    assert!(text.contains("\"ops.hdp\""), "{text}");
}

#[test]
fn cycles_of_imports_are_errors() {
    let folder = Folder::new(&[
        ("k/a.hdp", "import \"b.hdp\";"),
        ("k/b.hdp", "\nimport \"c.hdp\";"),
        ("k/c.hdp", "import \"a.hdp\";"),
    ]);
    let text = errors(&folder.load());
    assert!(text.starts_with("error[HD0905]: `k/a.hdp` and `k/c.hdp` import each other\n"), "{text}");
    assert!(text.contains("`k/a.hdp` imports `k/b.hdp` imports `k/c.hdp` imports `k/a.hdp`"), "{text}");
    let folder = Folder::new(&[("k/a.hdp", "import \"./a.hdp\";")]);
    assert!(errors(&folder.load()).starts_with("error[HD0905]: `k/a.hdp` imports itself\n"));
}

#[test]
fn bytes_that_are_no_text_are_shown() {
    let folder = Folder::new(&[]);
    folder.write("k/a.hdp", b"# caf\xe9\n");
    let text = errors(&folder.load());
    assert!(text.starts_with("error[HD0903]: `k/a.hdp` is not UTF-8\n --> k/a.hdp:1:6\n"), "{text}");
}

#[test]
fn modules_have_names_of_their_own() {
    let folder = Folder::new(&[("k/a-b.hdp", ""), ("k/sub/a_b.hdp", "")]);
    let text = errors(&folder.load());
    let expected = "error[HD0906]: `k/a-b.hdp` and `k/sub/a_b.hdp` would both be the module `a_b`";
    assert!(text.starts_with(expected), "{text}");
}
