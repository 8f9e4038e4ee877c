//! What is known of sets of lanes, and of the variables of a group, at a point of it.
//!
//! A set never changes: a mask that is assigned anew stands for another one. So what is known of two sets stays known.

use hidp_syntax::ordered::{OrdMap, OrdSet};

use crate::imp::VarId;

/// A set of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Set(u32);

/// All lanes, wherever they are.
pub(super) const ALL: Set = Set(0);
/// The lanes that have an iteration.
pub(super) const OWN: Set = Set(1);

/// Some sets, of which one may hold a lane that no other holds.
pub(super) type Union = OrdSet<Set>;

pub(super) fn all() -> Union {
    Union::from([ALL])
}

/// For each set those that it is within, itself too.
pub(super) struct Sets {
    around: Vec<Union>,
}

impl Sets {
    pub(super) fn new() -> Self {
        Self { around: vec![all(), Union::from([ALL, OWN])] }
    }

    /// A set within others.
    pub(super) fn add(&mut self, within: &Union) -> Set {
        let set = Set(self.around.len() as u32);
        let mut around = within.clone();
        around.extend([ALL, set]);
        self.around.push(around);
        set
    }

    pub(super) fn around(&self, set: Set) -> &Union {
        &self.around[set.0 as usize]
    }

    fn around_mut(&mut self, set: Set) -> &mut Union {
        &mut self.around[set.0 as usize]
    }

    pub(super) fn is_within(&self, set: Set, other: Set) -> bool {
        self.around(set).contains(&other)
    }

    /// Whether each lane of a set is in one of others.
    pub(super) fn covers(&self, others: &Union, set: Set) -> bool {
        others.iter().any(|other| self.is_within(set, *other))
    }

    /// What is in both.
    pub(super) fn meet(&self, a: &Union, b: &Union) -> Union {
        a.union(b).copied().filter(|set| self.covers(a, *set) && self.covers(b, *set)).collect()
    }
}

/// What is known at a point.
#[derive(Clone)]
pub(super) struct State {
    /// What a mask, or another wide value of type `bool`, stands for.
    pub(super) masks: OrdMap<VarId, Set>,
    /// The lanes in which a variable has the value that the program gives it; all, if nothing is said.
    right: OrdMap<VarId, Union>,
    /// Sets with a lane.
    pub(super) some: Union,
    /// The mask of the lanes that are here.
    pub(super) here: VarId,
}

impl State {
    /// Where a group begins.
    pub(super) fn new(here: VarId) -> Self {
        let masks = OrdMap::from([(here, OWN)]);
        State { masks, right: OrdMap::new(), some: Union::from([OWN]), here }
    }

    /// The same for other lanes, once those that are here have come to where these are.
    pub(super) fn among(self, here: VarId) -> Self {
        State { here, ..self }
    }

    /// What a mask stands for; of a value that is none, nothing is known but that it is in all lanes.
    pub(super) fn set_of(&self, mask: VarId) -> Set {
        self.masks.get(&mask).copied().unwrap_or(ALL)
    }

    /// The lanes that are here.
    pub(super) fn here(&self) -> Set {
        self.set_of(self.here)
    }

    pub(super) fn right_of(&self, var: VarId) -> Union {
        self.right.get(&var).cloned().unwrap_or_else(all)
    }

    pub(super) fn give(&mut self, var: VarId, lanes: Union) {
        self.right.insert(var, lanes);
    }

    /// Whether a set has a lane.
    pub(super) fn has_lane(&self, sets: &Sets, set: Set) -> bool {
        self.some.iter().any(|some| sets.is_within(*some, set))
    }

    fn both<'s>(&'s self, other: &'s State) -> impl Iterator<Item = VarId> + 's {
        let vars: OrdSet<VarId> = self.right.keys().chain(other.right.keys()).copied().collect();
        vars.into_iter()
    }
}

