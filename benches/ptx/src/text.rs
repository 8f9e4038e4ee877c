//! Reads the text that nvcc prints.

use std::collections::HashMap;

use crate::cost;
use crate::flow::{self, Flow};
use crate::instr::{Instr, Kind, Op, Operand, Special, Type, named};
use crate::widened;

/// What of PTX cannot be read, with its line.
#[derive(Debug, PartialEq, Eq)]
pub struct Unread {
    /// From 1.
    pub line: usize,
    /// What stands there, or what is wrong with it.
    pub why: String,
}

impl std::fmt::Display for Unread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {} of the PTX: {}", self.line, self.why)
    }
}

impl std::error::Error for Unread {}

/// The kernels of a file.
#[derive(Debug)]
pub struct Module {
    pub(crate) kernels: HashMap<String, Kernel>,
    pub(crate) variables: HashMap<String, Variable>,
}

/// Memory of all kernels of a module.
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) words: Vec<u64>,
}

impl Variable {
    pub(crate) fn address(&self) -> u64 {
        self.words.as_ptr() as u64
    }
}

#[derive(Debug, Default)]
pub(crate) struct Kernel {
    pub(crate) code: Vec<Instr>,
    pub(crate) flow: Flow,
    pub(crate) registers: usize,
    /// Where parameters begin, and their sizes.
    pub(crate) params: Vec<(u64, u64)>,
    pub(crate) shared: u64,
    pub(crate) local: u64,
}

/// Names that stand for places.
#[derive(Default)]
struct Names {
    registers: HashMap<String, usize>,
    places: HashMap<String, u64>,
    labels: HashMap<String, usize>,
}

/// Bytes of shared memory that several kernels may name: each that does has it.
type OfBlocks = HashMap<String, u64>;

struct Reader<'t> {
    lines: std::iter::Enumerate<std::str::Lines<'t>>,
    at: usize,
}

impl<'t> Reader<'t> {
    /// The next line that says something, without comments and places of the source.
    fn line(&mut self) -> Option<&'t str> {
        for (at, line) in self.lines.by_ref() {
            let line = line.split("//").next().unwrap_or_default().trim();
            if !line.is_empty() && !line.starts_with(".loc") && !line.starts_with(".file") {
                self.at = at + 1;
                return Some(line);
            }
        }
        None
    }

    fn unread(&self, why: impl Into<String>) -> Unread {
        Unread { line: self.at, why: why.into() }
    }

    /// The rest of a statement that began with `first`.
    fn statement(&mut self, first: &str) -> String {
        let mut text = first.to_owned();
        while !text.ends_with(';') {
            let Some(line) = self.line() else { break };
            text = text + " " + line;
        }
        text.trim_end_matches(';').trim_end().to_owned()
    }

    /// A body whose first brace is behind.
    fn skip_body(&mut self) {
        let mut depth = 1;
        while depth > 0 {
            let Some(line) = self.line() else { return };
            depth += line.matches('{').count() as i64 - line.matches('}').count() as i64;
        }
    }
}

impl Module {
    /// Reads a file of PTX.
    ///
    /// # Errors
    ///
    /// The text has what this crate does not run.
    pub fn read(text: &str) -> Result<Module, Unread> {
        let mut reader = Reader { lines: text.lines().enumerate(), at: 0 };
        let mut module = Module { kernels: HashMap::new(), variables: HashMap::new() };
        let mut of_blocks = OfBlocks::new();
        while let Some(line) = reader.line() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let is = |word: &str| words.contains(&word);
            if is(".entry") {
                let (name, kernel) = kernel(line, &mut reader, &module.variables, &of_blocks)?;
                module.kernels.insert(name, kernel);
            } else if is(".func") {
                // Declarations end with a semicolon, definitions have a body.
                let mut text = line.to_owned();
                while !text.ends_with(';') && !text.ends_with('{') && text != "{" {
                    let Some(line) = reader.line() else { break };
                    text = line.to_owned();
                }
                if text.ends_with('{') {
                    reader.skip_body();
                }
            } else if is(".shared") {
                let text = reader.statement(line);
                let (name, size) = declared(&text).ok_or_else(|| reader.unread(&*text))?;
                of_blocks.insert(name, size);
            } else if is(".global") || is(".const") {
                let text = reader.statement(line);
                let (name, variable) = variable(&text).ok_or_else(|| reader.unread(&*text))?;
                module.variables.insert(name, variable);
            } else if is(".section") {
                reader.line();
                reader.skip_body();
            } else if !line.starts_with('.') {
                return Err(reader.unread(line));
            }
        }
        Ok(module)
    }

    /// The names of the kernels, as the linker has them.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.kernels.keys().map(String::as_str)
    }

    /// Where a variable of the module is, if there is one of this name.
    pub fn variable(&self, name: &str) -> Option<u64> {
        self.variables.get(name).map(Variable::address)
    }
}

