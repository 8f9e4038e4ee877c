//! Inner loops are vector code: in the assembly of every version of these kernels, an innermost loop works on packed numbers.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hidp_build::compiler::emit::openmp::FLAGS;
use hidp_build::compiler::pipeline::{InputFile, Options, PipelineInput, compile};
use hidp_build::compiler::source::SourceMap;

use crate::made::{self, folder, hash, headers_hash};

const MORE: &str = "\
function saxpy
input float _a, x[N];
inout float y[N];
{ y = _a * x + y; }

function dot64
input double x[N], y[N];
output double _sum;
{
  map { i := [0:N); _t = x[i] * y[i]; } reduce(\"+\", _sum, _t, i := [*]);
}

function exp32
input float x[N];
output float y[N];
{ y = exp(x); }

function sin64
input double x[N];
output double y[N];
{ y = sin(x); }
";

/// An entry, and the instructions one of which its inner loops must hold: those that do its arithmetic.
const EXPECTED: [(&str, &str, &[&str]); 11] = [
    ("saxpy", "ps", &["vfmadd"]),
    ("dot", "ps", &["vfmadd"]),
    ("dot64", "pd", &["vfmadd"]),
    ("exp32", "ps", &["vfmadd"]),
    ("sin64", "pd", &["vfmadd", "vfnmadd"]),
    ("triad", "ps", &["vfmadd"]),
    ("row_sums", "ps", &["vadd"]),
    ("column_sums", "ps", &["vadd"]),
    ("GEMM", "ps", &["vfmadd"]),
    ("jacobi7", "pd", &["vadd", "vfmadd"]),
    ("himeno", "ps", &["vfmadd", "vfnmadd", "vfmsub"]),
];

/// Whether the compiler makes code for this machine's sort of processor, and reads GCC's options.
fn is_gcc() -> bool {
    let is_gcc = made::compiler().version.contains("Free Software Foundation");
    is_gcc && cfg!(all(target_arch = "x86_64", target_os = "linux"))
}

/// The generated C++ of all entries, one file a program.
fn programs() -> Vec<String> {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/run");
    let read = |name: &str| fs::read_to_string(cases.join(name)).expect("the case is there");
    [MORE.to_owned(), read("dense.hdp"), read("stencil.hdp")].map(|text| generated(&text)).into()
}

fn generated(text: &str) -> String {
    let mut sources = SourceMap::new();
    let id = sources.add("k.hdp", text);
    let files = vec![InputFile { id, stem: "k".into(), imports: Vec::new() }];
    let options = Options { line_directives: false, ..Options::default() };
    let output = compile(&PipelineInput { sources, files, options });
    assert!(!output.cpp.is_empty(), "{:?}", output.diagnostics);
    output.cpp[0].text.clone()
}

/// Assembly in which functions of the same code do not share it, so that each version is found. Made once of each text.
fn assembly(cpp: &str, name: &str, isa: &str, more: &[&str]) -> String {
    let isa = [format!("-march=x86-64-{isa}"), format!("-DHIDP_ISA={isa}")];
    let flags = [FLAGS, &[isa[0].as_str(), isa[1].as_str()], &["-fopenmp-simd", "-fno-ipa-icf", "-S"], more].concat();
    let key = flags.iter().fold(hash(headers_hash(), cpp.as_bytes()), |state, flag| hash(state, flag.as_bytes()));
    let output = folder().join(format!("vectorise_{name}-{key:016x}.s"));
    let input = output.with_extension("cpp");
    fs::write(&input, cpp).expect("the file can be written");
    made::compile(&output, &flags, &[input]).unwrap_or_else(|why| panic!("{why}"));
    fs::read_to_string(output).expect("the assembly is there")
}

/// The lines of each function.
fn functions(assembly: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut functions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut current = "";
    for line in assembly.lines() {
        match line.strip_suffix(':') {
            Some(label) if !label.starts_with('.') => current = label,
            _ => functions.entry(current).or_default().push(line.trim()),
        }
    }
    functions
}

/// The loops of a function that hold no other: from a label to a jump back to it.
fn inner_loops<'a>(lines: &[&'a str]) -> Vec<Vec<&'a str>> {
    let labels: BTreeMap<&str, usize> =
        lines.iter().enumerate().filter_map(|(at, line)| Some((line.strip_suffix(':')?, at))).collect();
    let mut loops: Vec<(usize, usize)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let mut words = line.split_whitespace();
        let (Some(word), Some(label)) = (words.next(), words.next()) else { continue };
        if let (true, Some(&start)) = (word.starts_with('j'), labels.get(label).filter(|&&start| start < at)) {
            loops.push((start, at));
        }
    }
    let holds =
        |outer: &(usize, usize), inner: &(usize, usize)| outer != inner && outer.0 <= inner.0 && inner.1 <= outer.1;
    let inner = loops.iter().filter(|outer| !loops.iter().any(|inner| holds(outer, inner)));
    inner.map(|&(start, end)| lines[start..end].to_vec()).collect()
}