/// What is known where one comes from two points.
pub(super) fn join(sets: &mut Sets, a: &State, b: &State) -> State {
    let mut masks = OrdMap::new();
    let mut joined: OrdMap<(Set, Set), Set> = OrdMap::new();
    for (var, of_a) in &a.masks {
        let Some(of_b) = b.masks.get(var) else { continue };
        let set = if of_a == of_b {
            *of_a
        } else if let Some(known) = joined.get(&(*of_a, *of_b)) {
            *known
        } else {
            let within = sets.around(*of_a).intersection(sets.around(*of_b)).copied().collect();
            let set = sets.add(&within);
            joined.insert((*of_a, *of_b), set);
            set
        };
        masks.insert(*var, set);
    }
    for ((of_a, of_b), set) in &joined {
        for ((other_a, other_b), other) in &joined {
            if sets.is_within(*of_a, *other_a) && sets.is_within(*of_b, *other_b) {
                sets.around_mut(*set).insert(*other);
            }
        }
    }
    let mut right = OrdMap::new();
    for var in a.both(b) {
        let (of_a, of_b) = (a.right_of(var), b.right_of(var));
        let mut lanes = sets.meet(&of_a, &of_b);
        let new = joined.iter().filter(|((x, y), _)| sets.covers(&of_a, *x) && sets.covers(&of_b, *y));
        lanes.extend(new.map(|(_, set)| *set));
        right.insert(var, lanes);
    }
    let both = a.some.union(&b.some).copied().filter(|set| a.has_lane(sets, *set) && b.has_lane(sets, *set));
    let new = joined.iter().filter(|((x, y), _)| a.has_lane(sets, *x) && b.has_lane(sets, *y));
    let some = both.chain(new.map(|(_, set)| *set)).collect();
    State { masks, right, some, here: a.here }
}

/// The head of a loop: what is known before its first turn, as long as each turn leaves it so.
pub(super) struct Head {
    pub(super) state: State,
    /// The masks that turns assign, and what they stand for at the head.
    turned: Vec<(VarId, Set)>,
    assigned: Vec<VarId>,
    /// Sets before it are from outside.
    first: Set,
}

impl Head {
    /// That of a loop which assigns to these variables.
    pub(super) fn new(sets: &mut Sets, before: &State, assigned: Vec<VarId>) -> Self {
        let mut state = before.clone();
        let from = Set(sets.around.len() as u32);
        let mut turned: Vec<(VarId, Set)> = Vec::new();
        for var in &assigned {
            if let Some(set) = before.masks.get(var) {
                let around = sets.around(*set).clone();
                turned.push((*var, sets.add(&around)));
            }
        }
        let first = |var: &VarId| before.set_of(*var);
        for (var, set) in &turned {
            state.masks.insert(*var, *set);
            let wider = turned.iter().filter(|(other, _)| sets.is_within(first(var), first(other)));
            let wider: Vec<Set> = wider.map(|(_, other)| *other).collect();
            sets.around_mut(*set).extend(wider);
            if before.has_lane(sets, first(var)) {
                state.some.insert(*set);
            }
        }
        for var in &assigned {
            let mut lanes = before.right_of(*var);
            let covered = turned.iter().filter(|(mask, _)| sets.covers(&before.right_of(*var), first(mask)));
            lanes.extend(covered.map(|(_, set)| *set));
            state.give(*var, lanes);
        }
        Self { state, turned, assigned, first: from }
    }

    /// Takes out what a turn does not leave so. Whether there was any.
    pub(super) fn keep(&mut self, sets: &mut Sets, back: &State) -> bool {
        let mut changed = false;
        // What a set of the head is in the next turn.
        let turned = self.turned.clone();
        let next = |set: Set| turned.iter().find(|(_, of)| *of == set).map_or(set, |(var, _)| back.set_of(*var));
        for (var, set) in &turned {
            let stays = |around: &Set| around == set || sets.is_within(back.set_of(*var), next(*around));
            let kept: Union = sets.around(*set).iter().copied().filter(stays).collect();
            changed |= kept.len() != sets.around(*set).len();
            *sets.around_mut(*set) = kept;
            if self.state.some.contains(set) && !back.has_lane(sets, back.set_of(*var)) {
                self.state.some.remove(set);
                changed = true;
            }
        }
        for var in &self.assigned {
            let lanes = self.state.right_of(*var);
            let left = back.right_of(*var);
            let mut kept: Union = lanes.iter().copied().filter(|set| sets.covers(&left, next(*set))).collect();
            kept.extend(left.into_iter().filter(|set| *set < self.first && sets.covers(&lanes, *set)));
            changed |= kept != lanes;
            self.state.give(*var, kept);
        }
        changed
    }
}
