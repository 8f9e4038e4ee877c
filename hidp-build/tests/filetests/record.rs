//! Cases of kind `run` as files of calls with their results, for machines without the interpreter: where `HIDP_ANSWERS` names a
//! folder, calls are not made but written there.

use std::path::{Path, PathBuf};
use std::{env, fs};

use hidp_build::compiler::ir::par::Program;
use hidp_build::compiler::ir::par::interp::{Arg, Value};
use hidp_build::compiler::ty::{Scalar, Ty};

use crate::answers::{self, Argument, Call, Layout, Leaf};
use crate::memory::{Block, layout, scalars};
use crate::subject::Subject;

/// The calls of a case.
pub(crate) struct Record {
    folder: PathBuf,
    calls: Vec<Call>,
}

impl Record {
    /// A new one if `HIDP_ANSWERS` is set.
    pub(crate) fn wanted() -> Option<Record> {
        env::var_os("HIDP_ANSWERS").map(|folder| Record { folder: folder.into(), calls: Vec::new() })
    }
    pub(crate) fn add(&mut self, call: Call) {
        self.calls.push(call);
    }
    /// Writes `<case>.answers`, unless it is there with these contents, and, where `HIDP_ANSWERS_CODE` is set, `<case>.cpp` and
    /// `<case>.table` for `answers/replay.cpp`.
    pub(crate) fn finish(self, case: &str, subject: &Subject) -> Result<(), String> {
        fs::create_dir_all(&self.folder).map_err(|error| error.to_string())?;
        let (path, new) = (self.folder.join(case).with_extension("answers"), answers::write(&self.calls));
        if answers::read(&new)? != self.calls {
            return Err("what was written is not what is read".into());
        }
        if env::var_os("HIDP_ANSWERS_CODE").is_some() {
            let write = |extension, text: &str| fs::write(path.with_extension(extension), text);
            write("cpp", &subject.cpp)
                .and_then(|()| write("table", &subject.table()))
                .map_err(|error| error.to_string())?;
        }
        if is_same(&path, &new) { Ok(()) } else { fs::write(&path, new).map_err(|error| error.to_string()) }
    }
}

fn is_same(path: &Path, new: &[u8]) -> bool {
    fs::read(path).is_ok_and(|old| old == new)
}

/// An argument before and after a call.
pub(crate) fn argument(program: &Program, ty: Ty, arg: &Arg, before: &Block, after: Option<&Arg>) -> Argument {
    let leaf = |scalar| match scalar {
        Scalar::F32 => Leaf::F32,
        Scalar::F64 => Leaf::F64,
        Scalar::Bool
        | Scalar::I8
        | Scalar::U8
        | Scalar::I16
        | Scalar::U16
        | Scalar::I32
        | Scalar::U32
        | Scalar::I64
        | Scalar::U64 => Leaf::Exact(scalar.size() as u8),
    };
    let leaves = scalars(program, ty, 0).into_iter().map(|(offset, scalar)| (offset as u32, leaf(scalar)));
    let (shape, value) = match arg {
        Arg::Array(array) => (Some(array.shape.iter().map(|&extent| extent as u64).collect()), None),
        Arg::Scalar(value) => (None, Value::as_integer(value).and_then(|value| i64::try_from(value).ok())),
        Arg::Output => (None, None),
    };
    Argument {
        layout: Layout { size: layout(program, ty).0, leaves: leaves.collect() },
        shape,
        value,
        before: before.argument().to_vec(),
        after: after.map(|after| Block::of(program, ty, after).argument().to_vec()),
    }
}
