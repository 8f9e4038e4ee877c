//! Rust: wrappers that check their arguments, and the tables that they check against.

mod broken;
mod danger;
mod doc;
mod extent;
mod names;
mod signature;
mod structs;
mod table;
mod text;
mod wrapper;

#[cfg(test)]
mod tests;

pub use broken::broken;

use danger::Danger;
use names::{Names, identifier, snake_case};
use signature::Signature;
use table::Table;
use text::Text;
use wrapper::Wrapper;

use hidp_ir::imp;
use hidp_ir::par::{FuncId, Program};
use hidp_plan::Dispatch;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::{FileId, SourceMap};

/// An instruction set that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// Whatever the target always has.
    Base,
    /// x86-64-v2
    V2,
    /// x86-64-v3
    V3,
    /// x86-64-v4
    V4,
}

impl Isa {
    /// As symbols carry it, and as `HIDP_ISA` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Isa::Base => "base",
            Isa::V2 => "v2",
            Isa::V3 => "v3",
            Isa::V4 => "v4",
        }
    }
    /// The variant's name in `hidp_std::Isa`.
    const fn variant(self) -> &'static str {
        match self {
            Isa::Base => "Base",
            Isa::V2 => "V2",
            Isa::V3 => "V3",
            Isa::V4 => "V4",
        }
    }
}

/// A library that the generated code links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// Its name, without `lib`.
    pub name: String,
    /// Whether it is a static one.
    pub is_static: bool,
}

/// What compiled the kernels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toolchains {
    /// The C++ compiler.
    pub cpu: String,
    /// The compiler of device code; empty if there is none.
    pub device: String,
}

/// An entry: what it is, and what was made of it.
#[derive(Clone, Copy, Debug)]
pub struct EntryInfo<'a> {
    /// The function.
    pub func: FuncId,
    /// Its versions and fault sites.
    pub entry: &'a imp::Entry,
    /// How a call finds its version.
    pub dispatch: &'a Dispatch,
}

/// What the modules of a build share.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Instruction sets, most demanding first.
    pub isas: &'a [Isa],
    /// Whether the build script vouches for native functions.
    pub vouched: bool,
    /// The module of each file.
    pub stems: &'a OrdMap<FileId, String>,
}