/// Whether the line is one of the instructions, on vectors of 32 bytes or more.
fn is_packed(line: &str, kinds: &[&str], element: &str) -> bool {
    let mnemonic = line.split_whitespace().next().unwrap_or("");
    let wide = line.contains("%ymm") || line.contains("%zmm");
    wide && mnemonic.ends_with(element) && kinds.iter().any(|kind| mnemonic.starts_with(kind))
}

/// Versions without such a loop, as `dot rows`, and how many were looked at.
fn scalar_versions(assembly: &str, isa: &str) -> (Vec<String>, usize) {
    let functions = functions(assembly);
    let (mut scalar, mut seen) = (Vec::new(), 0);
    for (entry, element, kinds) in EXPECTED {
        let prefix = format!("hidp2_k_1k_{entry}_");
        let suffix = format!("_{isa}");
        let versions = functions.keys().filter_map(|name| name.strip_prefix(&prefix)?.strip_suffix(&suffix));
        for version in versions {
            seen += 1;
            // Versions share kernels, so those count that the host function and its parts call.
            let kernel = format!("entry_k_1k_{entry}12_GLOBAL__N_1");
            let host = format!("{prefix}{version}{suffix}");
            let of_host: Vec<&Vec<&str>> =
                functions.iter().filter(|(name, _)| name.contains(&host)).map(|(_, lines)| lines).collect();
            let is_called = |name: &str| of_host.iter().any(|lines| lines.iter().any(|line| line.ends_with(name)));
            let kernels = functions.iter().filter(|(name, _)| name.contains(&kernel) && is_called(name));
            let own = of_host.iter().copied().chain(kernels.map(|(_, lines)| lines));
            let mut loops = own.flat_map(|lines| inner_loops(lines));
            if !loops.any(|body| body.iter().any(|line| is_packed(line, kinds, element))) {
                scalar.push(format!("{entry} {version}"));
            }
        }
    }
    (scalar, seen)
}

fn check(isa: &str) {
    if !is_gcc() {
        println!("skipped: vector code: not GCC for x86-64");
        return;
    }
    let (mut scalar, mut seen) = (Vec::new(), 0);
    for (at, cpp) in programs().iter().enumerate() {
        let assembly = assembly(cpp, &format!("{isa}_{at}"), isa, &[]);
        let (found, looked_at) = scalar_versions(&assembly, isa);
        scalar.extend(found);
        seen += looked_at;
    }
    assert!(scalar.is_empty(), "no vector code for {isa} in {scalar:?}");
    assert!(seen >= 2 * EXPECTED.len(), "only {seen} versions were found");
}

#[test]
fn every_version_is_vector_code_for_v3() {
    check("v3");
}

#[test]
fn every_version_is_vector_code_for_v4() {
    check("v4");
}

#[test]
fn scalar_code_is_noticed() {
    if !is_gcc() {
        println!("skipped: vector code: not GCC for x86-64");
        return;
    }
    let flags = ["-fno-tree-loop-vectorize", "-fno-tree-slp-vectorize"];
    let (scalar, seen) = scalar_versions(&assembly(&generated(MORE), "scalar", "v3", &flags), "v3");
    assert!(seen > 0 && scalar.len() == seen, "of {seen} only {scalar:?}");
}

/// Two such loops, whose lanes call the same function.
const SINES: &str = "\
function sums
input double x[N]; input int terms; output double y[N];
{
  map { i := [0:N); double s = 0; for (int k = 0; k < terms; k += 1) { s += sin(x[i] * k); } y[i] = s; }
}

function triangle
input double x[N]; output double y[N];
{
  map { i := [0:N); double s = 0; for (long j = 0; j < i; j += 1) { s += sin(x[j] * i); } y[i] = s; }
}
";

