//! What times of a nest are predicted from, found once: its maps, what an iteration of each does by itself, and how accesses move with
//! each iterator. Numbers follow for given sizes.

use super::beside::{Beside, is_straight};
use super::own::{Own, Places};
use crate::counted::halfway;
use crate::measures::ragged_extent;
use crate::shape::coefficient;
use crate::target::DeviceMachine;
use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{Expr, Func, Iter, Map, Place, Program, StmtKind, VarId, VarKind};
use hidp_syntax::ordered::{OrdMap, OrdSet};
use hidp_syntax::ty::Ty;

/// A nest.
pub(super) struct Facts<'a> {
    func: &'a Func,
    /// The arrays that it reaches, which have numbers so.
    pub(super) arrays: Vec<VarId>,
    /// Its maps, each before those inside.
    pub(super) loops: Vec<Loop<'a>>,
    /// Its iterators, in the order of [`crate::iterators`].
    pub(super) iters: Vec<&'a Iter>,
    /// Iterations that lanes may take side by side.
    pub(super) beside: Option<Beside>,
}

/// A map of a nest.
pub(super) struct Loop<'a> {
    pub(super) map: &'a Map,
    /// The map around.
    pub(super) around: Option<usize>,
    /// The maps directly inside.
    pub(super) inside: Vec<usize>,
    /// The number of its first iterator.
    pub(super) first: usize,
    /// How often it runs in an iteration of the map around.
    weight: f64,
    /// What an iteration computes by itself, by the innermost of its iterators on which that depends: first what depends on none.
    pub(super) operations: Vec<f64>,
    /// Those of them that iterations side by side share.
    pub(super) alike: Vec<f64>,
    /// Its loads that wait for one of the turn before of a loop.
    pub(super) chained: f64,
    /// Whether the number of iterations of each iterator stands in the program.
    pub(super) known: Vec<bool>,
    /// Bytes of what each of its folds gives.
    pub(super) results: Vec<u32>,
    /// Accesses of an iteration to arrays that it does not declare.
    pub(super) sites: Vec<Site>,
}

/// An access.
pub(super) struct Site {
    /// The array, by number.
    array: usize,
    size: u32,
    pub(super) role: Role,
    /// How often an iteration makes it.
    weight: f64,
    index: Vec<Expr>,
    /// How far each dimension's index moves with each iterator; nothing where data say so.
    pub(super) moves: Vec<Option<Vec<i128>>>,
    /// Iterators whose ranges begin where data say, with those around them: runs of the former follow each other.
    follows: Vec<(usize, usize)>,
}

/// Why nothing is predicted of a nest.
pub(super) const PRIMITIVE: &str = "an iteration calls a primitive";

