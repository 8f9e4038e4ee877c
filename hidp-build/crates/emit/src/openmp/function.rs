//! Kernels and host functions.

use super::special::{self, OpenMp};
use crate::c_like::stmt::Printer;
use crate::c_like::text::Text;
use crate::c_like::uses::Usage;
use crate::c_like::{Dialect, Scope, name, plan_comment};
use hidp_ir::imp::{Entry, Function, Kernel, Unit, UnitTarget, VarId, VarKind};
use hidp_ir::par::Program;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::{SourceMap, Span};

/// The kernels of all versions. What several have in common is printed once, with the name that it has in the first: most of a
/// version's nests are planned as in others, and compilers take their time again for each. Returns the names of the kernels that
/// each version launches.
pub(super) fn kernels(program: &Program, sources: &SourceMap, entry: &Entry, out: &mut Text) -> Vec<Vec<String>> {
    let mut printed: OrdMap<String, String> = OrdMap::new();
    let mut names = Vec::new();
    for unit in entry.units_for(UnitTarget::Cpu) {
        let mut of_unit: Vec<String> = Vec::new();
        for (id, kernel) in unit.kernels.iter() {
            let mut code = Text::new(None);
            self::kernel(program, sources, entry, (kernel, &of_unit), "", &mut code);
            let code = code.finish();
            let name = printed.get(&code).cloned().unwrap_or_else(|| {
                let name = name::kernel(unit, id);
                self::kernel(program, sources, entry, (kernel, &of_unit), &name, out);
                printed.insert(code, name.clone());
                name
            });
            of_unit.push(name);
        }
        names.push(of_unit);
    }
    names
}

/// A kernel of this name, and the names of those before it.
fn kernel(
    program: &Program,
    sources: &SourceMap,
    entry: &Entry,
    (kernel, before): (&Kernel, &[String]),
    name: &str,
    out: &mut Text,
) {
    let usage = Usage::of(&kernel.function);
    let scope = Scope { program, sources, entry, function: &kernel.function, usage: &usage, numbers: None };
    out.line("");
    out.at(sources, kernel.span);
    out.open(format!("HIDP_KERNEL void {name}({}) {{", kernel_params(&scope, kernel).join(", ")));
    body(scope, &OpenMp::Kernel { before }, Some(kernel.span), out);
    out.close("}");
    out.here();
}

fn body(scope: Scope<'_>, dialect: &dyn Dialect, span: Option<Span>, out: &mut Text) {
    Printer::new(scope, dialect, span).block(&scope.function.body, out);
}

fn kernel_params(scope: &Scope<'_>, kernel: &Kernel) -> Vec<String> {
    let worker = "[[maybe_unused]] hidp::Worker &worker".to_owned();
    std::iter::once(worker).chain(kernel.function.params.iter().map(|var| kernel_param(scope, *var))).collect()
}

fn kernel_param(scope: &Scope<'_>, var: VarId) -> String {
    let name = scope.name(var);
    let attribute = if scope.usage.is_read(var) { "" } else { "[[maybe_unused]] " };
    match scope.var(var).kind {
        VarKind::Value(ty) => format!("{attribute}{} {name}", name::ty(scope.program, ty)),
        VarKind::Buffer { .. }
        | VarKind::HostCell { .. }
        | VarKind::Tile { .. }
        | VarKind::Shared { .. }
        | VarKind::Registers { .. }
        | VarKind::Divisor(_)
        | VarKind::Wide { .. }
        | VarKind::WideTile { .. } => {
            format!("{attribute}{}__restrict {name}", special::pointer(scope, var))
        }
    }
}

/// The host function of a version, whose kernels have these names.
pub(super) fn host(
    program: &Program,
    sources: &SourceMap,
    entry: &Entry,
    unit: &Unit,
    kernels: &[String],
    out: &mut Text,
) {
    let usage = Usage::of(&unit.host);
    let scope = Scope { program, sources, entry, function: &unit.host, usage: &usage, numbers: None };
    out.line("");
    out.line(plan_comment(unit));
    out.open(format!("HIDP_ENTRY HIDP_SYMBOL({})(hidp_call *call) {{", name::host(entry, unit)));
    out.line("hidp::Host host(call);");
    host_params(&scope, &unit.host, out);
    body(scope, &OpenMp::Host { kernels }, None, out);
    out.line(OpenMp::Host { kernels }.leave());
    out.close("}");
}

/// Addresses and dimensions out of the call: buffers come first, then `long` values.
fn host_params(scope: &Scope<'_>, host: &Function, out: &mut Text) {
    let mut dims = 0;
    for (position, &var) in host.params.iter().enumerate() {
        let name = scope.name(var);
        let attribute = if scope.usage.is_read(var) { "" } else { "[[maybe_unused]] " };
        let fixed = if scope.usage.is_changed(var) { "" } else { "const " };
        match scope.var(var).kind {
            VarKind::Value(_) => {
                out.line(format!("{attribute}{fixed}int64_t {name} = host.dim({dims});"));
                dims += 1;
            }
            VarKind::Buffer { elem, .. }
            | VarKind::HostCell { elem, .. }
            | VarKind::Tile { elem, .. }
            | VarKind::Shared { elem, .. }
            | VarKind::Registers { elem, .. } => {
                let pointer = special::pointer(scope, var);
                let elem = name::ty(scope.program, elem);
                out.line(format!("{attribute}{pointer}{fixed}{name} = host.param<{elem}>({position});"));
            }
            // No parameter is one.
            VarKind::Divisor(_) | VarKind::Wide { .. } | VarKind::WideTile { .. } => {}
        }
    }
}
