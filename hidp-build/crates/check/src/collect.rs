//! Collects the items of all files: names and who sees them, structs, constants, signatures.

use hidp_ir::par::{self, FuncId, ScalarFnId};
use hidp_syntax::ast;
use hidp_syntax::diag::{Code, Diagnostic, Sink};
use hidp_syntax::index::{Arena, Id};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::{FileId, SourceMap, Span};
use hidp_syntax::ty::{StructId, Ty};

use super::SourceUnit;
use super::convert::Purpose;
use super::cx::{BodyKind, Cx};
use super::fold;
use super::items::{ConstInfo, FuncSig, Global, Globals, ParamSig, ScalarSig};

/// The items of a build, with their syntax trees.
pub(super) struct Collected<'a> {
    pub(super) globals: Globals<'a>,
    pub(super) scalars: Vec<(FileId, &'a ast::ScalarFunction)>,
    pub(super) funcs: Vec<(FileId, &'a ast::Function)>,
    pub(super) codelets: Vec<(FileId, &'a ast::Codelet)>,
}

/// Items in the order of the files.
#[derive(Default)]
struct Items<'a> {
    structs: Vec<(FileId, &'a ast::StructItem)>,
    consts: Vec<(FileId, &'a ast::ConstItem)>,
    scalars: Vec<(FileId, &'a ast::ScalarFunction)>,
    funcs: Vec<(FileId, &'a ast::Function)>,
    recurrences: Vec<(FileId, &'a ast::Recurrence)>,
    codelets: Vec<(FileId, &'a ast::Codelet)>,
}

/// Collects the items of all files.
pub(super) fn collect<'a>(
    sources: &'a SourceMap,
    units: &'a [SourceUnit],
    domains: &'a ast::Domains,
    sink: &mut Sink,
) -> Collected<'a> {
    let mut items = Items::default();
    for unit in units {
        for item in &unit.ast.items {
            match item {
                ast::Item::Import(_) => {}
                ast::Item::Const(c) => items.consts.push((unit.id, c)),
                ast::Item::Struct(s) => items.structs.push((unit.id, s)),
                ast::Item::Function(f) => items.funcs.push((unit.id, f)),
                ast::Item::Scalar(f) => items.scalars.push((unit.id, f)),
                ast::Item::Recurrence(r) => items.recurrences.push((unit.id, r)),
                ast::Item::Codelet(c) => items.codelets.push((unit.id, c)),
            }
        }
    }
    let order = struct_order(units, &items.structs, sink);
    let declared = declared_names(&items, &order, sink);
    let visible = visible_names(units, &declared, sink);
    let mut globals = Globals {
        sources,
        domains,
        visible,
        structs: Arena::new(),
        consts: Vec::new(),
        scalars: Arena::new(),
        funcs: Arena::new(),
        recurrences: Vec::new(),
        systems: Vec::new(),
    };
    structs(&mut globals, &items.structs, &order, sink);
    signatures(&mut globals, &items);
    constants(&mut globals, &items.consts, sink);
    super::recurrence::collect(&mut globals, &items.recurrences, items.funcs.len(), sink);
    Collected { globals, scalars: items.scalars, funcs: items.funcs, codelets: items.codelets }
}

type Names = OrdMap<String, (Global, Span)>;

/// What each file declares itself.
fn declared_names(items: &Items<'_>, order: &[usize], sink: &mut Sink) -> OrdMap<FileId, Names> {
    let mut all: OrdMap<FileId, Names> = OrdMap::new();
    let mut declare = |file: FileId, name: &ast::Ident, global: Global| {
        if super::prims::is_primitive(&name.name) || super::calls::math_fn(&name.name).is_some() {
            sink.push(reserved(name));
        }
        let names = all.entry(file).or_default();
        match names.get(&name.name) {
            Some((_, first)) => sink.push(duplicate(&name.name, name.span, *first)),
            None => {
                names.insert(name.name.clone(), (global, name.span));
            }
        }
    };
    for (index, (file, s)) in items.structs.iter().enumerate() {
        let global = match order.iter().position(|at| *at == index) {
            Some(position) => Global::Struct(StructId::new(position)),
            None => Global::Poisoned,
        };
        declare(*file, &s.name, global);
    }
    for (index, (file, c)) in items.consts.iter().enumerate() {
        declare(*file, &c.name, Global::Const(index));
    }
    for (index, (file, f)) in items.scalars.iter().enumerate() {
        declare(*file, &f.name, Global::Scalar(ScalarFnId::new(index)));
    }
    for (index, (file, f)) in items.funcs.iter().enumerate() {
        declare(*file, &f.name, Global::Func(FuncId::new(index)));
    }
    for (index, (file, r)) in items.recurrences.iter().enumerate() {
        declare(*file, &r.name, Global::Recurrence(index));
    }
    all
}

fn reserved(name: &ast::Ident) -> Diagnostic {
    let what = if super::prims::is_primitive(&name.name) { "primitive" } else { "maths function" };
    Diagnostic::new(Code::TakenName, name.span, format!("`{}` is the name of a {what}", name.name))
        .label("reserved")
        .suggest(name.span, format!("my_{}", name.name), "choose another name")
}

fn duplicate(name: &str, again: Span, first: Span) -> Diagnostic {
    Diagnostic::new(Code::DuplicateName, again, format!("`{name}` is declared twice"))
        .label("declared again here")
        .also(first, "first declared here")
}

/// What each file sees: its own names and those that the files it imports declare.
fn visible_names(units: &[SourceUnit], declared: &OrdMap<FileId, Names>, sink: &mut Sink) -> OrdMap<FileId, Names> {
    let empty = Names::new();
    let mut visible = OrdMap::new();
    for unit in units {
        let own = declared.get(&unit.id).unwrap_or(&empty);
        let mut names = own.clone();
        let mut seen = vec![unit.id];
        let items = unit.ast.items.iter().filter_map(|item| match item {
            ast::Item::Import(import) => Some(import),
            ast::Item::Const(_)
            | ast::Item::Struct(_)
            | ast::Item::Function(_)
            | ast::Item::Scalar(_)
            | ast::Item::Recurrence(_)
            | ast::Item::Codelet(_) => None,
        });
        for (import, item) in unit.imports.iter().zip(items) {
            if seen.contains(import) {
                continue;
            }
            seen.push(*import);
            for (name, (global, span)) in declared.get(import).unwrap_or(&empty) {
                match names.get(name) {
                    Some((_, first)) if own.contains_key(name) => sink.push(
                        duplicate(name, *first, *span)
                            .note("a file sees its own names and those of the files that it imports"),
                    ),
                    Some((_, first)) => sink.push(imported_twice(name, item, *first, *span)),
                    None => {
                        names.insert(name.clone(), (*global, *span));
                    }
                }
            }
        }
        visible.insert(unit.id, names);
    }
    visible
}

fn imported_twice(name: &str, import: &ast::Import, first: Span, second: Span) -> Diagnostic {
    Diagnostic::new(Code::DuplicateName, import.path_span, format!("two imported files declare `{name}`"))
        .label(format!("brings a second `{name}`"))
        .also(first, "one declaration")
        .also(second, "another declaration")
}

// ---- structs

/// Structs in an order in which every field's struct comes before; reports cycles and leaves those out.
fn struct_order(units: &[SourceUnit], structs: &[(FileId, &ast::StructItem)], sink: &mut Sink) -> Vec<usize> {
    let find = |file: FileId, name: &str| {
        let imports = units.iter().find(|unit| unit.id == file).map_or(&[] as &[FileId], |unit| &unit.imports);
        structs.iter().position(|(f, s)| s.name.name == name && (*f == file || imports.contains(f)))
    };
    super::structs::order(structs, &find, sink)
}

fn structs(globals: &mut Globals<'_>, items: &[(FileId, &ast::StructItem)], order: &[usize], sink: &mut Sink) {
    for at in order {
        let (file, item) = items[*at];
        let mut fields: Vec<(String, Ty)> = Vec::new();
        let mut spans: Vec<(&str, Span)> = Vec::new();
        for field in &item.fields {
            if let Some((_, first)) = spans.iter().find(|(name, _)| *name == field.name.name) {
                sink.push(duplicate(&field.name.name, field.name.span, *first));
                continue;
            }
            spans.push((&field.name.name, field.name.span));
            match globals.type_of(file, &field.ty.name) {
                Some(ty) => fields.push((field.name.name.clone(), ty)),
                None => sink.push(super::header::unknown_type(globals, file, &field.ty)),
            }
        }
        if item.fields.is_empty() && !item.native {
            sink.push(
                Diagnostic::new(
                    Code::RecursiveStruct,
                    item.name.span,
                    format!("struct `{}` has no fields", item.name.name),
                )
                .label("empty")
                .help("give it at least one field"),
            );
        }
        globals.structs.push(par::Struct {
            name: item.name.name.clone(),
            fields,
            native: item.native,
            doc: item.doc.clone(),
            span: item.name.span,
        });
    }
}

// ---- signatures

fn signatures(globals: &mut Globals<'_>, items: &Items<'_>) {
    for (file, f) in &items.scalars {
        let params = f.params.iter().map(|p| (p.name.name.clone(), globals.type_of(*file, &p.ty.name))).collect();
        let result = globals.type_of(*file, &f.result.name);
        globals.scalars.push(ScalarSig { params, result, span: f.name.span });
    }
    for (file, f) in &items.funcs {
        let params = f
            .params
            .iter()
            .map(|p| ParamSig {
                name: p.name.name.clone(),
                direction: p.direction,
                ty: globals.type_of(*file, &p.ty.name),
                rank: p.dims.len(),
                span: p.span,
            })
            .collect();
        globals.funcs.push(FuncSig { name: f.name.name.clone(), params, span: f.name.span });
    }
}

// ---- constants

fn constants(globals: &mut Globals<'_>, items: &[(FileId, &ast::ConstItem)], sink: &mut Sink) {
    globals.consts = vec![ConstInfo { value: None }; items.len()];
    let mut state = vec![0u8; items.len()];
    for index in 0..items.len() {
        constant(globals, items, index, &mut state, &mut Vec::new(), sink);
    }
}

/// Evaluates a constant after those that it names.
fn constant(
    globals: &mut Globals<'_>,
    items: &[(FileId, &ast::ConstItem)],
    index: usize,
    state: &mut [u8],
    path: &mut Vec<usize>,
    sink: &mut Sink,
) {
    const VISITING: u8 = 1;
    const DONE: u8 = 2;
    if state[index] != 0 {
        if state[index] == VISITING {
            let start = path.iter().position(|at| *at == index).unwrap_or(0);
            let names: Vec<&str> =
                path[start..].iter().chain([&index]).map(|at| items[*at].1.name.name.as_str()).collect();
            sink.push(
                Diagnostic::new(
                    Code::NotConstant,
                    items[index].1.name.span,
                    format!("constant `{}` is made of itself", names[0]),
                )
                .label("has no value")
                .note(format!("the cycle is {}", names.join(" -> "))),
            );
        }
        return;
    }
    state[index] = VISITING;
    path.push(index);
    let (file, item) = items[index];
    let mut names = Vec::new();
    super::maps::collect_names(&item.value, &mut names);
    for (name, _) in names {
        if let Some(Global::Const(other)) = globals.lookup(file, &name) {
            constant(globals, items, other, state, path, sink);
        }
    }
    path.pop();
    state[index] = DONE;
    let value = {
        let mut cx = Cx::new(globals, sink, file, BodyKind::Const);
        let ty = cx.type_name(&item.ty);
        let value = cx.expr(&item.value);
        let what = format!("constant `{}`", item.name.name);
        match (value, ty) {
            (Some(value), Some(ty)) => cx.coerce(value, ty, Purpose::since(&what, item.ty.span)),
            _ => None,
        }
    };
    let folded = value.map(|value| match fold::eval(&value) {
        Some(constant) => par::Expr { kind: par::ExprKind::Const(constant), ..value },
        None => {
            super::lints::refuse_faults(&item.name.name, &value, sink);
            value
        }
    });
    globals.consts[index].value = folded;
}
