//! Parts of a call: each is a call of the same entry with some of the rows.

use std::ffi::c_void;

use super::args::Arg;
use super::entry::{Entry, Parts};
use crate::Context;

/// A part is this fraction of a call or more.
const PARTS: i64 = 128;
/// Rows that are computed again are at most this fraction of a call.
const REPEATED: i64 = 12;
/// Rows of a part for each thread, at least: with fewer, threads would wait for one another more than in the whole call.
const ROWS_PER_THREAD: i64 = 16;

/// How a call is cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    parts: &'static Parts,
    /// Rows of the call.
    pub(super) rows: i64,
    /// Rows of the shortest parts.
    pub(super) length: i64,
}

impl Cut {
    /// Nothing if the entry's rows are not apart, if there are few, or if arrays have to be brought here first.
    pub(super) fn of(cx: &Context, entry: &'static Entry, args: &[Arg<'_>], dims: &[i64]) -> Option<Cut> {
        let parts = entry.dispatch.parts.as_ref()?;
        let rows = *dims.get(parts.dim)?;
        let length = rows / PARTS;
        let enough = length >= ROWS_PER_THREAD * i64::from(cx.threads());
        (enough && args.iter().all(|arg| arg.away.is_none())).then_some(Cut { parts, rows, length })
    }

    /// Whether a part is computed by one version after the other.
    pub(super) fn repeats(&self) -> bool {
        self.parts.uneven
    }

    /// Rows that a call computes again at most.
    pub(super) fn most_repeated(&self) -> i64 {
        self.rows / REPEATED
    }

    /// Makes the dimensions and addresses of a call those of the rows from `from` on, `count` of them.
    pub(super) fn narrow(
        &self,
        args: &[Arg<'_>],
        (from, count): (i64, i64),
        dims: &mut [i64],
        params: &mut [*mut c_void],
    ) {
        dims[self.parts.dim] = count;
        for ((param, arg), besides) in params.iter_mut().zip(args).zip(self.parts.besides) {
            let rows = arg.shape.first().copied().unwrap_or(0);
            let skipped = match besides {
                Some(_) if rows > 0 => arg.bytes / rows * from as usize,
                Some(_) | None => 0,
            };
            // In bounds: there are more rows than are skipped, and no address moves of an array without elements.
            *param = arg.address.wrapping_byte_add(skipped);
        }
    }
}
