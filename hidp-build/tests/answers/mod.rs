//! Calls with what must come of them, as files: written where the interpreter is, read by programs that have no compiler in them.
//!
//! Everything is little-endian. The scalars of an argument's elements are stored one after the other, and where they take few values, as
//! most of those that are made do, as numbers of values. What stood in the file before is only referred to: entries are called with the
//! same made arguments.

use std::collections::HashMap;

/// What files begin with.
const MAGIC: &[u8; 8] = b"hidpans2";

/// A scalar within an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// So many bytes, compared exactly.
    Exact(u8),
    /// A `float`.
    F32,
    /// A `double`.
    F64,
}

impl Leaf {
    pub fn size(self) -> usize {
        match self {
            Leaf::Exact(size) => size.into(),
            Leaf::F32 => 4,
            Leaf::F64 => 8,
        }
    }
    fn code(self) -> u8 {
        match self {
            Leaf::Exact(size) => size,
            Leaf::F32 => 0x80,
            Leaf::F64 => 0x81,
        }
    }
    fn of_code(code: u8) -> Leaf {
        match code {
            0x80 => Leaf::F32,
            0x81 => Leaf::F64,
            size => Leaf::Exact(size),
        }
    }
}

/// How an element lies in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub size: usize,
    /// Offsets and scalars.
    pub leaves: Vec<(u32, Leaf)>,
}

/// One argument of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    pub layout: Layout,
    /// `None` for a scalar.
    pub shape: Option<Vec<u64>>,
    /// The value of an integer scalar.
    pub value: Option<i64>,
    /// The elements before the call.
    pub before: Vec<u8>,
    /// The elements after it, where that is known and the entry writes them.
    pub after: Option<Vec<u8>>,
}

/// A fault that must come of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub kind: u32,
    pub line: u32,
    pub column: u32,
    pub values: Vec<i64>,
}

/// A call and what must come of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// `file::function`.
    pub entry: String,
    /// Floats to the bit.
    pub exact: bool,
    pub dims: Vec<i64>,
    pub args: Vec<Argument>,
    pub fault: Option<Fault>,
}

/// Whether two floats are the same, but for what another order of sums makes. `scale`: of the largest that is finite; 0 for to
/// the bit, the bits of NaN apart.
pub fn same_float(expected: f64, found: f64, is_single: bool, scale: f64) -> bool {
    let epsilon = if is_single { 1e-5 } else { 1e-12 };
    let near = scale > 0.0 && (expected - found).abs() <= scale * epsilon;
    let equal = expected == found && (scale > 0.0 || expected.to_bits() == found.to_bits());
    (expected.is_nan() && found.is_nan()) || equal || near
}

/// What floats of an argument are compared by.
pub fn scale_of(expected: impl Iterator<Item = f64>) -> f64 {
    expected.filter(|float| float.is_finite()).fold(1.0, |largest: f64, float| largest.max(float.abs()))
}

/// Compares elements with those that are expected; the error names the first scalar that differs.
pub fn compare(layout: &Layout, expected: &[u8], found: &[u8], exact: bool) -> Result<(), String> {
    if expected.len() != found.len() {
        return Err(format!("{} bytes, but must be {}", found.len(), expected.len()));
    }
    let elements = || expected.chunks_exact(layout.size).zip(found.chunks_exact(layout.size)).enumerate();
    let leaves = || layout.leaves.iter().map(|&(offset, leaf)| (offset as usize, leaf));
    let floats = elements().flat_map(|(_, (element, _))| leaves().filter_map(|(at, leaf)| float(leaf, &element[at..])));
    let scale = if exact { 0.0 } else { scale_of(floats) };
    for (number, (expected, found)) in elements() {
        for (at, leaf) in leaves() {
            let bytes = at..at + leaf.size();
            let same = match (float(leaf, &expected[at..]), float(leaf, &found[at..])) {
                (Some(expected), Some(found)) => same_float(expected, found, leaf == Leaf::F32, scale),
                (_, _) => expected[bytes.clone()] == found[bytes.clone()],
            };
            if !same {
                let (expected, found) = (text(leaf, &expected[at..]), text(leaf, &found[at..]));
                return Err(format!("element {number} is {found}, but must be {expected}"));
            }
        }
    }
    Ok(())
}

