//! What each version costs: bytes of code, and seconds to compile the file that it is in. Written to [`CODE`] beside the objects.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::Isa;
use crate::compiler::pipeline::EntryVersions;

/// Name of the report.
pub(crate) const CODE: &str = "hidp_code.txt";
/// Extension of the file that holds the seconds that an object took to compile.
pub(crate) const SECONDS: &str = "seconds";

/// The report: every file, and below it every version of its entries, one column an instruction set.
pub(crate) fn report(out_dir: &Path, isas: &[Isa], entries: &[EntryVersions]) -> String {
    let mut text = String::from("code and compile time of each version\n");
    let mut file = None;
    let objects = |stem: &str| -> Vec<Object> { isas.iter().map(|isa| Object::read(out_dir, stem, *isa)).collect() };
    let mut columns = Vec::new();
    for entry in entries {
        if file != Some(&entry.stem) {
            file = Some(&entry.stem);
            columns = objects(&entry.stem);
            let _ = write!(text, "\n{}.cpp", entry.stem);
            for (isa, object) in isas.iter().zip(&columns) {
                let _ = write!(text, "   {}: {}, {}", isa.name(), object.seconds(), bytes(object.code()));
            }
            text.push('\n');
        }
        let _ = writeln!(text, "  {}", entry.name);
        for plan in &entry.plans {
            let sizes = isas.iter().zip(&columns).map(|(isa, object)| {
                let size = object.symbols.as_ref().map(|symbols| size_of(symbols, &entry.symbol, plan, &entry.plans));
                format!("{}: {}", isa.name(), bytes(size))
            });
            let _ = writeln!(text, "    {plan:<12} {}", sizes.collect::<Vec<_>>().join("   "));
        }
    }
    text
}

/// The functions of an object file.
struct Object {
    seconds: Option<String>,
    symbols: Option<Vec<(String, u64)>>,
}

impl Object {
    fn read(out_dir: &Path, stem: &str, isa: Isa) -> Object {
        let path = |extension: &str| out_dir.join(format!("{stem}.{}.{extension}", isa.name()));
        let seconds = fs::read_to_string(path(SECONDS)).ok();
        Object { seconds, symbols: fs::read(path("o")).ok().and_then(|bytes| functions(&bytes)) }
    }
    fn seconds(&self) -> String {
        self.seconds.as_ref().map_or("unknown time".into(), |seconds| format!("{seconds} s"))
    }
    fn code(&self) -> Option<u64> {
        self.symbols.as_ref().map(|symbols| symbols.iter().map(|(_, size)| size).sum())
    }
}

fn bytes(size: Option<u64>) -> String {
    size.map_or("unknown size".into(), |size| format!("{:.1} KiB", size as f64 / 1024.0))
}

/// Bytes of the functions that only this version has: its host function with what is inlined there, and its kernels.
fn size_of(symbols: &[(String, u64)], symbol: &str, plan: &str, plans: &[String]) -> u64 {
    let mine = |name: &&(String, u64)| owner(&name.0, symbol, plans) == Some(plan);
    symbols.iter().filter(mine).map(|(_, size)| size).sum()
}

/// The plan that a function belongs to. Kernels are in a namespace of the entry and begin with the plan's name.
fn owner<'p>(name: &str, symbol: &str, plans: &'p [String]) -> Option<&'p str> {
    let host = format!("_{symbol}_");
    let inside = format!("entry_{symbol}");
    let mut owners: Vec<&str> = plans.iter().map(String::as_str).collect();
    owners.sort_by_key(|plan| std::cmp::Reverse(plan.len()));
    let of_host = |plan: &&str| name.contains(&format!("{host}{plan}_"));
    let of_kernel = |plan: &&str| {
        let (_, rest) = name.split_once(&inside)?;
        let at = rest.find(&format!("{plan}_"))?;
        // In a mangled name a length stands before it.
        rest[..at].ends_with(|before: char| before.is_ascii_digit()).then_some(())
    };
    owners.into_iter().find(|plan| of_host(plan) || of_kernel(plan).is_some())
}

/// Names and sizes of the functions in a 64-bit little-endian ELF file; nothing of other files.
fn functions(bytes: &[u8]) -> Option<Vec<(String, u64)>> {
    const SYMBOLS: u32 = 2;
    const FUNCTION: u8 = 2;
    const ENTRY: usize = 24;
    if bytes.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let u16_at = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let u32_at = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let u64_at = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let size_at = |at: usize| usize::try_from(u64_at(at)?).ok();
    let (first, each, count) = (size_at(0x28)?, usize::from(u16_at(0x3a)?), usize::from(u16_at(0x3c)?));
    let header = |number: usize| first.checked_add(number.checked_mul(each)?);
    let table = (0..count).filter_map(header).find(|at| u32_at(at + 4) == Some(SYMBOLS))?;
    let names = size_at(header(usize::try_from(u32_at(table + 0x28)?).ok()?)? + 0x18)?;
    let (start, size) = (size_at(table + 0x18)?, size_at(table + 0x20)?);
    let mut found = Vec::new();
    for at in (0..size / ENTRY).map(|number| start + number * ENTRY) {
        if bytes.get(at + 4)? & 15 != FUNCTION {
            continue;
        }
        let name = bytes.get(names + u32_at(at)? as usize..)?;
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        found.push((String::from_utf8_lossy(name).into_owned(), u64_at(at + 16)?));
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_belong_to_versions() {
        let plans = ["lanes".to_owned(), "lanes_r4v4".to_owned(), "serial".to_owned()];
        let of = |name: &str| owner(name, "k_4blas_GEMM", &plans);
        assert_eq!(of("hidp2_k_4blas_GEMM_lanes_v4"), Some("lanes"));
        assert_eq!(of("hidp2_k_4blas_GEMM_lanes_r4v4_v4._omp_fn.0"), Some("lanes_r4v4"));
        assert_eq!(of("_ZN18entry_k_4blas_GEMM12_GLOBAL__N_114lanes_tiles_k0ERN4hidp6WorkerEl"), Some("lanes"));
        assert_eq!(of("_ZN18entry_k_4blas_GEMM12_GLOBAL__N_114serial_map0_k0ERN4hidp6WorkerEl"), Some("serial"));
        assert_eq!(of("hidp2_k_4blas_GEMV_lanes_v4"), None);
        assert_eq!(of("_ZN4hidp4HostD2Ev"), None);
    }

    #[test]
    fn this_program_has_functions() {
        if !cfg!(all(target_os = "linux", target_endian = "little", target_pointer_width = "64")) {
            return;
        }
        let own = fs::read(std::env::current_exe().unwrap()).unwrap();
        let found = functions(&own).unwrap();
        assert!(found.iter().any(|(name, size)| name.contains("functions_belong_to_versions") && *size > 0));
        assert_eq!(functions(b"!<arch>"), None);
        for cut in [7, 64, 1000, own.len() / 2] {
            let _ = functions(&own[..cut]); // no panic
        }
    }
}