/// The module of `<stem>.hdp`: its structs and a function for each of its entries. `entries` are those of this file.
pub fn module(
    program: &Program,
    sources: &SourceMap,
    stem: &str,
    entries: &[EntryInfo<'_>],
    options: &Options<'_>,
) -> String {
    let mut text = Text::default();
    text.line(format!("/// Kernels of `{stem}.hdp`."));
    text.nest(format!("pub mod {} {{", identifier(stem)), "}", |text| {
        for (id, item) in program.structs.iter() {
            if signature::home(program, options, id) == Some(stem) {
                structs::print(program, options, stem, item, text);
                text.line("");
            }
        }
        functions(program, sources, stem, entries, options, text);
    });
    text.finish()
}

fn functions(
    program: &Program,
    sources: &SourceMap,
    stem: &str,
    entries: &[EntryInfo<'_>],
    options: &Options<'_>,
    text: &mut Text,
) {
    if entries.is_empty() {
        return;
    }
    let mut names = Names::default();
    let names: Vec<String> =
        entries.iter().map(|info| names.unique(snake_case(&program.funcs[info.func].name))).collect();
    let statics: Vec<String> = names.iter().map(|name| name.to_uppercase()).collect();
    let signature = |info: &EntryInfo<'_>| Signature::of(program, sources, info, options, stem);
    let signatures: Vec<Signature> = entries.iter().map(signature).collect();

    for (((info, name), table), signature) in entries.iter().zip(&names).zip(&statics).zip(&signatures) {
        let mut danger = Danger::of(program, info.func);
        if options.vouched {
            danger.natives.clear();
        }
        Wrapper {
            sources,
            func: &program.funcs[info.func],
            sites: info.entry.sites.iter().map(|(_, site)| site).collect(),
            signature,
            danger: &danger,
            name: &identifier(name),
            table: format!("entry_tables::{table}"),
            settings: info.dispatch.settings.len(),
        }
        .print(text);
        text.line("");
    }

    let tables: Vec<Table<'_>> = entries
        .iter()
        .zip(&statics)
        .zip(&signatures)
        .map(|((info, name), signature)| {
            let shown = format!("{stem}::{}", program.funcs[info.func].name);
            Table { program, sources, options, info, signature, shown, name }
        })
        .collect();
    text.line("/// The entries of this module whose wrappers are safe.");
    let safe = |info: &EntryInfo<'_>| {
        let danger = Danger::of(program, info.func);
        danger.unchecked.is_empty() && (options.vouched || danger.natives.is_empty())
    };
    let listed = entries.iter().zip(&statics).filter(|(info, _)| safe(info));
    let listed: Vec<String> = listed.map(|(_, name)| format!("&entry_tables::{name}")).collect();
    text.list("pub(super) static ENTRIES: &[&::hidp_std::rt::entry::Entry] = &[", &listed, "];");
    text.line("");
    text.line("/// All entries of this module by name.");
    let names: Vec<String> = tables.iter().map(|table| format!("{:?}", table.shown)).collect();
    text.list("pub(super) const NAMES: &[&str] = &[", &names, "];");
    text.line("");
    text.line("/// What the run time knows of the functions above.");
    text.nest("mod entry_tables {", "}", |text| {
        text.line("use ::hidp_std::rt::entry::*;");
        text.line("use ::hidp_std::rt::hidp_call;");
        text.line("");
        text.nest("unsafe extern \"C\" {", "}", |text| tables.iter().for_each(|table| table.declare(text)));
        for table in &tables {
            text.line("");
            table.define(text);
        }
    });
}

/// `hidp_kernels.rs`: the modules, of these stems those that have entries.
pub fn file(modules: &[String], stems: &[&str]) -> String {
    let mut text = Text::default();
    text.line("// Generated by hidp-build from `.hdp` files. Do not edit.");
    text.line("");
    text.line("/// Every entry, for tools such as the tuner.");
    let entries: Vec<String> = stems.iter().map(|stem| format!("{}::ENTRIES", identifier(stem))).collect();
    text.line(
        "// SAFETY: they describe the functions that were compiled with them, and those are safe for all arguments.",
    );
    let entries = format!("&[{}]", entries.join(", "));
    text.line(format!(
        "pub static ENTRIES: ::hidp_std::rt::Entries = unsafe {{ ::hidp_std::rt::Entries::new({entries}) }};"
    ));
    text.line("");
    text.line("/// Names of all entries: tuning records of others are idle.");
    let names: Vec<String> = stems.iter().map(|stem| format!("{}::NAMES", identifier(stem))).collect();
    text.list("const NAMES: &[&[&str]] = &[", &names, "];");
    for module in modules {
        text.line("");
        module.lines().for_each(|line| text.line(line));
    }
    text.finish()
}

/// The end of `hidp_kernels.rs`: what the kernels link. Standing there rather than in the build script's output, it holds for
/// every target that includes the file, also where a package has a library too.
pub fn links(libraries: &[Library], toolchains: &Toolchains) -> String {
    let mut text = Text::default();
    text.line("");
    text.line("/// The C++ compiler that compiled the kernels.");
    let Toolchains { cpu, device } = toolchains;
    text.line(format!("const TOOLCHAIN: &str = {cpu:?};"));
    text.line("/// What compiled device code.");
    text.line(format!("const DEVICE_TOOLCHAIN: &str = {device:?};"));
    for Library { name, is_static } in libraries {
        text.line("");
        let kind = if *is_static { ", kind = \"static\"" } else { "" };
        text.line(format!("#[link(name = {name:?}{kind})]"));
        text.line("unsafe extern \"C\" {}");
    }
    text.finish()
}
