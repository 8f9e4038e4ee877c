//! Arguments as the memory that compiled code sees.

use std::ffi::c_void;

use hidp_build::compiler::ir::par::Program;
use hidp_build::compiler::ir::par::interp::{Arg, Array, Data, Value};
use hidp_build::compiler::ty::{Scalar, Ty};

/// Bytes before and after an argument that must stay as they are.
const GUARD: usize = 128;
const PATTERN: u8 = 0xA5;

/// The memory of one argument, between guards.
pub(crate) struct Block {
    /// Words, so that everything is aligned to 8.
    words: Vec<u64>,
    bytes: usize,
}

impl Block {
    pub(crate) fn of(program: &Program, ty: Ty, arg: &Arg) -> Block {
        let values = match arg {
            Arg::Array(array) => array.data.values(),
            Arg::Scalar(value) => vec![value.clone()],
            Arg::Output => vec![Value::zero(program, ty)],
        };
        let (size, _) = layout(program, ty);
        let bytes = size * values.len();
        // An empty array's first element is readable, as for the product's own calls.
        let readable = bytes.max(64).next_multiple_of(8);
        let mut block = Block { words: vec![0; (readable + 2 * GUARD) / 8], bytes };
        block.raw().fill(PATTERN);
        block.raw()[GUARD..GUARD + bytes.max(64)].fill(0);
        for (index, value) in values.iter().enumerate() {
            write(program, ty, value, &mut block.raw()[GUARD + index * size..]);
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
        let raw = self.bytes();
        let past = GUARD + self.bytes.max(64);
        raw[..GUARD].iter().chain(&raw[past..]).all(|&byte| byte == PATTERN)
            && raw[GUARD + self.bytes..past].iter().all(|&byte| byte == 0)
    }

    /// What is in it now, in the form of `arg`.
    pub(crate) fn back(&self, program: &Program, ty: Ty, arg: &Arg) -> Arg {
        let (size, _) = layout(program, ty);
        let values: Vec<Value> =
            (0..self.bytes / size).map(|index| read(program, ty, &self.bytes()[GUARD + index * size..])).collect();
        match arg {
            Arg::Array(array) => Arg::Array(Array { shape: array.shape.clone(), data: Data::Struct(values) }),
            Arg::Scalar(_) | Arg::Output => Arg::Scalar(values[0].clone()),
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
