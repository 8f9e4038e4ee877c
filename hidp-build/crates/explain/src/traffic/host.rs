//! The host's side of launches: the values of kernel parameters, and the number of items.

use super::atoms::{Atoms, Facts, Range};
use super::lanes::Value;
use super::poly::Poly;
use super::walk::{POSITIONS, Walk};
use hidp_ir::imp::{Block, Grid, KernelId, Level, Stmt, Unit, VarId, VarKind, visit};
use hidp_ir::par::Program;
use hidp_plan::target::DeviceModel;
use hidp_syntax::index::Id as _;
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::ty::Ty;

/// What is known of the launches of a kernel.
#[derive(Clone, Debug, Default)]
pub(super) struct Launched {
    /// Names for what is not known.
    pub(super) atoms: Atoms,
    /// Parameters before the positions.
    pub(super) args: Vec<Value>,
    /// Items in each dimension, outermost first.
    pub(super) extents: Vec<Poly>,
    /// Whether no more groups than a number run at a time.
    pub(super) limited: bool,
}

/// The launches of each kernel. Of one that is launched at several places of the host function only what all say is known.
pub(super) fn launches(
    program: &Program,
    unit: &Unit,
    model: &DeviceModel,
    sizes: &[i64],
) -> OrdMap<KernelId, Launched> {
    let mut walk = Walk::new(program, ("host", &unit.host), Grid::new(Level::Thread, 32), model, Atoms::default());
    // Readers look for positions first.
    for name in POSITIONS {
        walk.atoms.atom(name, name, Facts::NONE);
    }
    // All parameters that are values are dimensions.
    let is_value = |param: &&VarId| unit.host.vars[**param].kind == VarKind::Value(Ty::LONG);
    for (&param, &size) in unit.host.params.iter().filter(is_value).zip(sizes.iter().cycle()) {
        let var = &unit.host.vars[param];
        let facts = Facts { step: size.max(1), range: Range::known(size) };
        let dimension = walk.atoms.atom(&format!("dimension {}", param.index()), &var.name, facts);
        walk.set(param, Value::uniform(dimension));
    }
    let mut found = OrdMap::new();
    in_block(&mut walk, &unit.host.body, &mut found);
    for launched in found.values_mut() {
        launched.atoms = walk.atoms.clone();
    }
    found
}

fn in_block(walk: &mut Walk<'_>, block: &Block, found: &mut OrdMap<KernelId, Launched>) {
    for stmt in &block.stmts {
        match stmt {
            Stmt::LaunchGrid { kernel, args, extents, most } => {
                let args = args.iter().map(|arg| walk.eval(arg)).collect();
                let extents = extents.iter().map(|extent| walk.eval(extent)).map(|extent| match extent {
                    Value::Uniform(extent, None) => extent,
                    // A number of which nothing is known.
                    Value::Uniform(..) | Value::Lanes(..) | Value::Unknown => Poly::constant(1),
                });
                let launched =
                    Launched { atoms: Atoms::default(), args, extents: extents.collect(), limited: most.is_some() };
                found.entry(*kernel).and_modify(|other| other.agree(&launched)).or_insert(launched);
            }
            other => match visit::child_blocks(other) {
                inner if inner.is_empty() => walk.stmt(other),
                inner => inner.into_iter().for_each(|block| in_block(walk, block, found)),
            },
        }
    }
}

impl Launched {
    fn agree(&mut self, other: &Launched) {
        for (own, value) in self.args.iter_mut().zip(&other.args) {
            if own != value {
                *own = Value::Unknown;
            }
        }
        for (own, extent) in self.extents.iter_mut().zip(&other.extents) {
            if own != extent {
                *own = Poly::constant(1);
            }
        }
        self.limited |= other.limited;
    }
}
