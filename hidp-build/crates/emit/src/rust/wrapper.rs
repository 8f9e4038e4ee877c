//! The functions that users call.

use super::danger::Danger;
use super::doc;
use super::signature::{Parameter, Passing, Signature};
use super::text::Text;
use hidp_ir::imp::Site;
use hidp_ir::par::Func;
use hidp_syntax::source::SourceMap;

/// A wrapper.
pub(super) struct Wrapper<'a> {
    pub(super) sources: &'a SourceMap,
    pub(super) func: &'a Func,
    pub(super) sites: Vec<&'a Site>,
    pub(super) signature: &'a Signature,
    pub(super) danger: &'a Danger,
    /// Name of the function.
    pub(super) name: &'a str,
    /// Path of its table.
    pub(super) table: String,
    /// What calls set besides dimensions.
    pub(super) settings: usize,
}

/// Clippy counts the context too.
const MOST_ARGUMENTS: usize = 7;

impl Wrapper<'_> {
    pub(super) fn print(&self, text: &mut Text) {
        text.doc(&doc::lines(self.sources, &self.func.doc, self.signature, &self.sites, self.danger));
        let arguments = self.arguments();
        if arguments.len() > MOST_ARGUMENTS {
            text.line("#[allow(clippy::too_many_arguments)]");
        }
        let qualifier = if self.danger.is_none() { "" } else { "unsafe " };
        text.nest(format!("pub {qualifier}fn {}(", self.name), self.open(), |text| {
            arguments.iter().for_each(|argument| text.line(format!("{argument},")));
        });
        text.indent(|text| self.body(text));
        text.line("}");
    }

    fn arguments(&self) -> Vec<String> {
        let context = "cx: &::hidp_std::Context".to_owned();
        std::iter::once(context).chain(self.signature.parameters.iter().filter_map(argument)).collect()
    }

    fn open(&self) -> String {
        match self.signature.result() {
            None => ") -> ::hidp_std::Result {".into(),
            Some(result) => format!(") -> ::hidp_std::Result<{result}> {{"),
        }
    }

    fn body(&self, text: &mut Text) {
        let table = &self.table;
        for (number, Parameter { passing, rust_name, writes, zero, .. }) in self.signature.parameters.iter().enumerate()
        {
            match passing {
                Passing::Value | Passing::Reference => {}
                Passing::Result => text.line(format!("let mut {rust_name} = {zero};")),
                Passing::View(_) => {
                    let constructor = if *writes { "output" } else { "input" };
                    let array = "::hidp_std::rt::Array";
                    text.line(format!("let {rust_name} = {array}::{constructor}(&{table}, {number}, {rust_name})?;"));
                }
            }
        }
        let args: Vec<String> = self.signature.parameters.iter().map(passed).collect();
        text.list("let args = [", &args, "];");
        text.line(format!(
            "// SAFETY: `{table}` describes the functions that were compiled with it, and `args` are its"
        ));
        text.line(
            "// parameters in order, of their types and ranks, and borrowed as it says.".to_owned() + self.promise(),
        );
        let (params, dims) = (args.len(), self.func.dims.len() + self.settings);
        text.line(format!("unsafe {{ ::hidp_std::rt::call::<{params}, {dims}>(cx, &{table}, args) }}?;"));
        text.line(format!("Ok({})", self.signature.result_value()));
    }

    fn promise(&self) -> &'static str {
        if self.danger.is_none() { "" } else { " The rest is the caller's promise." }
    }
}

fn argument(parameter: &Parameter) -> Option<String> {
    let Parameter { passing, rust_name, rust_ty, writes, .. } = parameter;
    match (passing, writes) {
        (Passing::Value, _) => Some(format!("{rust_name}: {rust_ty}")),
        (Passing::Reference, _) => Some(format!("{rust_name}: &mut {rust_ty}")),
        (Passing::Result, _) => None,
        (Passing::View(rank), false) => {
            Some(format!("{rust_name}: &(impl ::hidp_std::View<{rust_ty}, {rank}> + ?Sized)"))
        }
        (Passing::View(rank), true) => {
            Some(format!("{rust_name}: &mut (impl ::hidp_std::ViewMut<{rust_ty}, {rank}> + ?Sized)"))
        }
    }
}

fn passed(parameter: &Parameter) -> String {
    let Parameter { passing, rust_name, is_size, .. } = parameter;
    let constructor = if *is_size { "size" } else { "scalar" };
    match passing {
        Passing::Value => format!("::hidp_std::rt::Arg::{constructor}(&{rust_name})"),
        Passing::Reference => format!("::hidp_std::rt::Arg::{constructor}_mut({rust_name})"),
        Passing::Result => format!("::hidp_std::rt::Arg::{constructor}_mut(&mut {rust_name})"),
        Passing::View(_) => format!("{rust_name}.arg()"),
    }
}