fn float(leaf: Leaf, bytes: &[u8]) -> Option<f64> {
    match leaf {
        Leaf::Exact(_) => None,
        Leaf::F32 => Some(f32::from_le_bytes(bytes[..4].try_into().ok()?).into()),
        Leaf::F64 => Some(f64::from_le_bytes(bytes[..8].try_into().ok()?)),
    }
}

fn text(leaf: Leaf, bytes: &[u8]) -> String {
    match float(leaf, bytes) {
        Some(value) => format!("{value:?}"),
        None => {
            let mut word = [0; 8];
            word[..leaf.size()].copy_from_slice(&bytes[..leaf.size()]);
            let shift = 64 - 8 * leaf.size() as u32;
            format!("{}", (i64::from_le_bytes(word) << shift) >> shift)
        }
    }
}

/// A file's bytes.
pub fn write(calls: &[Call]) -> Vec<u8> {
    let mut to = Vec::from(MAGIC);
    let mut known = HashMap::new();
    number(&mut to, calls.len());
    for call in calls {
        bytes(&mut to, call.entry.as_bytes());
        to.push(call.exact.into());
        numbers(&mut to, &call.dims);
        number(&mut to, call.args.len());
        call.args.iter().for_each(|arg| argument(&mut to, arg, &mut known));
        to.push(call.fault.is_some().into());
        if let Some(fault) = &call.fault {
            numbers(&mut to, &[fault.kind.into(), fault.line.into(), fault.column.into()]);
            numbers(&mut to, &fault.values);
        }
    }
    to
}

/// Planes that were written, with their numbers.
type Known = HashMap<Vec<u8>, usize>;

fn argument(to: &mut Vec<u8>, arg: &Argument, known: &mut Known) {
    number(to, arg.layout.size);
    number(to, arg.layout.leaves.len());
    for &(offset, leaf) in &arg.layout.leaves {
        number(to, offset as usize);
        to.push(leaf.code());
    }
    to.push(arg.shape.is_some().into());
    if let Some(shape) = &arg.shape {
        numbers(to, &shape.iter().map(|&extent| extent as i64).collect::<Vec<_>>());
    }
    numbers(to, &arg.value.into_iter().collect::<Vec<_>>());
    elements(to, &arg.layout, &arg.before, known);
    to.push(arg.after.is_some().into());
    arg.after.iter().for_each(|after| elements(to, &arg.layout, after, known));
}

fn number(to: &mut Vec<u8>, value: usize) {
    to.extend_from_slice(&(value as u64).to_le_bytes());
}

fn numbers(to: &mut Vec<u8>, values: &[i64]) {
    number(to, values.len());
    values.iter().for_each(|value| to.extend_from_slice(&value.to_le_bytes()));
}

fn bytes(to: &mut Vec<u8>, from: &[u8]) {
    number(to, from.len());
    to.extend_from_slice(from);
}

fn elements(to: &mut Vec<u8>, layout: &Layout, from: &[u8], known: &mut Known) {
    number(to, from.len() / layout.size);
    for &(offset, leaf) in &layout.leaves {
        let start = offset as usize;
        let scalars: Vec<&[u8]> =
            from.chunks_exact(layout.size).map(|element| &element[start..start + leaf.size()]).collect();
        let next = known.len();
        match *known.entry(scalars.concat()).or_insert(next) {
            number if number == next => plane(to, leaf.size(), &scalars),
            before => {
                to.push(AGAIN);
                number(to, before);
            }
        }
    }
}

/// How a plane is stored: byte by byte of all its scalars; as the different ones and a byte for each that says which it is; by the number of
/// an earlier one.
const PLAIN: u8 = 0;
const CODED: u8 = 1;
const AGAIN: u8 = 2;

fn plane(to: &mut Vec<u8>, size: usize, scalars: &[&[u8]]) {
    let mut known = HashMap::new();
    let mut different = Vec::new();
    let mut codes = Vec::new();
    for &scalar in scalars {
        let next = known.len();
        let code = *known.entry(scalar).or_insert_with(|| {
            different.extend_from_slice(scalar);
            next
        });
        let Ok(code) = u8::try_from(code) else { break };
        codes.push(code);
    }
    if codes.len() == scalars.len() && different.len() + codes.len() < size * scalars.len() {
        to.push(CODED);
        bytes(to, &different);
        bytes(to, &codes);
    } else {
        // High bytes are alike, and compress well beside one another.
        to.push(PLAIN);
        bytes(to, &(0..size).flat_map(|byte| scalars.iter().map(move |scalar| scalar[byte])).collect::<Vec<u8>>());
    }
}

