//! Kernels and host functions.

use super::special::Cuda;
use crate::c_like::group::level;
use crate::c_like::prim::functor;
use crate::c_like::stmt::Printer;
use crate::c_like::text::Text;
use crate::c_like::uses::Usage;
use crate::c_like::{Dialect, Scope, name, plan_comment};
use hidp_ir::imp::visit::each_stmt;
use hidp_ir::imp::{BlockCopy, Entry, Function, Grid, KernelId, Numbers, Stmt, Unit, VarId, VarKind};
use hidp_ir::par::Program;
use hidp_syntax::index::Id;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::{SourceMap, Span};
use hidp_syntax::ty::Ty;

/// All kernels of a version, as far as it launches them; `numbered` for the executor, which tells accesses apart by their numbers.
pub(super) fn kernels(
    program: &Program,
    sources: &SourceMap,
    entry: &Entry,
    unit: &Unit,
    numbered: bool,
    out: &mut Text,
) {
    let dimensions = dimensions(unit);
    for (id, kernel) in unit.kernels.iter() {
        let (Some(grid), Some(dimensions)) = (kernel.grid, dimensions.get(&id).copied()) else { continue };
        let narrow = kernel.narrow.iter().map(|narrow| (&narrow.function, name::narrow_kernel(unit, id)));
        for (function, name) in [(&kernel.function, name::kernel(unit, id))].into_iter().chain(narrow) {
            let usage = Usage::of(function);
            let numbers = numbered.then(|| Numbers::of(function));
            let scope = Scope { program, sources, entry, function, usage: &usage, numbers: numbers.as_ref() };
            let (passed, positions) = function.params.split_at(function.params.len().saturating_sub(dimensions));
            out.line("");
            out.at(sources, kernel.span);
            item(&scope, (grid, &kernel.copies), &name, kernel.span, out);
            all_items(&scope, (grid, &kernel.copies), &name, (passed, positions), out);
            out.here();
        }
    }
    joined_kernels(unit, out);
}

/// Kernels whose launches one grid may do together, by the size of their blocks.
fn joined(unit: &Unit) -> OrdMap<u32, Vec<(KernelId, Grid)>> {
    let mut found: OrdMap<u32, Vec<(KernelId, Grid)>> = OrdMap::new();
    for (id, kernel) in unit.kernels.iter() {
        if let Some(grid) = kernel.grid.filter(|grid| grid.joined) {
            found.entry(grid.block).or_default().push((id, grid));
        }
    }
    found
}

/// The beginning of what the device starts.
fn head(block: u32, at_once: u32) -> String {
    match at_once {
        1 => format!("HIDP_GLOBAL({block})"),
        blocks => format!("HIDP_GLOBAL_AT_ONCE({block}, {blocks})"),
    }
}

/// What the device starts for several launches together.
fn joined_kernels(unit: &Unit, out: &mut Text) {
    for (block, kernels) in joined(unit) {
        out.line("");
        // Its blocks are together for all launches, so that what one of them asks for holds for all.
        let head = head(block, kernels.iter().map(|(_, grid)| grid.at_once).max().unwrap_or(1));
        out.open(format!("{head} {}(HIDP_PARAMETER(hidp::Batch) batch) {{", name::joined(unit, block)));
        out.open(format!("hidp::each_joined<{block}>(batch, [](const hidp::Joined &joined) {{"));
        out.open("switch (joined.function) {");
        for (id, _) in kernels {
            // Where `int`s do not hold what it computes, a launch is never joined.
            let all = name::usual_kernel(unit, id);
            out.line(format!("case {}: return hidp::run_joined<{all}_all>(joined);", id.index()));
        }
        out.close("}");
        out.close("});");
        out.close("}");
    }
}

/// The number of dimensions that each kernel is launched over.
fn dimensions(unit: &Unit) -> OrdMap<KernelId, usize> {
    let mut found = OrdMap::new();
    each_stmt(&unit.host.body, &mut |stmt| {
        if let Stmt::LaunchGrid { kernel, extents, .. } = stmt {
            found.insert(*kernel, extents.len());
        }
    });
    found
}

