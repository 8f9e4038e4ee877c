//! The text that tuning records are stamped with: the code of an entry, independent of its position in a file or program.

use crate::c_like::name;
use crate::c_like::uses::Needs;
use crate::{cuda, openmp};
use hidp_ir::imp::{Entry, UnitTarget};
use hidp_ir::par::Program;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::SourceMap;

/// The versions of an entry for a target, as they would be emitted if a file had nothing else. None if there are none. Lines of the
/// program are not in it, nor native headers that the entry uses nothing of.
pub fn text(
    program: &Program,
    sources: &SourceMap,
    entry: &Entry,
    target: UnitTarget,
    native_headers: &[String],
) -> Option<String> {
    entry.units_for(target).next()?;
    let needs = Needs::of(program, entry, target);
    let native_headers = if needs.natives(program) { native_headers.to_vec() } else { Vec::new() };
    let options = openmp::Options { line_directives: false, native_headers, numbers: false };
    let entries = [Entry { symbol: String::new(), ..entry.clone() }];
    let text = match target {
        UnitTarget::Cpu => openmp::module(program, sources, "", &entries, &options),
        UnitTarget::Device => cuda::module(program, sources, "", &entries, &options)?,
    };
    Some(renamed(&text, &names(program, &needs)))
}

/// The names of what an entry uses hold numbers, which change with what else the program declares. These are the same with the
/// numbers that they would have alone.
fn names(program: &Program, needs: &Needs) -> OrdMap<String, String> {
    let structs = needs.structs.iter().filter(|id| !program.structs[**id].native);
    let structs = structs.map(|&id| (name::structure(program, id), "struct"));
    let functions = needs.functions.iter().filter(|id| program.scalar_fns[**id].body.is_some());
    let functions = functions.map(|&id| (name::scalar_fn(program, id), "function"));
    let functors = needs.functors.iter().map(|&id| (name::functor(program, id), "functor"));
    let all = structs.chain(functions).chain(functors).enumerate();
    all.map(|(at, (known, what))| (known, format!("{what}_{at}"))).collect()
}

fn renamed(text: &str, names: &OrdMap<String, String>) -> String {
    if names.is_empty() {
        return text.to_owned();
    }
    let of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let (bytes, mut found, mut at) = (text.as_bytes(), String::with_capacity(text.len()), 0);
    while at < bytes.len() {
        let (begin, is_name) = (at, of_name(bytes[at]));
        while at < bytes.len() && of_name(bytes[at]) == is_name {
            at += 1;
        }
        let part = &text[begin..at];
        found.push_str(if is_name { names.get(part).map_or(part, String::as_str) } else { part });
    }
    found
}
