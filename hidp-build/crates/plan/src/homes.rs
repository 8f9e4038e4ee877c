//! Where arrays of iterations are that the lanes of a group share: in their registers, in shared memory of its block as far as that has
//! room, else in memory that the host allocates.

use std::fmt;

use super::bounded::most_elements;
use super::device::scope_of;
use super::mapping::{Exec, Mapping, key};
use super::private::{Private, Store, launched, private_arrays};
use super::registers::held;
use super::{Plan, nests};
use crate::target::DeviceModel;
use hidp_ir::par::{Func, Map, Program, VarId};
use hidp_syntax::ast::Level;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::ty::{Scalar, Ty};

/// Where one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// Each lane of a group has an element.
    Registers,
    /// Each group of a block has so many elements of an array there.
    Shared {
        /// Elements of a group, at most.
        count: u32,
        /// Groups of a block.
        groups: u32,
    },
    /// In memory that the host allocates.
    Scratch(Reason),
}

/// Why not in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Primitives work on copies of their own there.
    Copies,
    /// Each lane has one.
    OfLanes,
    /// Parts of the group that takes the iteration have one each.
    OfParts,
    /// Its size has no constant bound.
    Size,
    /// It has so many bytes, of which fewer are left.
    Full {
        /// Of all groups of a block.
        bytes: u64,
        /// Of the block's shared memory.
        left: u64,
    },
}

impl fmt::Display for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Home::Registers => f.write_str("registers, an element per lane"),
            Home::Shared { count, groups: 1 } => write!(f, "shared memory, {count} elements per block"),
            Home::Shared { count, groups } => {
                write!(f, "shared memory, {count} elements for each of a block's {groups} groups")
            }
            Home::Scratch(Reason::Copies) => f.write_str("global memory: a primitive works on it"),
            Home::Scratch(Reason::OfLanes) => f.write_str("global memory: each lane has its own, and it is not small"),
            Home::Scratch(Reason::OfParts) => f.write_str("global memory: parts of a group have one each"),
            Home::Scratch(Reason::Size) => f.write_str("global memory: its size has no constant bound"),
            Home::Scratch(Reason::Full { bytes, left }) => {
                write!(f, "global memory: {bytes} bytes per block, while {left} of shared memory are left for it")
            }
        }
    }
}

/// Where each of these is, of a launched map whose iterations groups of `level` take. Earlier ones come first.
pub fn homes(
    program: &Program,
    func: &Func,
    (map, exec): (&Map, &dyn Fn(VarId) -> Option<Exec>),
    privates: &[Private],
    (level, block, copies): (Level, u32, bool),
    model: &DeviceModel,
) -> Vec<Home> {
    let lanes = model.lanes(level, block).max(1);
    let groups = block / lanes;
    let held = if level > Level::Block {
        let bounded = |var: &VarId| most_elements(func, *var).is_some_and(|count| count <= lanes);
        let small = privates.iter().filter(|private| private.scope == level).filter_map(Private::array).filter(bounded);
        held(func, map, exec, lanes, small.collect())
    } else {
        OrdSet::new()
    };
    let mut left = room(block, copies, model);
    let home = |private: &Private| {
        let Store::Array(var) = private.store else { return Home::Scratch(Reason::Copies) };
        if level == Level::Thread {
            return Home::Scratch(Reason::OfLanes);
        }
        if private.scope != level {
            return Home::Scratch(Reason::OfParts);
        }
        if held.contains(&var) {
            return Home::Registers;
        }
        let Some(count) = most_elements(func, var) else { return Home::Scratch(Reason::Size) };
        let each = u64::from(count) * bytes_of(program, func.vars[var].ty);
        let bytes = (each * u64::from(groups)).next_multiple_of(super::MOST_MOVED.into());
        if bytes > left {
            return Home::Scratch(Reason::Full { bytes, left });
        }
        left -= bytes;
        Home::Shared { count, groups }
    };
    privates.iter().map(home).collect()
}

/// Bytes per block for them: as many blocks are resident as without, and half of what a block may have is for primitives and for copies of
/// arrays that all update.
fn room(block: u32, copies: bool, model: &DeviceModel) -> u64 {
    if copies {
        return 0;
    }
    let blocks = (model.resident / block.max(1)).clamp(1, model.resident_blocks.max(1));
    let of_each = (model.shared_of_multiprocessor / blocks).saturating_sub(model.shared_of_block);
    of_each.min(model.shared / 2).into()
}

/// Bytes of an element, of structs an upper bound.
fn bytes_of(program: &Program, ty: Ty) -> u64 {
    match ty {
        Ty::Scalar(scalar) => scalar.size() as u64,
        Ty::Struct(id) => {
            let fields = program.structs[id].fields.iter();
            fields.map(|(_, ty)| bytes_of(program, *ty).next_multiple_of(Scalar::F64.size() as u64)).sum()
        }
    }
}

/// What a device's plan does with the arrays that lanes share, a line each.
pub fn array_homes(program: &Program, func: &Func, plan: &Plan, model: &DeviceModel) -> Vec<String> {
    let mut lines = Vec::new();
    for (map, nest) in nests(func).into_iter().zip(&plan.nests) {
        let Ok(mapping) = Mapping::read(program, func, map, nest) else { continue };
        let exec = |var| mapping.exec(var);
        for map in launched(map, &exec) {
            lines.extend(of_launch(program, func, map, &mapping, model));
        }
    }
    lines
}

fn of_launch(program: &Program, func: &Func, map: &Map, mapping: &Mapping, model: &DeviceModel) -> Vec<String> {
    let exec = |var| mapping.exec(var);
    let level = scope_of(map, &exec);
    let Ok(privates) = private_arrays(program, func, map, level, &exec, model.small_array) else { return Vec::new() };
    let block = key(map).and_then(|key| mapping.blocks.get(&key)).copied().unwrap_or(model.block);
    let homes = homes(program, func, (map, &exec), &privates, (level, block, !mapping.copied.is_empty()), model);
    let line = |(private, home): (&Private, &Home)| match private.store {
        Store::Array(var) => Some(format!("{}: {home}", func.vars[var].name)),
        Store::Copies(_) => None,
    };
    privates.iter().zip(&homes).filter_map(line).collect()
}
