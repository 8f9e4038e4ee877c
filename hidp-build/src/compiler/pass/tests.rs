use super::*;
use crate::compiler::check;
use crate::compiler::diag::Sink;
use crate::compiler::ir::par::print;
use crate::compiler::source::SourceMap;
use crate::compiler::syntax;

fn program(text: &str) -> Program {
    let mut sources = SourceMap::new();
    let file = sources.add("test.hdp", text);
    let mut sink = Sink::new();
    let ast = syntax::parse(&sources, file, &mut sink);
    let units = [check::SourceUnit { id: file, ast, imports: Vec::new() }];
    let program = check::check(&sources, &units, &mut sink);
    assert!(!sink.has_errors(), "{:?}", sink.finish());
    program
}

fn through(text: &str) -> String {
    let mut program = program(text);
    println!("{}", print(&program));
    run(&mut program, PIPELINE).unwrap_or_else(|error| panic!("{error}\n{}", print(&program)));
    print(&program)
}

#[test]
fn show() {
    println!("{}", through(&std::fs::read_to_string(std::env::var("F").unwrap()).unwrap()));
}
