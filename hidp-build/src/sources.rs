//! Reads the programs of a build: folders, files, and what they import.

use std::fs;
use std::path::{Component, Path, PathBuf};

use walkdir::WalkDir;

use crate::compiler::pipeline::InputFile;
use crate::report::Problem;
use hidp_plan::PinFile;
use hidp_syntax::ast::{Import, Item};
use hidp_syntax::diag::{Code, Diagnostic, Sink, near};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::parse;
use hidp_syntax::source::{FileId, SourceMap, Span};

/// The programs, and what went wrong on the way.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) sources: SourceMap,
    pub(crate) files: Vec<InputFile>,
    /// Files of pinned plans beside them.
    pub(crate) pins: Vec<PinFile>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) problems: Vec<Problem>,
    /// Files and folders whose change asks for another build.
    pub(crate) watched: Vec<PathBuf>,
}

/// Reads all `.hdp` files below `roots`, which are relative to `base`, and all that they import.
pub(crate) fn load(base: &Path, roots: &[PathBuf]) -> Loaded {
    let mut loader = Loader { base, loaded: Loaded::default(), known: OrdMap::new() };
    for root in roots {
        loader.root(root);
    }
    loader.imports();
    loader.modules();
    if loader.loaded.diagnostics.is_empty() {
        loader.cycles();
    }
    loader.loaded
}

struct Loader<'a> {
    base: &'a Path,
    loaded: Loaded,
    /// Files by their real path.
    known: OrdMap<PathBuf, FileId>,
}

impl Loader<'_> {
    fn root(&mut self, root: &Path) {
        let folder = self.base.join(root);
        self.loaded.watched.push(folder.clone());
        let shown = display(root);
        let mut found = false;
        let entries = WalkDir::new(&folder).follow_links(true).sort_by_file_name().into_iter();
        for entry in entries.filter_entry(|entry| entry.depth() == 0 || !is_hidden(entry.path())) {
            match entry {
                Ok(entry) if entry.file_type().is_file() && is_program(entry.path()) => {
                    found = true;
                    let inside = entry.path().strip_prefix(&folder).unwrap_or(Path::new(""));
                    self.file(entry.path(), &root.join(inside));
                }
                Ok(_) => {}
                Err(error) => {
                    found = true;
                    self.unreadable(&shown, &error.into_io_error().map_or("a loop of links".into(), |e| e.to_string()));
                }
            }
        }
        if !found {
            let headline = format!("no `.hdp` file in `{shown}`");
            let help = "programs are files whose names end in `.hdp`, like `saxpy.hdp`";
            self.loaded.problems.push(Problem::new(Code::NoSources, headline).help(help));
        }
    }

    fn unreadable(&mut self, shown: &str, reason: &str) {
        let base = self.base.display();
        let problem = Problem::new(Code::Unreadable, format!("cannot read `{shown}`: {reason}"));
        self.loaded.problems.push(problem.note(format!("paths are relative to the package's root, `{base}`")));
    }

    /// Reads a file unless it was read before.
    fn file(&mut self, path: &Path, name: &Path) -> Option<FileId> {
        let shown = display(name);
        let real = match fs::canonicalize(path) {
            Ok(real) => real,
            Err(error) => {
                self.unreadable(&shown, &error.to_string());
                return None;
            }
        };
        if let Some(&known) = self.known.get(&real) {
            return Some(known);
        }
        self.loaded.watched.push(path.to_owned());
        match fs::read(path) {
            Ok(bytes) if u32::try_from(bytes.len()).is_ok() => {
                let id = self.text(&shown, bytes);
                self.known.insert(real, id);
                self.loaded.files.push(InputFile { id, stem: module_name(path), imports: Vec::new() });
                self.pins(id, path, name);
                Some(id)
            }
            Ok(_) => {
                self.unreadable(&shown, "it is larger than 4 GiB");
                None
            }
            Err(error) => {
                self.unreadable(&shown, &error.to_string());
                None
            }
        }
    }

    /// Reads the file of pinned plans beside a program, if there is one.
    fn pins(&mut self, program: FileId, path: &Path, name: &Path) {
        let (path, shown) = (path.with_extension("plan"), display(&name.with_extension("plan")));
        match fs::read(&path) {
            Ok(bytes) if u32::try_from(bytes.len()).is_ok() => {
                self.loaded.watched.push(path);
                let plans = self.text(&shown, bytes);
                self.loaded.pins.push(PinFile { program, plans });
            }
            Ok(_) => self.unreadable(&shown, "it is larger than 4 GiB"),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => self.unreadable(&shown, &error.to_string()),
        }
    }

    fn text(&mut self, shown: &str, bytes: Vec<u8>) -> FileId {
        match String::from_utf8(bytes) {
            Ok(text) => self.loaded.sources.add(shown, text),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                let id = self.loaded.sources.add(shown, text);
                let span = Span::new(id, at, at + char::REPLACEMENT_CHARACTER.len_utf8());
                let diagnostic = Diagnostic::new(Code::NotUtf8, span, format!("`{shown}` is not UTF-8"));
                self.loaded.diagnostics.push(diagnostic.label("these bytes are no character"));
                id
            }
        }
    }

    /// Reads what the files import, and what that imports.
    fn imports(&mut self) {
        let mut next = 0;
        while let Some(file) = self.loaded.files.get(next) {
            let id = file.id;
            // The pipeline parses again, and reports.
            let tree = parse(&self.loaded.sources, id, &mut Sink::new());
            for item in tree.items {
                if let Item::Import(import) = item {
                    let imported = self.import(id, &import);
                    self.loaded.files[next].imports.extend(imported);
                }
            }
            next += 1;
        }
    }

    fn import(&mut self, importer: FileId, import: &Import) -> Option<FileId> {
        let name = PathBuf::from(self.loaded.sources.file(importer).name());
        let folder = name.parent().unwrap_or(Path::new(""));
        let name = normal(&folder.join(&import.path));
        let path = self.base.join(&name);
        // Also if there is none: it may come to be.
        if !path.is_file() {
            self.loaded.watched.push(path.parent().unwrap_or(self.base).to_owned());
            self.loaded.diagnostics.push(missing(import, &name, &path));
            return None;
        }
        self.file(&path, &name)
    }

    /// Every file has a module of its own.
    fn modules(&mut self) {
        let mut owners: OrdMap<&str, FileId> = OrdMap::new();
        for file in &self.loaded.files {
            let Some(first) = owners.insert(&file.stem, file.id) else { continue };
            let name = |id| self.loaded.sources.file(id).name();
            let headline =
                format!("`{}` and `{}` would both be the module `{}`", name(first), name(file.id), file.stem);
            let problem = Problem::new(Code::SameModule, headline).help("rename one of the files");
            self.loaded.problems.push(problem);
        }
    }

    fn cycles(&mut self) {
        let mut search =
            CycleSearch { files: &self.loaded.files, done: Vec::new(), path: Vec::new(), found: Vec::new() };
        for file in &self.loaded.files {
            search.visit(file.id);
        }
        let diagnostics: Vec<Diagnostic> = search.found.iter().filter_map(|cycle| self.cycle(cycle)).collect();
        self.loaded.diagnostics.extend(diagnostics);
    }

    /// The last file of `cycle` imports the first.
    fn cycle(&self, cycle: &[FileId]) -> Option<Diagnostic> {
        let (&first, &last) = (cycle.first()?, cycle.last()?);
        let span = self.import_of(last, first)?;
        let name = |id: FileId| format!("`{}`", self.loaded.sources.file(id).name());
        if cycle.len() == 1 {
            let headline = format!("{} imports itself", name(first));
            return Some(Diagnostic::new(Code::ImportCycle, span, headline).help("remove the import"));
        }
        let chain: Vec<String> = cycle.iter().chain([&first]).map(|&id| name(id)).collect();
        let headline = format!("{} and {} import each other", name(first), name(last));
        let mut diagnostic = Diagnostic::new(Code::ImportCycle, span, headline)
            .label("closes the cycle")
            .note(chain.join(" imports "))
            .help("move what both need into a third file");
        for pair in cycle.windows(2) {
            if let Some(span) = self.import_of(pair[0], pair[1]) {
                diagnostic = diagnostic.also(span, "imported here");
            }
        }
        Some(diagnostic)
    }

    /// Where `importer` imports `imported`.
    fn import_of(&self, importer: FileId, imported: FileId) -> Option<Span> {
        let file = self.loaded.files.iter().find(|file| file.id == importer)?;
        let tree = parse(&self.loaded.sources, importer, &mut Sink::new());
        let imports = tree.items.into_iter().filter_map(|item| match item {
            Item::Import(import) => Some(import.path_span),
            Item::Const(_)
            | Item::Struct(_)
            | Item::Function(_)
            | Item::Scalar(_)
            | Item::Recurrence(_)
            | Item::Codelet(_) => None,
        });
        imports.zip(&file.imports).find(|(_, id)| **id == imported).map(|(span, _)| span)
    }
}

