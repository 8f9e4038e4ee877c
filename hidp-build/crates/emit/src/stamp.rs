//! The text that versions are known by: their code, independent of its position in a file or program.

use crate::c_like::name;
use crate::c_like::uses::Needs;
use crate::{cuda, openmp};
use hidp_ir::imp::{Entry, Unit, UnitTarget};
use hidp_ir::par::Program;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::SourceMap;

/// A version of an entry, as it would be emitted if a file had nothing else. Lines of the program are not in it, nor native headers that
/// the version uses nothing of.
pub fn text(program: &Program, sources: &SourceMap, entry: &Entry, unit: &Unit, native_headers: &[String]) -> String {
    let target = unit.target;
    let entries = [Entry { symbol: String::new(), sites: entry.sites.clone(), units: vec![unit.clone()] }];
    let needs = Needs::of(program, &entries[0], target);
    let native_headers = if needs.natives(program) { native_headers.to_vec() } else { Vec::new() };
    let options = openmp::Options { line_directives: false, native_headers, numbers: false };
    let text = match target {
        UnitTarget::Cpu => Some(openmp::module(program, sources, "", &entries, &options)),
        UnitTarget::Device => cuda::module(program, sources, "", &entries, &options),
    };
    renamed(&text.unwrap_or_default(), &names(program, &needs))
}

/// The names of what a version uses hold numbers, which change with what else the program declares. These are the same with the
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