impl<'a> Facts<'a> {
    /// Of a nest whose iterations are maps and plain statements that it does not fold; else why there are none.
    pub(super) fn of(program: &'a Program, func: &'a Func, nest: &'a Map) -> Result<Self, &'static str> {
        if !nest.folds.is_empty() {
            return Err("the outermost map folds what its iterations leave: blocks take runs of them");
        }
        let mut primitive = false;
        visit::walk_stmts(&nest.body, |stmt| {
            primitive |= matches!(stmt.kind, StmtKind::Prim(_) | StmtKind::Call { .. });
        });
        if primitive {
            return Err(PRIMITIVE);
        }
        let outermost = nest.iters.len();
        // Lanes lie along the fastest, whose neighbours they load at once.
        let candidates = (outermost.saturating_sub(2)..outermost).filter(|_| is_straight(&nest.body));
        let with = candidates.map(|iter| Self::along(program, func, nest, Some(iter)));
        let found = with.into_iter().find(|facts| facts.beside.is_some());
        Ok(found.unwrap_or_else(|| Self::along(program, func, nest, None)))
    }

    /// With what iterations side by side along an iterator of the outermost map share.
    fn along(program: &'a Program, func: &'a Func, nest: &'a Map, beside: Option<usize>) -> Self {
        let declared: OrdSet<VarId> = visit::declared(&nest.body).into_iter().collect();
        let mut facts = Facts { func, arrays: Vec::new(), loops: Vec::new(), iters: Vec::new(), beside: None };
        let mut places = Vec::new();
        let mut apart: OrdSet<VarId> = beside.map(|iter| nest.iters[iter].var).into_iter().collect();
        facts.collect(program, nest, (None, 1.0), &mut places, &mut apart);
        let varying: OrdSet<VarId> =
            declared.iter().copied().filter(|var| func.vars[*var].kind != VarKind::Iter).collect();
        for (at, places) in places.into_iter().enumerate() {
            let outer: Places = places.into_iter().filter(|(place, ..)| !declared.contains(&place.array)).collect();
            for (place, ..) in &outer {
                if !facts.arrays.contains(&place.array) {
                    facts.arrays.push(place.array);
                }
            }
            facts.loops[at].sites = outer
                .into_iter()
                .map(|(place, role, weight)| facts.site(program, &place, role, weight, &varying))
                .collect();
        }
        facts.beside = beside.and_then(|iter| facts.side_by_side(iter, &apart));
        facts
    }

    fn collect(
        &mut self,
        program: &'a Program,
        map: &'a Map,
        (around, weight): (Option<usize>, f64),
        places: &mut Vec<Places>,
        apart: &mut OrdSet<VarId>,
    ) {
        let (at, first) = (self.loops.len(), self.iters.len());
        self.iters.extend(&map.iters);
        let own = Own::of(program, map, apart);
        let Own { operations, alike, places: own_places, chained, maps, .. } = own;
        let value = |expr: &Expr| expr.value(&OrdMap::new());
        let is_known = |iter: &Iter| [&iter.lo, &iter.hi, &iter.step].into_iter().all(|bound| value(bound).is_some());
        let known = map.iters.iter().map(is_known).collect();
        let results = map.folds.iter().map(|fold| bytes_of(program, fold.op.ty)).collect();
        if let Some(around) = around {
            self.loops[around].inside.push(at);
        }
        let (inside, sites) = (Vec::new(), Vec::new());
        self.loops.push(Loop { map, around, inside, first, weight, operations, alike, chained, known, results, sites });
        places.push(own_places);
        for (inner, weight) in maps {
            self.collect(program, inner, (Some(at), weight), places, apart);
        }
    }

    fn site(&self, program: &Program, place: &Place, role: Role, weight: f64, varying: &OrdSet<VarId>) -> Site {
        let of = |var: VarId| place.index.iter().map(|index| coefficient(index, var, varying)).collect();
        let mut moves: Vec<Option<Vec<i128>>> = self.iters.iter().map(|iter| of(iter.var)).collect();
        let mut follows = Vec::new();
        // A range that begins elsewhere for each iteration around: what moves along it is elsewhere too. Inner ranges come later.
        for inner in (0..self.iters.len()).rev() {
            let Some(own) = moves[inner].clone() else {
                // Elsewhere along the range is anywhere, wherever that begins.
                let begins = |outer: &usize| reads(&self.iters[inner].lo, self.iters[*outer].var);
                (0..inner).filter(begins).for_each(|outer| moves[outer] = None);
                continue;
            };
            if own.iter().all(|factor| *factor == 0) {
                continue;
            }
            for outer in 0..inner {
                match coefficient(&self.iters[inner].lo, self.iters[outer].var, varying) {
                    Some(0) => {}
                    Some(factor) => {
                        if let Some(moves) = &mut moves[outer] {
                            moves.iter_mut().zip(&own).for_each(|(outer, inner)| *outer += inner * factor);
                        }
                    }
                    None if reads(&self.iters[inner].lo, self.iters[outer].var) => follows.push((outer, inner)),
                    None => {}
                }
            }
        }
        Site {
            array: self.arrays.iter().position(|array| *array == place.array).unwrap_or(0),
            size: bytes_of(program, self.func.vars[place.array].ty),
            role,
            weight,
            index: place.index.clone(),
            moves,
            follows,
        }
    }

    /// The last iterator of a map, by number.
    pub(super) fn last(&self, at: usize) -> usize {
        self.loops[at].first + self.loops[at].map.iters.len() - 1
    }

    /// What the levels of the space are called.
    pub(super) fn names(&self) -> Vec<String> {
        let name = |iter: &&Iter| self.func.vars[iter.var].name.clone();
        let of = |at: usize| self.loops[at].map.iters.iter().map(|iter| name(&iter)).collect::<Vec<_>>();
        let mut levels = of(0);
        for depth in 2..=self.depth() {
            let maps = (0..self.loops.len()).filter(|at| self.depth_of(*at) == depth);
            levels.push(maps.flat_map(of).collect::<Vec<_>>().join(" "));
        }
        levels
    }

    /// Levels of maps.
    pub(super) fn depth(&self) -> usize {
        (0..self.loops.len()).map(|at| self.depth_of(at)).max().unwrap_or(0)
    }

    /// Levels from the outermost map to this one, both included.
    pub(super) fn depth_of(&self, at: usize) -> usize {
        1 + self.loops[at].around.map_or(0, |around| self.depth_of(around))
    }

    /// What all that comes to where dimensions have these sizes.
    pub(super) fn at(&self, sizes: &[i64], machine: &DeviceMachine) -> Numbers {
        self.where_known(known_at(self.func, sizes), machine)
    }

    /// What all that comes to where this is known.
    pub(super) fn where_known(&self, mut known: OrdMap<VarId, i64>, machine: &DeviceMachine) -> Numbers {
        // The same with the first iteration of each iterator, and with the last.
        let (mut firsts, mut lasts) = (known.clone(), known.clone());
        let unknown = f64::from(machine.unknown);
        let mut numbers = Numbers { loops: Vec::new(), counts: Vec::new() };
        for node in &self.loops {
            let (mut ragged, mut ends) = (false, [1.0; 2]);
            for iter in &node.map.iters {
                let range = iter.lo.value(&known).zip(iter.hi.value(&known));
                let count = match count_of(iter, &known) {
                    Some(count) => count,
                    None => {
                        ragged = true;
                        let all = ragged_extent(self.func, node.map).and_then(|extent| extent.value(&known));
                        let around = self.executions(node.around, &numbers);
                        all.map_or(unknown, |all| all as f64 / around.max(1.0))
                    }
                };
                let depends = self.iters[..node.first]
                    .iter()
                    .any(|outer| reads(&iter.hi, outer.var) || reads(&iter.lo, outer.var));
                ragged |= depends;
                numbers.counts.push(count);
                for (end, known) in ends.iter_mut().zip([&firsts, &lasts]) {
                    *end *= count_of(iter, known).unwrap_or(count);
                }
                iter.lo.value(&firsts).and_then(|lo| firsts.insert(iter.var, lo));
                iter.hi.value(&lasts).and_then(|hi| lasts.insert(iter.var, hi.saturating_sub(1)));
                match range {
                    Some((lo, hi)) => known.insert(iter.var, lo + hi.saturating_sub(lo) / 2),
                    None => known.remove(&iter.var),
                };
            }
            let iterations = numbers.counts[node.first..].iter().product::<f64>();
            let longest = ends.into_iter().fold(iterations, f64::max);
            numbers.loops.push(LoopNumbers { weight: node.weight, iterations, ragged, longest, sites: Vec::new() });
        }
        for (at, node) in self.loops.iter().enumerate() {
            let sites = node.sites.iter().map(|site| self.site_at(site, &numbers, (&known, &firsts), unknown));
            let mut sites: Vec<SiteNumbers> = sites.collect();
            for own in 1..sites.len() {
                let (before, site) = (&sites[..own], &sites[own]);
                let again = before.iter().any(|other| other.array == site.array && other.strides == site.strides);
                sites[own].is_first = !again;
            }
            numbers.loops[at].sites = sites;
        }
        numbers
    }

    /// How often the body of a map runs in all.
    fn executions(&self, at: Option<usize>, numbers: &Numbers) -> f64 {
        at.map_or(1.0, |at| {
            let own = &numbers.loops[at];
            own.iterations * own.weight * self.executions(self.loops[at].around, numbers)
        })
    }

    fn site_at(
        &self,
        site: &Site,
        numbers: &Numbers,
        (known, firsts): (&OrdMap<VarId, i64>, &OrdMap<VarId, i64>),
        unknown: f64,
    ) -> SiteNumbers {
        let extents = self.func.vars[self.arrays[site.array]].shape.iter();
        let extents: Vec<f64> =
            extents.map(|extent| extent.value(known).map_or(unknown, |value| value as f64)).collect();
        let size = f64::from(site.size);
        // Elements from one index to the next.
        let (mut whole, mut steps) = (1.0, vec![0.0; extents.len()]);
        for (step, extent) in steps.iter_mut().zip(&extents).rev() {
            *step = whole;
            whole *= extent.max(1.0);
        }
        let stride = |moves: &Option<Vec<i128>>| {
            let moves = moves.as_ref()?;
            Some(moves.iter().zip(&steps).map(|(factor, step)| *factor as f64 * step).sum::<f64>() * size)
        };
        let indices =
            site.index.iter().zip(&steps).map(|(index, step)| Some(index.value(firsts)? as f64 * step * size));
        let first = indices.sum::<Option<f64>>();
        let mut strides: Vec<Option<f64>> = site.moves.iter().map(stride).collect();
        for (outer, inner) in &site.follows {
            strides[*outer] = strides[*inner].map(|stride| stride * numbers.counts[*inner]);
        }
        SiteNumbers {
            array: site.array,
            size,
            write: site.role != Role::Read,
            weight: site.weight,
            strides,
            first,
            whole: whole * size,
            is_first: true,
        }
    }
}

/// What is known of a function's variables outside of maps where dimensions have these sizes: those, and counters of the host's loops.
pub(super) fn known_at(func: &Func, sizes: &[i64]) -> OrdMap<VarId, i64> {
    let mut known: OrdMap<VarId, i64> = func.dims.iter().copied().zip(sizes.iter().copied()).collect();
    known.extend(halfway(&func.body, &known));
    known
}

/// How many iterations an iterator has where so much is known.
fn count_of(iter: &Iter, known: &OrdMap<VarId, i64>) -> Option<f64> {
    let (lo, hi) = iter.lo.value(known).zip(iter.hi.value(known))?;
    let step = iter.step.value(known).unwrap_or(1).max(1);
    Some((hi.saturating_sub(lo).max(0) as f64 / step as f64).ceil())
}

/// A nest at given sizes.
#[derive(PartialEq)]
pub(super) struct Numbers {
    /// Of each map.
    pub(super) loops: Vec<LoopNumbers>,
    /// Of each iterator.
    pub(super) counts: Vec<f64>,
}

/// A map at given sizes.
#[derive(PartialEq)]
pub(super) struct LoopNumbers {
    /// How often it runs in an iteration of the map around.
    pub(super) weight: f64,
    pub(super) iterations: f64,
    /// Whether that is a mean.
    pub(super) ragged: bool,
    /// The most in place of the mean, where sizes say how many there are.
    pub(super) longest: f64,
    pub(super) sites: Vec<SiteNumbers>,
}

/// An access at given sizes.
#[derive(Default, PartialEq)]
pub(super) struct SiteNumbers {
    /// The array, by number.
    pub(super) array: usize,
    pub(super) size: f64,
    pub(super) write: bool,
    pub(super) weight: f64,
    /// Bytes from one iteration of each iterator to the next; nothing where data say so.
    pub(super) strides: Vec<Option<f64>>,
    /// The byte of the array where the first iteration of all begins; nothing where data say so.
    pub(super) first: Option<f64>,
    /// Bytes of the array.
    pub(super) whole: f64,
    /// Whether no access of the map before it moves through the array alike: what others bring, it finds in a cache.
    pub(super) is_first: bool,
}

pub(super) fn reads(expr: &Expr, var: VarId) -> bool {
    let mut found = false;
    visit::walk_expr_vars(expr, |read, _| found |= read == var);
    found
}

/// Bytes of a value, without padding.
fn bytes_of(program: &Program, ty: Ty) -> u32 {
    match ty {
        Ty::Scalar(scalar) => scalar.size() as u32,
        Ty::Struct(id) => program.structs[id].fields.iter().map(|(_, ty)| bytes_of(program, *ty)).sum(),
    }
}