/// Name and size of `.shared .align 16 .b8 name[2176]`.
fn declared(text: &str) -> Option<(String, u64)> {
    let ty = text.split_whitespace().rev().find_map(|word| Type::read(word.strip_prefix('.')?))?;
    let name = text.split_whitespace().last()?;
    let (name, count) = match name.split_once('[') {
        Some((name, "]")) => (name, 0),
        Some((name, count)) => (name, count.trim_end_matches(']').parse().ok()?),
        None => (name, 1),
    };
    Some((name.to_owned(), count * ty.bytes()))
}

fn variable(text: &str) -> Option<(String, Variable)> {
    let (head, values) = text.split_once('=').map_or((text, None), |(head, values)| (head.trim(), Some(values)));
    let (name, bytes) = declared(head)?;
    let mut words = vec![0u64; bytes.div_ceil(8).max(1) as usize];
    let ty = head.split_whitespace().rev().find_map(|word| Type::read(word.strip_prefix('.')?))?;
    if let Some(values) = values {
        let list = values.trim().trim_start_matches('{').trim_end_matches('}');
        for (at, value) in list.split(',').enumerate() {
            let (value, place) = (number(value.trim())?, at as u64 * ty.bytes());
            for byte in 0..ty.bytes() {
                words[((place + byte) / 8) as usize] |= ((value >> (8 * byte)) & 0xff) << (8 * ((place + byte) % 8));
            }
        }
    }
    Some((name, Variable { words }))
}

/// Reads a kernel from its head on.
fn kernel(
    head: &str,
    reader: &mut Reader<'_>,
    variables: &HashMap<String, Variable>,
    of_blocks: &OfBlocks,
) -> Result<(String, Kernel), Unread> {
    let (_, name) = head.split_once(".entry").ok_or_else(|| reader.unread(head))?;
    let name = name.trim().trim_end_matches(['(', ')']).to_owned();
    let mut kernel = Kernel::default();
    let mut names = Names::default();
    names.places.extend(variables.iter().map(|(name, variable)| (name.clone(), variable.address())));
    let mut bytes = 0;
    loop {
        let line = reader.line().ok_or_else(|| reader.unread("a kernel without a body"))?;
        if line == "{" {
            break;
        }
        let Some(param) = line.strip_prefix(".param") else { continue };
        let (name, size) = declared(param.trim_end_matches(',')).ok_or_else(|| reader.unread(line))?;
        let aligned = param.split_once(".align").and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok());
        bytes = u64::next_multiple_of(bytes, aligned.unwrap_or(size.clamp(1, 8)));
        names.places.insert(name, bytes);
        kernel.params.push((bytes, size));
        bytes += size;
    }
    body(&mut kernel, &mut names, reader, of_blocks)?;
    kernel.flow = flow::of(&kernel.code);
    widened::free(&mut kernel.code);
    Ok((name, kernel))
}

fn body(kernel: &mut Kernel, names: &mut Names, reader: &mut Reader<'_>, blocks: &OfBlocks) -> Result<(), Unread> {
    let mut branches = Vec::new();
    let mut depth = 1;
    while let Some(line) = reader.line() {
        match line {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            _ if line.ends_with(':') => {
                names.labels.insert(line.trim_end_matches(':').to_owned(), kernel.code.len());
            }
            _ if line.starts_with('.') => {
                let text = reader.statement(line);
                declare(&text, kernel, names).ok_or_else(|| reader.unread(&*text))?;
            }
            _ => {
                let text = reader.statement(line);
                for name in blocks.keys().filter(|name| text.contains(name.as_str())) {
                    if !names.places.contains_key(name) {
                        let place = kernel.shared.next_multiple_of(16);
                        names.places.insert(name.clone(), place);
                        kernel.shared = place + blocks[name];
                    }
                }
                let instr = instruction(&text, names).ok_or_else(|| reader.unread(format!("`{text}` is not run")))?;
                if instr.op == Op::Branch {
                    let label = text.split_whitespace().last().unwrap_or_default().to_owned();
                    branches.push((kernel.code.len(), label));
                }
                kernel.code.push(instr);
            }
        }
    }
    for (at, label) in branches {
        let to = names.labels.get(&label).ok_or_else(|| reader.unread(format!("no label `{label}`")))?;
        kernel.code[at].to = *to;
    }
    kernel.registers = names.registers.len();
    Ok(())
}