/// What a group does for one item.
fn item(scope: &Scope<'_>, (grid, copies): (Grid, &[BlockCopy]), name: &str, span: Span, out: &mut Text) {
    let worker = format!("[[maybe_unused]] hidp::Worker<{}> &worker", grid.block);
    let params = scope.function.params.iter().map(|var| match copies.iter().find(|copy| copy.all == *var) {
        Some(copy) => format!("const {} &{}", copy_type(scope, copy), scope.name(*var)),
        None => kernel_param(scope, *var),
    });
    let params: Vec<String> = std::iter::once(worker).chain(params).collect();
    out.open(format!("HIDP_DEVICE void {name}({}) {{", params.join(", ")));
    body(*scope, &Cuda::Kernel { grid, copies }, Some(span), out);
    out.close("}");
}

/// What the device starts: each group takes one item after the other.
fn all_items(
    scope: &Scope<'_>,
    (grid, copies): (Grid, &[BlockCopy]),
    name: &str,
    (passed, at): (&[VarId], &[VarId]),
    out: &mut Text,
) {
    let dimensions = at.len();
    let launch = "const hidp::Launch launch".to_owned();
    let params: Vec<String> =
        std::iter::once(launch).chain(passed.iter().map(|var| kernel_param(scope, *var))).collect();
    let positions = ["z", "y", "x"];
    let positions = positions.iter().skip(positions.len().saturating_sub(dimensions)).map(|&name| name.to_owned());
    let args: Vec<String> = std::iter::once("worker".to_owned())
        .chain(passed.iter().map(|var| passed_name(scope, copies, *var)))
        .chain(positions.clone())
        .collect();
    let index = at.first().map_or(Ty::LONG, |var| scope.var(*var).kind.element());
    let typed: Vec<String> = positions.map(|at| format!("{} {at}", name::ty(scope.program, index))).collect();
    let head = head(grid.block, grid.at_once);
    if grid.joined {
        let own = [format!("hidp::Worker<{}> &worker", grid.block), "const hidp::Launch &launch".to_owned()];
        let own: Vec<String> = own.into_iter().chain(params[1..].iter().cloned()).collect();
        out.open(format!("HIDP_DEVICE void {name}_all({}) {{", own.join(", ")));
    } else {
        out.open(format!("{head} {name}_items({}) {{", params.join(", ")));
        out.line(format!("hidp::Worker<{}> worker(launch);", grid.block));
    }
    copies.iter().for_each(|copy| begin_copy(scope, copy, out));
    if !copies.is_empty() {
        out.line("hidp::sync<hidp::Block>(worker);");
    }
    let items = match (grid.items, index == Ty::LONG) {
        (1, true) => String::new(),
        (items, true) => format!(", {items}"),
        (items, false) => format!(", {items}, {}", name::ty(scope.program, index)),
    };
    let each = format!("hidp::each_item<{}, {dimensions}{items}>(worker, launch", level(grid.level));
    out.line(format!("{each}, [&]({}) {{ {name}({}); }});", typed.join(", "), args.join(", ")));
    if !copies.is_empty() {
        out.line("hidp::sync<hidp::Block>(worker);");
    }
    for copy in copies {
        out.line(format!("{}.end(worker);", copy_name(scope, copy)));
    }
    out.close("}");
    if grid.joined {
        let own = ["worker".to_owned(), "launch".to_owned()];
        let args: Vec<String> = own.into_iter().chain(passed.iter().map(|var| scope.name(*var))).collect();
        out.open(format!("{head} {name}_items({}) {{", params.join(", ")));
        out.line(format!("hidp::Worker<{}> worker(launch);", grid.block));
        out.line(format!("{name}_all({});", args.join(", ")));
        out.close("}");
    }
}

/// Of an array of which blocks have copies the block's own one.
fn passed_name(scope: &Scope<'_>, copies: &[BlockCopy], var: VarId) -> String {
    let copy = copies.iter().find(|copy| copy.all == var);
    copy.map_or_else(|| scope.name(var), |copy| copy_name(scope, copy))
}

fn copy_name(scope: &Scope<'_>, copy: &BlockCopy) -> String {
    format!("{}_own", scope.name(copy.all))
}

fn copy_type(scope: &Scope<'_>, copy: &BlockCopy) -> String {
    let ty = name::ty(scope.program, scope.var(copy.all).kind.element());
    format!("hidp::BlockCopy<{}, {ty}, {}>", functor(scope, copy.op, ty.clone()), copy.most)
}