/// Depth first; each cycle is found at the import that closes it.
struct CycleSearch<'a> {
    files: &'a [InputFile],
    done: Vec<FileId>,
    path: Vec<FileId>,
    found: Vec<Vec<FileId>>,
}

impl CycleSearch<'_> {
    fn visit(&mut self, id: FileId) {
        if let Some(start) = self.path.iter().position(|&on_path| on_path == id) {
            self.found.push(self.path[start..].to_vec());
        } else if !self.done.contains(&id) {
            self.path.push(id);
            let imports = self.files.iter().find(|file| file.id == id).map_or(&[][..], |file| &file.imports);
            imports.iter().for_each(|&import| self.visit(import));
            self.path.pop();
            self.done.push(id);
        }
    }
}

fn missing(import: &Import, name: &Path, path: &Path) -> Diagnostic {
    let headline = format!("there is no file `{}`", display(name));
    let mut diagnostic = Diagnostic::new(Code::MissingImport, import.path_span, headline).label("imported here");
    let names = neighbours(path);
    let wanted = path.file_name().unwrap_or_default().to_string_lossy();
    if let Some(near) = near::suggest(&wanted, names.iter().map(String::as_str)) {
        let replaced = match import.path.rsplit_once('/') {
            Some((folder, _)) => format!("\"{folder}/{near}\""),
            None => format!("\"{near}\""),
        };
        diagnostic = diagnostic.suggest(import.path_span, replaced, "there is a file of a similar name");
    }
    diagnostic
}

/// The programs in the folder of `path`.
fn neighbours(path: &Path) -> Vec<String> {
    let Some(entries) = path.parent().and_then(|folder| fs::read_dir(folder).ok()) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| is_program(path))
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    names
}

fn is_program(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "hdp")
}

/// Editors keep locks and copies under such names.
fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

/// The path with `/` on every system.
fn display(path: &Path) -> String {
    let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.join("/").replace("//", "/")
}

/// `a/../b` as `b`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(normal.components().next_back(), Some(Component::Normal(_))) => {
                normal.pop();
            }
            Component::ParentDir | Component::Normal(_) | Component::RootDir | Component::Prefix(_) => {
                normal.push(part);
            }
        }
    }
    normal
}

/// The file's name without extension, as an identifier.
fn module_name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if name.starts_with(|first: char| first.is_ascii_digit()) { format!("_{name}") } else { name }
}

#[cfg(test)]
mod tests;
