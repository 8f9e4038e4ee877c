//! Arrays of which each lane of a group has an element, in a register. A lane that reads another's gets it by a shuffle, for which all lanes
//! are there: before they share a map, or where they run a statement together.

use super::super::build::{ArrayBinding, Binding};
use super::super::{Lowerer, make};
use super::private::Given;
use hidp_ir::imp::{Element, Expr, ExprKind, Level, Shuffle, Stmt, VarId};
use hidp_ir::par::visit::{self, Role};
use hidp_ir::par::{self, Map, Place, same};
use hidp_plan as plan;
use hidp_syntax::ty::Ty;

/// What lanes that share a map know of such arrays.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Exchanged {
    /// Elements of other lanes, and where each lane has its own copy.
    copies: Vec<(Place, VarId)>,
    /// Whether each lane has one iteration at most.
    one_each: bool,
}

impl Lowerer<'_> {
    /// Whether each lane has an element of an array.
    pub(in super::super) fn is_held(&self, array: par::VarId) -> bool {
        let given = self.device.as_ref().map_or(&[][..], |state| &state.privates);
        given.iter().any(|given| matches!(given, Given::Held(held) if *held == array))
    }

    /// What stands for such an array where it is declared: zero in all lanes, since those without an element are asked for one, too.
    pub(super) fn held_array(&mut self, array: par::VarId, extents: Vec<Expr>) -> ArrayBinding {
        let declared = &self.func.vars[array];
        let base = self.registers(&declared.name, declared.ty, 1);
        let zero = self.zero_value(declared.ty);
        self.each_lane(|this, _| this.push_store(own(base), zero));
        ArrayBinding { base, extents, window: None, stride: None }
    }

    /// The map's body, built where lanes know what they need of one another's elements.
    pub(super) fn exchanging(&mut self, map: &Map, build: impl FnOnce(&mut Self)) {
        let exchanged = self.elements_of_others(map);
        self.set_exchanged(exchanged);
        build(self);
        self.set_exchanged(Exchanged::default());
    }

    fn set_exchanged(&mut self, exchanged: Exchanged) {
        if let Some(state) = &mut self.device {
            state.exchanged = exchanged;
        }
    }

    /// Before the lanes share a map: what they read of one another's elements.
    fn elements_of_others(&mut self, map: &Map) -> Exchanged {
        let [iter] = &map.iters[..] else { return Exchanged::default() };
        let (mut places, mut one_each): (Vec<Place>, bool) = (Vec::new(), false);
        visit::walk_places(&map.body, |place, role| {
            let held = self.is_held(place.array);
            one_each |= held;
            let of_another = held && role == Role::Read && !plan::is_own(place, iter.var);
            if of_another && !places.iter().any(|known| same::place(known, place)) {
                places.push(place.clone());
            }
        });
        let copy = |place: Place| {
            let copy = self.shuffled(&place, |this, lane| {
                this.body.bindings.insert(iter.var, Binding::Fixed(lane));
                let index = this.exprs(&place.index);
                this.body.bindings.remove(&iter.var);
                index.into_iter().next().unwrap_or(make::long(0))
            });
            (place, copy)
        };
        Exchanged { copies: places.into_iter().map(copy).collect(), one_each }
    }

    /// What each lane gets of an array's element, whose number it says.
    fn shuffled(&mut self, place: &Place, index: impl FnOnce(&mut Self, Expr) -> Expr) -> VarId {
        let of = self.registers("of", Ty::LONG, 1);
        self.each_lane(|this, lane| {
            let index = index(this, lane);
            this.push_store(own(of), index);
        });
        let declared = &self.func.vars[place.array];
        let to = self.registers("got", declared.ty, 1);
        match self.binding(place.array) {
            Binding::Array(ArrayBinding { base: from, .. }) => {
                let group = self.group_here();
                self.body.push(Stmt::Shuffle(Box::new(Shuffle { group, to, from, of })));
            }
            Binding::Fixed(_) | Binding::Slot { .. } | Binding::Lane(_) => self.defect("what lanes hold is an array"),
        }
        to
    }

    /// How far lanes share a map that touches such arrays: each has one iteration at most.
    pub(super) fn shared_end(&mut self, over: Level, high: Expr) -> Expr {
        let one_each = self.device.as_ref().is_some_and(|state| state.exchanged.one_each);
        if over != Level::Thread || !one_each {
            return high;
        }
        let group = self.group_here();
        let lanes = self.of_model(|model| model.lanes(group, model.warp));
        make::min(high, make::long(lanes.into()))
    }

    /// Where an element is, of whatever array: a lane alone has its own.
    pub(in super::super) fn held_index(&self, array: par::VarId, index: Expr) -> Expr {
        if self.shared_scope().is_none() && self.is_held(array) { make::long(0) } else { index }
    }

    /// The value of an element of such an array.
    pub(in super::super) fn held_value(&mut self, place: &Place, ty: Ty) -> Expr {
        let (element, _) = self.element(place);
        let copies = self.device.as_ref().map_or(&[][..], |state| &state.exchanged.copies);
        let copy = copies.iter().find(|(known, _)| same::place(known, place)).map(|(_, copy)| *copy);
        let at = |base: VarId| Element { path: place.path.clone(), ..own(base) };
        match (copy, self.shared_scope()) {
            (Some(copy), _) => make::load(at(copy), ty),
            (None, None) => make::load(element, ty),
            (None, Some(group)) => {
                let got = self.shuffled(place, |_, _| *element.index);
                let value = Box::new(make::load(at(got), ty));
                self.body.fix("value", Expr { kind: ExprKind::Broadcast(group, value), ty })
            }
        }
    }
}

/// A lane's element.
fn own(base: VarId) -> Element {
    make::element(base, make::long(0))
}
