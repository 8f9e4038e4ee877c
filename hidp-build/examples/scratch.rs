use hidp_build::compiler::diag::*;
use hidp_build::compiler::pipeline::*;
fn main() {
    let p = std::env::args().nth(1).unwrap();
    let mut i = PipelineInput::default();
    i.options.line_directives = false;
    let id = i.sources.add(&p, std::fs::read_to_string(&p).unwrap());
    i.files.push(InputFile { id, stem: "t".into(), imports: vec![] });
    let mut sink = Sink::new();
    if let Some(pr) = front(&i, &mut sink) {
        if std::env::args().any(|a| a == "par0") {
            println!("{}", hidp_build::compiler::ir::par::print(&pr));
        }
        if let Some(pr) = optimise(pr, &mut sink) {
            if std::env::args().any(|a| a == "par") {
                println!("{}", hidp_build::compiler::ir::par::print(&pr));
            }
        }
    }
    for d in sink.finish() {
        eprint!("{}", render(&i.sources, &d, RenderStyle { color: false, explain: false }));
    }
    let o = compile(&i);
    if std::env::args().any(|a| a == "cpp") {
        for f in &o.cpp {
            println!("{}", f.text);
        }
    }
    if std::env::args().any(|a| a == "rust") {
        println!("{}", o.rust);
    }
    for d in o.diagnostics {
        if d.code == Code::Internal {
            eprint!("{}", render(&i.sources, &d, RenderStyle { color: false, explain: false }));
        }
    }
}