#[test]
fn lanes_do_not_call_a_maths_function_one_by_one() {
    if !is_gcc() {
        println!("skipped: vector code: not GCC for x86-64");
        return;
    }
    let assembly = assembly(&generated(SINES), "sines", "v3", &["-fipa-icf"]);
    let functions = functions(&assembly);
    assert!(functions.keys().any(|name| name.contains("wide_map")), "{:?}", functions.keys());
    let called: Vec<_> = functions.keys().filter(|name| name.contains("wide_map") && name.contains("clEd")).collect();
    assert!(called.is_empty(), "{called:?}");
}

/// The lines that load a mask from memory as wider than it was stored there, and use what lies behind it. GCC 12 does it where it knows that a
/// comparison leaves the rest of its register empty.
fn wide_loads<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let mut narrow: BTreeMap<&str, u32> = BTreeMap::new();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some((mnemonic, (from, to))) =
            line.split_once('\t').and_then(|(mnemonic, rest)| Some((mnemonic, rest.rsplit_once(", ")?)))
        else {
            continue;
        };
        let bits = match mnemonic {
            "kmovb" => 8,
            "kmovw" => 16,
            _ => 64,
        };
        if to.ends_with("(%rsp)") || to.ends_with("(%rbp)") {
            narrow.insert(to, bits);
        } else if mnemonic == "movq" && narrow.get(from).is_some_and(|stored| *stored < 64) {
            let stored = narrow[from];
            let is_read = |line: &&&str| line.contains(&format!(" {to}")) || line.contains(&format!("\t{to}"));
            let next = lines[at + 1..].iter().take(4).find(is_read);
            let shift = |line: &str| {
                let count = line.strip_prefix("salq\t$").and_then(|rest| rest.split_once(','));
                count.and_then(|(count, _)| count.parse::<u32>().ok())
            };
            let is_combined = |line: &str| line.starts_with("orq") || line.starts_with("addq");
            if next.is_some_and(|line| shift(line).is_some_and(|by| by + stored < 64) || is_combined(line)) {
                found.push(*line);
            }
        }
    }
    found
}

#[test]
fn masks_in_memory_are_read_as_wide_as_they_are() {
    if !is_gcc() {
        println!("skipped: masks in memory: not GCC for x86-64");
        return;
    }
    let cpp = generated(include_str!("../cases/run/wide_bytes.hdp"));
    let assembly = assembly(&cpp, "masks", "v4", &[]);
    let functions = functions(&assembly);
    let wrong: Vec<_> = functions.values().flat_map(|lines| wide_loads(lines)).collect();
    assert!(functions.keys().any(|name| name.contains("map0")) && wrong.is_empty(), "{wrong:?}");
    let known = ["kmovb\t%k0, 64(%rsp)", "movq\t64(%rsp), %rax", "salq\t$8, %rax"];
    assert_eq!(wide_loads(&known), [known[1]]);
    assert!(wide_loads(&[known[0], known[1], "salq\t$56, %rax"]).is_empty());
}

/// Lanes of 32 bits that compare bytes.
const LETTERS: &str = "\
function found
input uint8 x[N], y[M]; output int last[N];
{
  map { i := [0:N); int at = -1; for (int j = 0; j < M; j += 1) { if (x[i] == y[j]) { at = j; } } last[i] = at; }
}
";

/// A vector that is loaded behind a store of its lower half waits until that is in the cache: ten times as long as the loop takes.
#[test]
fn halves_of_vectors_are_widened_in_registers() {
    if !is_gcc() {
        println!("skipped: widened vectors: not GCC for x86-64");
        return;
    }
    let assembly = assembly(&generated(LETTERS), "letters", "v3", &[]);
    let functions = functions(&assembly);
    let wide = functions.iter().filter(|(name, _)| name.contains("wide_map"));
    let loops: Vec<_> = wide.flat_map(|(_, lines)| inner_loops(lines)).collect();
    let widen: Vec<_> = loops.iter().filter(|body| body.iter().any(|line| line.starts_with("vpmovsxbd"))).collect();
    assert!(!widen.is_empty(), "{:?}", functions.keys());
    assert!(widen.iter().all(|body| body.iter().all(|line| !line.contains("(%rsp)"))), "{widen:?}");
}
