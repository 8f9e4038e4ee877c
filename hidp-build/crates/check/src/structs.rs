//! The order of structs, and which there cannot be.

use hidp_syntax::ast;
use hidp_syntax::diag::{Code, Diagnostic, Sink};
use hidp_syntax::source::FileId;

/// How deep structs may be nested. Every phase recurses over types, so this bounds the stack that any program needs.
const DEEPEST: usize = 64;

/// How many numbers a struct may have in all, those of inner ones included. Values are taken apart into them.
const LARGEST: usize = 4096;

/// Structs by position, and how a name in a file finds one.
pub(super) struct Order<'a> {
    structs: &'a [(FileId, &'a ast::StructItem)],
    find: &'a dyn Fn(FileId, &str) -> Option<usize>,
    state: Vec<State>,
    /// Structs on the way here.
    path: Vec<usize>,
    order: Vec<usize>,
    /// Whether one that is nested too deeply was reported: those around it are as well.
    too_deep: bool,
}

#[derive(Clone, Copy)]
enum State {
    New,
    Open,
    /// Reported, or holds one that is.
    Bad,
    Good(Extent),
}

/// How much a struct holds.
#[derive(Clone, Copy)]
struct Extent {
    depth: usize,
    numbers: usize,
}

/// Structs in an order in which every field's struct comes before; reports those that contain themselves or too much, and leaves
/// them out.
pub(super) fn order<'a>(
    structs: &'a [(FileId, &'a ast::StructItem)],
    find: &'a dyn Fn(FileId, &str) -> Option<usize>,
    sink: &mut Sink,
) -> Vec<usize> {
    let state = vec![State::New; structs.len()];
    let mut search = Order { structs, find, state, path: Vec::new(), order: Vec::new(), too_deep: false };
    for index in 0..structs.len() {
        search.visit(index, sink);
    }
    search.order
}

impl Order<'_> {
    fn visit(&mut self, index: usize, sink: &mut Sink) -> Option<Extent> {
        match self.state[index] {
            State::Good(extent) => return Some(extent),
            State::Bad => return None,
            State::Open => {
                let start = self.path.iter().position(|at| *at == index).unwrap_or(0);
                sink.push(self.cycle(&self.path[start..]));
                return None;
            }
            State::New => {}
        }
        self.state[index] = State::Open;
        self.path.push(index);
        let extent = self.extent(index, sink);
        self.path.pop();
        self.state[index] = match extent {
            Some(extent) => {
                self.order.push(index);
                State::Good(extent)
            }
            None => State::Bad,
        };
        extent
    }

    fn extent(&mut self, index: usize, sink: &mut Sink) -> Option<Extent> {
        let (file, item) = self.structs[index];
        if self.path.len() > DEEPEST {
            return self.refuse_depth(item, sink);
        }
        let mut whole = Some(Extent { depth: 1, numbers: 0 });
        for field in &item.fields {
            let inner = match (self.find)(file, &field.ty.name) {
                Some(inner) => self.visit(inner, sink),
                None => Some(Extent { depth: 0, numbers: 1 }),
            };
            whole = whole.zip(inner).map(|(whole, inner)| Extent {
                depth: whole.depth.max(inner.depth + 1),
                numbers: whole.numbers + inner.numbers,
            });
        }
        let whole = whole?;
        if whole.depth > DEEPEST {
            return self.refuse_depth(item, sink);
        }
        if whole.numbers > LARGEST {
            let headline = format!("struct `{}` has {} numbers", item.name.name, whole.numbers);
            let label = format!("at most {LARGEST} are possible, those of inner structs included");
            sink.push(Diagnostic::new(Code::RecursiveStruct, item.name.span, headline).label(label));
            return None;
        }
        Some(whole)
    }

    fn refuse_depth(&mut self, item: &ast::StructItem, sink: &mut Sink) -> Option<Extent> {
        if !self.too_deep {
            let headline = "structs are nested too deeply".to_owned();
            let label = format!("at most {DEEPEST} may lie inside one another");
            sink.push(Diagnostic::new(Code::RecursiveStruct, item.name.span, headline).label(label));
        }
        self.too_deep = true;
        None
    }

    fn cycle(&self, cycle: &[usize]) -> Diagnostic {
        let structs = self.structs;
        let names: Vec<&str> = cycle.iter().map(|at| structs[*at].1.name.name.as_str()).collect();
        let first = structs[cycle[0]].1;
        let mut diagnostic =
            Diagnostic::new(Code::RecursiveStruct, first.name.span, format!("struct `{}` contains itself", names[0]))
                .label("would be infinitely large");
        for at in &cycle[1..] {
            diagnostic = diagnostic.also(structs[*at].1.name.span, "through this struct");
        }
        let mut path = names.clone();
        path.push(names[0]);
        diagnostic.note(format!("the cycle is {}", path.join(" -> ")))
    }
}
