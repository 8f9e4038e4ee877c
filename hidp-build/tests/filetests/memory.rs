//! Arguments as the memory that compiled code sees.

use std::ffi::c_void;

use hidp_build::compiler::ir::par::Program;
use hidp_build::compiler::ir::par::interp::{Arg, Array, Data, Value};
use hidp_build::compiler::ty::{Scalar, Ty};

/// Bytes before and after an argument that must stay as they are.
const GUARD: usize = 128;
const PATTERN: u8 = 0xA5;

/// The memory of one argument, between guards.
#[derive(Clone)]
pub(crate) struct Block {
    /// Words, so that everything is aligned to 8.
    words: Vec<u64>,
    bytes: usize,
}

impl Block {
    pub(crate) fn of(program: &Program, ty: Ty, arg: &Arg) -> Block {
        let (size, _) = layout(program, ty);
        let count = match arg {
            Arg::Array(array) => array.data.len(),
            Arg::Scalar(_) | Arg::Output => 1,
        };
        let bytes = size * count;
        // An empty array's first element is readable, as for the product's own calls.
        let readable = bytes.max(64).next_multiple_of(8);
        let mut block = Block { words: vec![0; (readable + 2 * GUARD) / 8], bytes };
        block.raw().fill(PATTERN);
        let argument = &mut block.raw()[GUARD..GUARD + bytes.max(64)];
        argument.fill(0);
        let values = match arg {
            Arg::Array(array) => match plain(&array.data) {
                Some(bytes) => {
                    argument[..bytes.len()].copy_from_slice(bytes);
                    return block;
                }
                None => array.data.values(),
            },
            Arg::Scalar(value) => vec![value.clone()],
            Arg::Output => vec![Value::zero(program, ty)],
        };
        for (index, value) in values.iter().enumerate() {
            write(program, ty, value, &mut argument[index * size..]);
        }
        block
    }

    pub(crate) fn address(&mut self) -> *mut c_void {
        self.raw()[GUARD..].as_mut_ptr().cast()
    }

    /// The argument.
    pub(crate) fn argument(&self) -> &[u8] {
        &self.bytes()[GUARD..GUARD + self.bytes]
    }

    /// Length of the argument.
    pub(crate) fn length(&self) -> usize {
        self.bytes
    }

    /// Whether nothing outside of the argument was written.
    pub(crate) fn intact(&self) -> bool {
        // Whole slices: this is compiled without optimisation.
        let raw = self.bytes();
        let past = GUARD + self.bytes.max(64);
        let (behind, gap) = (&raw[past..], &raw[GUARD + self.bytes..past]);
        raw[..GUARD] == [PATTERN; GUARD]
            && *behind == [PATTERN; GUARD + 8][..behind.len()]
            && *gap == [0; 64][..gap.len()]
    }

    /// What is in it now, in the form of `arg`.
    pub(crate) fn back(&self, program: &Program, ty: Ty, arg: &Arg) -> Arg {
        let (size, _) = layout(program, ty);
        let value = |index: usize| read(program, ty, &self.bytes()[GUARD + index * size..]);
        match arg {
            Arg::Array(array) => {
                let structs = || Data::Struct((0..self.bytes / size).map(value).collect());
                let data = ty.scalar().map_or_else(structs, |scalar| typed(scalar, self.argument()));
                Arg::Array(Array { shape: array.shape.clone(), data })
            }
            Arg::Scalar(_) | Arg::Output => Arg::Scalar(value(0)),
        }
    }

    fn raw(&mut self) -> &mut [u8] {
        // SAFETY: words are bytes, and `u8` has no alignment.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.words.len() * 8) }
    }
    fn bytes(&self) -> &[u8] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.words.len() * 8) }
    }
}

/// What elements that are no structs are in memory. Tests copy and compare millions of them, without optimisation.
pub(crate) fn plain(data: &Data) -> Option<&[u8]> {
    macro_rules! bytes {
        ($($variant:ident),*) => {
            match data {
                // SAFETY: numbers and truth values are bytes without gaps.
                $(Data::$variant(all) => Some(unsafe {
                    std::slice::from_raw_parts(all.as_ptr().cast(), size_of_val(all.as_slice()))
                }),)*
                Data::Struct(_) => None,
            }
        };
    }
    bytes!(Bool, I8, U8, I16, U16, I32, U32, I64, U64, F32, F64)
}

/// The numbers that are these bytes.
fn typed(scalar: Scalar, bytes: &[u8]) -> Data {
    macro_rules! typed {
        ($($variant:ident $ty:ty),*) => {
            match scalar {
                // Of code that may be wrong: not every byte is a truth value.
                Scalar::Bool => Data::Bool(bytes.iter().map(|&byte| byte != 0).collect()),
                $(Scalar::$variant => {
                    let mut all: Vec<$ty> = vec![Default::default(); bytes.len() / size_of::<$ty>()];
                    // SAFETY: any bytes are a number, and there are as many as the numbers have.
                    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), all.as_mut_ptr().cast(), size_of_val(&all[..])) };
                    Data::$variant(all)
                })*
            }
        };
    }
    typed!(I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64, F32 f32, F64 f64)
}

/// The scalars of a value.
pub(crate) fn leaves(value: &Value) -> Vec<Value> {
    match value {
        Value::Struct(fields) => fields.iter().flat_map(leaves).collect(),
        scalar => vec![scalar.clone()],
    }
}