fn begin_copy(scope: &Scope<'_>, copy: &BlockCopy, out: &mut Text) {
    let (own, ty) = (copy_name(scope, copy), copy_type(scope, copy));
    out.line(format!("using {own}_type = {ty};"));
    out.line(format!("HIDP_SHARED({own}_type::Part, {own}_parts, {own}_type::parts);"));
    let (all, count) = (scope.name(copy.all), scope.name(copy.count));
    out.line(format!("const {own}_type {own}({own}_parts, {all}, {count});"));
    out.line(format!("{own}.begin(worker);"));
}

fn kernel_param(scope: &Scope<'_>, var: VarId) -> String {
    let name = scope.name(var);
    let attribute = if scope.usage.is_read(var) { "" } else { "[[maybe_unused]] " };
    let ty = match scope.var(var).kind {
        VarKind::Value(ty) => name::ty(scope.program, ty),
        VarKind::Buffer { elem, writable: false } => format!("hidp::In<{}>", name::ty(scope.program, elem)),
        VarKind::Buffer { elem, writable: true } => format!("hidp::Out<{}>", name::ty(scope.program, elem)),
        VarKind::HostCell { elem, .. }
        | VarKind::Tile { elem, .. }
        | VarKind::Shared { elem, .. }
        | VarKind::Registers { elem, .. } => format!("{} *", name::ty(scope.program, elem)),
        VarKind::Divisor(elem) | VarKind::Wide { elem, .. } | VarKind::WideTile { elem, .. } => {
            name::scalar(elem).to_owned()
        }
    };
    format!("{attribute}{ty} {name}")
}

fn body(scope: Scope<'_>, dialect: &dyn Dialect, span: Option<Span>, out: &mut Text) {
    Printer::new(scope, dialect, span).block(&scope.function.body, out);
}

/// The host function of a version.
pub(super) fn host(program: &Program, sources: &SourceMap, entry: &Entry, unit: &Unit, out: &mut Text) {
    let usage = Usage::of(&unit.host);
    let scope = Scope { program, sources, entry, function: &unit.host, usage: &usage, numbers: None };
    let dialect = Cuda::Host { unit };
    out.line("");
    out.line(plan_comment(unit));
    out.open(format!("HIDP_ENTRY HIDP_SYMBOL({})(hidp_call *call) {{", name::host(entry, unit)));
    out.line("hidp::Host host(call);");
    for (block, _) in joined(unit) {
        out.line(format!("hidp::Joining<{}, {block}> joining{block};", name::joined(unit, block)));
    }
    host_params(&scope, &dialect, &unit.host, out);
    body(scope, &dialect, None, out);
    out.line(dialect.leave());
    out.close("}");
}

/// Addresses and dimensions out of the call: arrays and scalars come first, then `long` values.
fn host_params(scope: &Scope<'_>, dialect: &dyn Dialect, host: &Function, out: &mut Text) {
    let mut dims = 0;
    for (position, &var) in host.params.iter().enumerate() {
        let name = scope.name(var);
        let attribute = if scope.usage.is_read(var) { "" } else { "[[maybe_unused]] " };
        let fixed = if scope.usage.is_changed(var) { "" } else { "const " };
        let of_type = |elem, writable| {
            let constant = if writable { "" } else { "const " };
            format!("{constant}{}", name::ty(scope.program, elem))
        };
        match scope.var(var).kind {
            VarKind::Value(_) => {
                out.line(format!("{attribute}{fixed}int64_t {name} = host.dim({dims});"));
                dims += 1;
            }
            VarKind::Buffer { elem, writable } => {
                let ty = dialect.buffer(scope, elem, writable);
                let elem = of_type(elem, writable);
                out.line(format!("{attribute}{fixed}{ty}{name} = host.param<{elem}>({position});"));
            }
            VarKind::HostCell { elem, writable } => {
                let elem = of_type(elem, writable);
                out.line(format!("{attribute}{elem} *{fixed}{name} = host.cell<{elem}>({position});"));
            }
            // No parameter is one.
            VarKind::Tile { .. }
            | VarKind::Shared { .. }
            | VarKind::Registers { .. }
            | VarKind::Divisor(_)
            | VarKind::Wide { .. }
            | VarKind::WideTile { .. } => {}
        }
    }
}
