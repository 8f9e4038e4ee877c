//! Every code block of the documentation that is HiDP means what the text around it says.

use std::fs;
use std::path::Path;

use hidp_build::compiler::diag::{Diagnostic, RenderStyle, Severity, render};
use hidp_build::compiler::pipeline::{InputFile, PipelineInput, compile};

/// A fenced block: its marks (`hidp`, `hidp,error`), its text and its line.
struct Block {
    marks: Vec<String>,
    text: String,
    line: usize,
}

fn blocks(markdown: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in markdown.lines().enumerate() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(marks), None) => {
                let marks = marks.split(',').map(|mark| mark.trim().to_owned()).collect();
                open = Some(Block { marks, text: String::new(), line: number + 1 });
            }
            (Some(_), Some(block)) => found.push(block),
            (None, Some(mut block)) => {
                block.text.push_str(line);
                block.text.push('\n');
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    found
}

fn compile_text(name: &str, text: &str) -> (PipelineInput, Vec<Diagnostic>) {
    let mut input = PipelineInput::default();
    let id = input.sources.add(name, text);
    input.files.push(InputFile { id, stem: "block".into(), imports: Vec::new() });
    let diagnostics = compile(&input).diagnostics;
    (input, diagnostics)
}

fn check_document(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    let markdown = fs::read_to_string(&path).expect("the document is there");
    let mut failures = Vec::new();
    let mut checked = 0;
    for block in blocks(&markdown).into_iter().filter(|block| block.marks[0] == "hidp") {
        let place = format!("{name}:{}", block.line);
        let (input, diagnostics) = compile_text(&place, &block.text);
        let errors: Vec<&Diagnostic> = diagnostics.iter().filter(|d| d.severity == Severity::Error).collect();
        let must_fail = block.marks.iter().any(|mark| mark == "error");
        checked += 1;
        if must_fail && errors.is_empty() {
            failures.push(format!("{place}: is accepted, but the text says it is an error"));
        }
        if !must_fail {
            let style = RenderStyle { color: false, explain: false };
            failures.extend(errors.iter().map(|error| render(&input.sources, error, style)));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(checked > 0, "{name} has no blocks of HiDP");
}

#[test]
fn the_language_reference_is_true() {
    check_document("language.md");
}

#[test]
fn the_guide_is_true() {
    check_document("guide.md");
}