/// Offsets and types of the scalars of a type that begins at `start`.
pub(crate) fn scalars(program: &Program, ty: Ty, start: usize) -> Vec<(usize, Scalar)> {
    match ty {
        Ty::Scalar(scalar) => vec![(start, scalar)],
        Ty::Struct(id) => {
            let mut offset = start;
            let mut found = Vec::new();
            for (_, field) in &program.structs[id].fields {
                let (size, align) = layout(program, *field);
                offset = offset.next_multiple_of(align);
                found.extend(scalars(program, *field, offset));
                offset += size;
            }
            found
        }
    }
}

/// Size and alignment as C lays it out.
pub(crate) fn layout(program: &Program, ty: Ty) -> (usize, usize) {
    match ty {
        Ty::Scalar(scalar) => (scalar.size(), scalar.size()),
        Ty::Struct(id) => {
            let (mut size, mut align) = (0usize, 1);
            for (_, field) in &program.structs[id].fields {
                let (field_size, field_align) = layout(program, *field);
                size = size.next_multiple_of(field_align) + field_size;
                align = align.max(field_align);
            }
            (size.next_multiple_of(align), align)
        }
    }
}

fn write(program: &Program, ty: Ty, value: &Value, to: &mut [u8]) {
    let mut put = |bytes: &[u8]| to[..bytes.len()].copy_from_slice(bytes);
    match value {
        Value::Bool(v) => put(&[u8::from(*v)]),
        Value::I8(v) => put(&v.to_ne_bytes()),
        Value::U8(v) => put(&v.to_ne_bytes()),
        Value::I16(v) => put(&v.to_ne_bytes()),
        Value::U16(v) => put(&v.to_ne_bytes()),
        Value::I32(v) => put(&v.to_ne_bytes()),
        Value::U32(v) => put(&v.to_ne_bytes()),
        Value::I64(v) => put(&v.to_ne_bytes()),
        Value::U64(v) => put(&v.to_ne_bytes()),
        Value::F32(v) => put(&v.to_ne_bytes()),
        Value::F64(v) => put(&v.to_ne_bytes()),
        Value::Struct(fields) => {
            let Ty::Struct(id) = ty else { unreachable!("a struct value has a struct type") };
            let mut offset = 0usize;
            for ((_, field), value) in program.structs[id].fields.iter().zip(fields.iter()) {
                let (size, align) = layout(program, *field);
                offset = offset.next_multiple_of(align);
                write(program, *field, value, &mut to[offset..]);
                offset += size;
            }
        }
    }
}

fn read(program: &Program, ty: Ty, from: &[u8]) -> Value {
    macro_rules! get {
        ($variant:ident, $ty:ty) => {
            Value::$variant(<$ty>::from_ne_bytes(from[..size_of::<$ty>()].try_into().expect("enough bytes")))
        };
    }
    match ty {
        Ty::Scalar(Scalar::Bool) => Value::Bool(from[0] != 0),
        Ty::Scalar(Scalar::I8) => get!(I8, i8),
        Ty::Scalar(Scalar::U8) => get!(U8, u8),
        Ty::Scalar(Scalar::I16) => get!(I16, i16),
        Ty::Scalar(Scalar::U16) => get!(U16, u16),
        Ty::Scalar(Scalar::I32) => get!(I32, i32),
        Ty::Scalar(Scalar::U32) => get!(U32, u32),
        Ty::Scalar(Scalar::I64) => get!(I64, i64),
        Ty::Scalar(Scalar::U64) => get!(U64, u64),
        Ty::Scalar(Scalar::F32) => get!(F32, f32),
        Ty::Scalar(Scalar::F64) => get!(F64, f64),
        Ty::Struct(id) => {
            let mut offset = 0usize;
            let fields = program.structs[id].fields.iter().map(|(_, field)| {
                let (size, align) = layout(program, *field);
                offset = offset.next_multiple_of(align);
                let value = read(program, *field, &from[offset..]);
                offset += size;
                value
            });
            Value::Struct(fields.collect::<Vec<_>>().into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_come_back_as_they_went() {
        let program = Program::default();
        let all = [
            Data::Bool(vec![true, false]),
            Data::I8(vec![-1, 7]),
            Data::U16(vec![7, 65_535]),
            Data::I64(vec![i64::MIN, 3]),
            Data::F64(vec![-0.0, 1e300]),
            Data::I32(Vec::new()),
        ];
        for data in all {
            let ty = Ty::Scalar(data.scalar().expect("no structs"));
            let arg = Arg::Array(Array { shape: vec![data.len() as i64], data });
            let mut block = Block::of(&program, ty, &arg);
            assert!(block.intact());
            assert_eq!(block.back(&program, ty, &arg), arg);
            let past = GUARD + block.length().max(64);
            block.raw()[past] = 0;
            assert!(!block.intact());
        }
        let arg = Arg::Array(Array { shape: vec![1], data: Data::Bool(vec![false]) });
        let mut block = Block::of(&program, Ty::Scalar(Scalar::Bool), &arg);
        block.raw()[GUARD] = 2;
        let back = block.back(&program, Ty::Scalar(Scalar::Bool), &arg);
        assert_eq!(back, Arg::Array(Array { shape: vec![1], data: Data::Bool(vec![true]) }));
    }
}