/// Registers are known where they are used.
fn declare(text: &str, kernel: &mut Kernel, names: &mut Names) -> Option<()> {
    let space = text.split_whitespace().next()?;
    if [".reg", ".param", ".pragma"].contains(&space) {
        return Some(());
    }
    let (name, size) = declared(text)?;
    let used = match space {
        ".shared" => &mut kernel.shared,
        ".local" => &mut kernel.local,
        _ => return None,
    };
    let place = used.next_multiple_of(16);
    names.places.insert(name, place);
    *used = place + size;
    Some(())
}

fn instruction(text: &str, names: &mut Names) -> Option<Instr> {
    let (guard, rest) = match text.strip_prefix('@') {
        Some(guarded) => {
            let (guard, rest) = guarded.split_once(char::is_whitespace)?;
            let (is_not, name) = guard.strip_prefix('!').map_or((false, guard), |name| (true, name));
            (Some((register(name, names), is_not)), rest.trim())
        }
        None => (None, text),
    };
    let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let named = named(name)?;
    let mut operands = Vec::new();
    if !matches!(named.op, Op::Call | Op::Branch) {
        for part in split(rest) {
            operands.push(part);
        }
    }
    let mut targets = Vec::new();
    for part in operands.drain(..named.targets.min(operands.len())) {
        let part = part.trim_start_matches('{').trim_end_matches('}');
        let list = part.split([',', '|']).map(str::trim);
        targets.extend(list.map(|name| register(name, names)));
    }
    let mut sources = Vec::new();
    for part in operands {
        sources.push(operand(part, names)?);
    }
    let slots = cost::slots(&named, &sources);
    let reads = sources.iter().flat_map(Operand::registers).chain(guard.map(|(register, _)| register)).collect();
    Some(Instr { guard, op: named.op, ty: named.ty, targets, sources, reads, to: 0, slots, text: text.into() })
}

/// At commas that are not within braces.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0, 0);
    for (at, sign) in text.char_indices() {
        match sign {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    let last = text[from..].trim();
    if !last.is_empty() {
        parts.push(last);
    }
    parts
}

fn register(name: &str, names: &mut Names) -> usize {
    let next = names.registers.len();
    *names.registers.entry(name.to_owned()).or_insert(next)
}

fn operand(text: &str, names: &mut Names) -> Option<Operand> {
    if let Some(list) = text.strip_prefix('{') {
        let parts = list.trim_end_matches('}').split(',').map(|part| operand(part.trim(), names));
        return Some(Operand::Several(parts.collect::<Option<_>>()?));
    }
    if let Some(place) = text.strip_prefix('[') {
        let place = place.trim_end_matches(']').trim();
        let (base, offset) = match place.rsplit_once('+') {
            Some((base, offset)) => (base.trim(), number(offset.trim())? as i64),
            None => (place, 0),
        };
        return Some(if base.starts_with('%') {
            Operand::Place { register: Some(register(base, names)), offset }
        } else {
            let known = names.places.get(base).copied().or_else(|| number(base))?;
            Operand::Place { register: None, offset: known as i64 + offset }
        });
    }
    if let Some(special) = Special::read(text) {
        return Some(Operand::Special(special));
    }
    if text.starts_with('%') {
        return Some(Operand::Register(register(text, names)));
    }
    names.places.get(text).copied().or_else(|| number(text)).map(Operand::Value)
}

/// `12`, `-3`, `0x1f`, `0f3F800000`, `0d3FF0000000000000`
fn number(text: &str) -> Option<u64> {
    let text = text.trim_end_matches('U');
    let of_base = |prefix: [&str; 2]| prefix.iter().find_map(|prefix| text.strip_prefix(prefix));
    if let Some(digits) = of_base(["0f", "0F"]).or_else(|| of_base(["0d", "0D"])).or_else(|| of_base(["0x", "0X"])) {
        return u64::from_str_radix(digits, 16).ok();
    }
    text.parse::<i64>().map(|value| value as u64).ok().or_else(|| text.parse().ok())
}

/// Whether the place of an access is in a register.
pub(crate) fn is_computed(place: Option<&Operand>) -> bool {
    matches!(place, Some(Operand::Place { register: Some(_), .. }))
}

/// Whether an instruction only says what its operands are called.
pub(crate) fn is_free(op: &Op, ty: Type, sources: &[Operand]) -> bool {
    match op {
        Op::Move => ty.kind != Kind::Predicate && !sources.iter().any(|one| matches!(one, Operand::Special(_))),
        Op::Address { .. } => true,
        // Where a register says which one, it is an instruction.
        Op::Load { space: crate::instr::Space::Param, .. } => !is_computed(sources.first()),
        _ => false,
    }
}
