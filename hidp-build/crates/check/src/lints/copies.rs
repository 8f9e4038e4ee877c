//! The text of a map that reads what other iterations may write before it begins.

use std::cmp::Reverse;

use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{Expr, ExprKind, Func, Map, Place, VarId, VarKind, same};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::{SourceMap, Span};
use hidp_syntax::ty::{Scalar, Ty};

/// The statement at `span`, a map, behind copies of what it reads of `array` where it does not write: `float d_old[N]; d_old = d[*][k];`.
/// `None` where what it reads so are neither single elements nor whole dimensions.
pub(super) fn before(func: &Func, sources: &SourceMap, span: Span, map: &Map, array: VarId) -> Option<String> {
    let Ty::Scalar(scalar) = func.vars[array].ty else { return None };
    let ahead = Ahead::of(sources, span)?;
    let inside = inside(map);
    let mut copies: Vec<Copied> = Vec::new();
    let mut edits: Vec<(Span, String)> = Vec::new();
    for place in reads_elsewhere(map, array) {
        let known = copies.iter().position(|copy| same::place(&copy.place, &place));
        let at = match known {
            Some(at) => at,
            None => {
                copies.push(Copied::of(func, sources, &inside, &copies, &place)?);
                copies.len() - 1
            }
        };
        edits.push((place.span, format!("{}{}", copies[at].name, copies[at].element)));
    }
    let declared: Vec<String> = copies.iter().map(|copy| copy.text(func, scalar)).collect();
    let separator = ahead.separator;
    let text = format!("{}{separator}{}", declared.join(separator.as_str()), edited(sources, span, edits)?);
    Some(if ahead.needs_braces { format!("{{ {text} }}") } else { text })
}

/// What stands before a statement.
struct Ahead {
    /// Whether it may be the body of something that takes one statement.
    needs_braces: bool,
    /// Puts statements in a row as they stand there.
    separator: String,
}

impl Ahead {
    /// `None` behind a directive, which is meant for the statement itself.
    fn of(sources: &SourceMap, span: Span) -> Option<Ahead> {
        let ahead = &sources.file(span.file).text()[..span.start as usize];
        let line = ahead.rsplit('\n').next().unwrap_or(ahead);
        let above = ahead.trim_end();
        let last = above.rsplit('\n').next().unwrap_or(above).trim_start();
        let first_in_line = line.trim().is_empty();
        let separator = if first_in_line { format!("\n{line}") } else { " ".to_owned() };
        let needs_braces = !above.ends_with(['{', ';', '}']);
        // Comments begin with the same sign.
        (!last.starts_with('#')).then_some(Ahead { needs_braces, separator })
    }
}

/// A copy of an element, or of all elements along some dimensions.
struct Copied {
    /// What is copied, as it is read.
    place: Place,
    name: String,
    /// `[N]`; empty for an element.
    extents: String,
    /// `[*][k]`
    selected: String,
    /// `[i]`
    element: String,
}

impl Copied {
    fn of(
        func: &Func,
        sources: &SourceMap,
        inside: &OrdSet<VarId>,
        copies: &[Copied],
        place: &Place,
    ) -> Option<Copied> {
        let name = free_name(func, copies, place.array);
        let mut copy = Copied {
            place: place.clone(),
            name,
            extents: String::new(),
            selected: String::new(),
            element: String::new(),
        };
        if !place.path.is_empty() {
            return None;
        }
        for (index, extent) in place.index.iter().zip(&func.vars[place.array].shape) {
            match &index.kind {
                ExprKind::Read(var) if inside.contains(var) && func.vars[*var].kind == VarKind::Iter => {
                    copy.extents += &format!("[{}]", size(func, extent)?);
                    copy.selected += "[*]";
                    copy.element += &format!("[{}]", func.vars[*var].name);
                }
                _ if stays(index, inside) => copy.selected += &format!("[{}]", sources.snippet(index.span)),
                _ => return None,
            }
        }
        Some(copy)
    }

    fn text(&self, func: &Func, scalar: Scalar) -> String {
        let Copied { place, name, extents, selected, element: _ } = self;
        let array = &func.vars[place.array].name;
        match extents.is_empty() {
            true => format!("{scalar} {name} = {array}{selected};"),
            false => format!("{scalar} {name}{extents}; {name} = {array}{selected};"),
        }
    }
}

/// An extent that is the same before every statement of a function.
fn size(func: &Func, extent: &Expr) -> Option<String> {
    match &extent.kind {
        ExprKind::Read(var) if func.vars[*var].kind == VarKind::Dim => Some(func.vars[*var].name.clone()),
        _ => extent.as_int().map(|value| value.to_string()),
    }
}

/// Whether an index has one value for all iterations, which needs no array.
fn stays(index: &Expr, inside: &OrdSet<VarId>) -> bool {
    let mut stays = true;
    visit::walk_subexprs(index, |node| {
        stays &= match &node.kind {
            ExprKind::Read(var) => !inside.contains(var),
            ExprKind::Load(_) => false,
            _ => true,
        };
    });
    stays
}

/// The iterators and scalars of a map and of what is in it.
fn inside(map: &Map) -> OrdSet<VarId> {
    let mut inside: OrdSet<VarId> = map.iters.iter().map(|iter| iter.var).collect();
    visit::walk_vars(&map.body, |var, role| {
        if matches!(role, Role::Declare | Role::Iterate) {
            inside.insert(var);
        }
    });
    inside
}

/// What a map reads of an array at places where it does not write.
fn reads_elsewhere(map: &Map, array: VarId) -> Vec<Place> {
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    visit::walk_places(&map.body, |place, role| {
        if place.array == array {
            if role == Role::Read { &mut reads } else { &mut writes }.push(place.clone());
        }
    });
    reads.retain(|read| !writes.iter().any(|write| same::place(read, write)));
    reads
}

/// `d_old`, `d_old2`: a name that nothing in the function and no copy has.
fn free_name(func: &Func, copies: &[Copied], array: VarId) -> String {
    let base = format!("{}_old", func.vars[array].name);
    let taken = |name: &String| {
        func.vars.iter().any(|(_, var)| var.name == *name) || copies.iter().any(|copy| copy.name == *name)
    };
    let mut name = base.clone();
    let mut count = 1;
    while taken(&name) {
        count += 1;
        name = format!("{base}{count}");
    }
    name
}

/// The text of a span with parts of it replaced; `None` if one lies elsewhere.
fn edited(sources: &SourceMap, span: Span, mut edits: Vec<(Span, String)>) -> Option<String> {
    edits.sort_by_key(|(part, _)| Reverse(part.start));
    let mut text = sources.snippet(span).to_owned();
    for (part, replacement) in edits {
        let (start, end) = (part.start.checked_sub(span.start)?, part.end.checked_sub(span.start)?);
        let range = start as usize..end as usize;
        text.get(range.clone())?;
        text.replace_range(range, &replacement);
    }
    Some(text)
}
