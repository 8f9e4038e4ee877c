//! Every number of a hardware model is read where plans are made or lowered. Keys that no field takes are refused when a model is read.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Finding;

const MODELS: &str = "hidp-build/crates/plan/src/target";
const COMPILER: &str = "hidp-build";

/// Fields of models that are never read.
pub(super) fn check(files: &[PathBuf]) -> Result<Vec<Finding>> {
    let (mut models, mut readers) = (Vec::new(), String::new());
    for file in files.iter().filter(|file| file.starts_with(COMPILER) && file.extension().is_some_and(|e| e == "rs")) {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        if file.starts_with(MODELS) {
            models.push((file.clone(), text));
        } else {
            readers.push_str(&text);
        }
    }
    Ok(models.iter().flat_map(|(file, text)| unread(file, text, &readers)).collect())
}

fn unread(file: &Path, text: &str, readers: &str) -> Vec<Finding> {
    let numbered = text.lines().enumerate();
    let fields = numbered.filter_map(|(at, line)| {
        let (name, ty) = line.strip_prefix("    pub ")?.split_once(": ")?;
        (!name.contains('(') && ty.starts_with('u')).then_some((at + 1, name))
    });
    let idle = fields.filter(|(_, name)| !is_read(name, readers));
    idle.map(|(line, name)| Finding::new(file, line, format!("nobody reads `{name}` of the model"))).collect()
}

/// Whether a field of this name is read anywhere.
fn is_read(name: &str, readers: &str) -> bool {
    let field = format!(".{name}");
    readers.match_indices(&field).any(|(at, _)| {
        let next = readers[at + field.len()..].chars().next();
        next.is_none_or(|next| !next.is_alphanumeric() && next != '_' && next != '(')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_without_a_reader_are_found() {
        let model = "pub struct Model {\n    pub line: u32,\n    pub grain: u32,\n    pub lanes: u32,\n}\n";
        let readers = "fn f(model: &Model) -> u32 { model.line + model.grains + model.lanes() }";
        let found: Vec<usize> = unread(Path::new("mod.rs"), model, readers).iter().map(|found| found.line).collect();
        assert_eq!(found, [3, 4]);
    }
}