/// The calls of a file.
pub fn read(file: &[u8]) -> Result<Vec<Call>, String> {
    let Some(rest) = file.strip_prefix(MAGIC) else { return Err("no file of answers".into()) };
    let mut from = Reader { rest, planes: Vec::new() };
    let calls = from.list(|from| {
        let entry = String::from_utf8(from.bytes()?).ok()?;
        let exact = from.flag()?;
        let dims = from.numbers()?;
        let args = from.list(Reader::argument)?;
        let fault = from.optional(|from| {
            let place: [i64; 3] = from.numbers()?.try_into().ok()?;
            let [kind, line, column] = place.map(|number| number as u32);
            Some(Fault { kind, line, column, values: from.numbers()? })
        })?;
        Some(Call { entry, exact, dims, args, fault })
    });
    calls.filter(|_| from.rest.is_empty()).ok_or_else(|| "a damaged file of answers".into())
}

struct Reader<'a> {
    /// What is left to read.
    rest: &'a [u8],
    /// What was read.
    planes: Vec<Vec<u8>>,
}

impl Reader<'_> {
    fn take(&mut self, count: usize) -> Option<&[u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }
    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }
    fn flag(&mut self) -> Option<bool> {
        self.byte().map(|byte| byte != 0)
    }
    fn number(&mut self) -> Option<usize> {
        let bytes = self.take(8)?.try_into().ok()?;
        usize::try_from(u64::from_le_bytes(bytes)).ok()
    }
    fn bytes(&mut self) -> Option<Vec<u8>> {
        let count = self.number()?;
        self.take(count).map(<[u8]>::to_vec)
    }
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.number()?;
        (0..count).map(|_| item(self)).collect()
    }
    fn optional<T>(&mut self, item: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.flag()? { item(self).map(Some) } else { Some(None) }
    }
    fn numbers(&mut self) -> Option<Vec<i64>> {
        self.list(|from| from.take(8)?.try_into().ok().map(i64::from_le_bytes))
    }
    fn argument(&mut self) -> Option<Argument> {
        let size = self.number()?;
        let leaves = self.list(|from| Some((u32::try_from(from.number()?).ok()?, Leaf::of_code(from.byte()?))))?;
        let shape = self.optional(|from| Some(from.numbers()?.into_iter().map(|extent| extent as u64).collect()))?;
        let value = self.numbers()?.first().copied();
        let layout = Layout { size, leaves };
        let before = self.elements(&layout)?;
        let after = self.optional(|from| from.elements(&layout))?;
        Some(Argument { layout, shape, value, before, after })
    }
    fn elements(&mut self, layout: &Layout) -> Option<Vec<u8>> {
        let count = self.number()?;
        let mut elements = vec![0; count.checked_mul(layout.size)?];
        for &(offset, leaf) in &layout.leaves {
            let plane = self.plane(leaf.size())?;
            for (element, scalar) in elements.chunks_exact_mut(layout.size).zip(plane.chunks_exact(leaf.size())) {
                element.get_mut(offset as usize..)?.get_mut(..leaf.size())?.copy_from_slice(scalar);
            }
        }
        Some(elements)
    }
    fn plane(&mut self, size: usize) -> Option<Vec<u8>> {
        let plane = match self.byte()? {
            PLAIN => {
                let bytes = self.bytes()?;
                let count = bytes.len() / size;
                (0..count).flat_map(|at| (0..size).map(move |byte| byte * count + at)).map(|at| bytes[at]).collect()
            }
            CODED => {
                let (different, codes) = (self.bytes()?, self.bytes()?);
                let scalar = |code: u8| different.get(usize::from(code) * size..(usize::from(code) + 1) * size);
                codes.into_iter().map(scalar).collect::<Option<Vec<_>>>()?.concat()
            }
            AGAIN => {
                let before = self.number()?;
                return self.planes.get(before).cloned();
            }
            _ => return None,
        };
        self.planes.push(plane.clone());
        Some(plane)
    }
}
