//! Structs of lanes: one wide value for each of their numbers.

use super::super::Lowerer;
use super::super::defect::NUMBER;
use hidp_ir::imp::{self, SetLanes, VarId, Wide, WideCall, WideElement, WideIndex, WideKind, WideStmt};
use hidp_ir::par::effects::Effects;
use hidp_ir::par::{self, Expr, ExprKind, Place, ScalarFnId};
use hidp_plan as plan;
use hidp_plan::wide::Number;
use hidp_plan::wide::is_costly;
use hidp_syntax::ty::{StructId, Ty};

impl Lowerer<'_> {
    /// The numbers of a type, in order: a number is one by itself.
    pub(super) fn numbers_of(&self, ty: Ty) -> Vec<Number> {
        plan::wide::numbers(self.program, ty)
    }

    /// The type of a field.
    fn field_ty(&self, id: StructId, field: u32) -> Ty {
        self.program.structs[id].fields[field as usize].1
    }

    /// The numbers of a value in each lane.
    pub(super) fn wide_numbers(&mut self, expr: &Expr) -> Vec<Wide> {
        if matches!(expr.ty, Ty::Scalar(_)) {
            return vec![self.wide(expr)];
        }
        if !self.varies(expr) {
            let value = self.expr(expr);
            let value = self.body.fix("value", value);
            return self
                .numbers_of(expr.ty)
                .iter()
                .map(|number| self.splat(self.field_at(&value, &number.path)))
                .collect();
        }
        match &expr.kind {
            ExprKind::Read(var) => {
                let vars = self.wide_struct(*var).into_iter().zip(self.numbers_of(expr.ty));
                vars.map(|(var, number)| self.wide_var(var, number.ty)).collect()
            }
            ExprKind::Load(place) => self.wide_load_struct(place, expr.ty),
            ExprKind::Struct(_, fields) => fields.iter().flat_map(|field| self.wide_numbers(field)).collect(),
            ExprKind::Field(of, field) => self.wide_field(of, *field),
            ExprKind::Select { cond, then, otherwise } => self.wide_choices(cond, then, otherwise, expr.ty),
            ExprKind::Call(function, operands) => {
                let Some(mask) = self.here() else { return Vec::new() };
                let args = operands.iter().flat_map(|operand| self.wide_numbers(operand)).collect();
                self.wide_call(*function, args, mask)
            }
            ExprKind::Const(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary { .. }
            | ExprKind::Lazy { .. }
            | ExprKind::Convert { .. }
            | ExprKind::Math(..) => {
                self.defect("structs that differ from lane to lane are made of numbers");
                Vec::new()
            }
        }
    }

    /// The numbers of what a function gives in the lanes of a mask. Operands are its parameters' numbers.
    pub(super) fn wide_call(&mut self, function: ScalarFnId, args: Vec<Wide>, mask: VarId) -> Vec<Wide> {
        if self.trap_sites(function) {
            self.defect("no function that can fault is called in lanes");
        }
        let numbers = self.numbers_of(self.program.scalar_fns[function].result);
        let args = if numbers.len() > 1 { self.all_fixed(args) } else { args };
        let of = |number: Number| {
            let call = WideCall { function, args: args.clone(), mask, path: number.path };
            self.wide_of(WideKind::Call(call), number.ty)
        };
        numbers.into_iter().map(of).collect()
    }

    /// Values that are used more than once, or after others have changed.
    pub(super) fn all_fixed(&mut self, values: Vec<Wide>) -> Vec<Wide> {
        let fixed = |value: Wide| {
            let ty = value.ty;
            let slot = self.wide_slot("number", value);
            self.wide_var(slot, ty)
        };
        values.into_iter().map(fixed).collect()
    }

    /// A field of a struct that is the same in all lanes.
    pub(super) fn field_at(&self, value: &imp::Expr, path: &[u32]) -> imp::Expr {
        path.iter().fold(value.clone(), |value, field| {
            let ty = match value.ty {
                Ty::Struct(id) => self.field_ty(id, *field),
                Ty::Scalar(_) => value.ty,
            };
            imp::Expr { kind: imp::ExprKind::Field(Box::new(value), *field), ty }
        })
    }

    /// The numbers of a field.
    pub(super) fn wide_field(&mut self, of: &Expr, field: u32) -> Vec<Wide> {
        let range = plan::wide::numbers_at(self.program, of.ty, &[field]);
        let mut numbers = self.wide_numbers(of);
        if numbers.len() < range.end {
            self.defect(NUMBER);
            return Vec::new();
        }
        numbers.drain(range).collect()
    }

    fn wide_load_struct(&mut self, place: &Place, ty: Ty) -> Vec<Wide> {
        let Some(element) = self.wide_place(place, false) else { return Vec::new() };
        let element = self.fixed_element(element);
        let load = |this: &Self, number: Number| {
            this.wide_of(WideKind::Load(this.number_at(place, &element, &number)), number.ty)
        };
        self.numbers_of(ty).into_iter().map(|number| load(self, number)).collect()
    }

    /// The same elements, whose places are computed once.
    pub(super) fn fixed_element(&mut self, element: WideElement) -> WideElement {
        let index = match element.index {
            WideIndex::Own(index) => WideIndex::Own(Box::new(self.body.fix("at", *index))),
            WideIndex::Every { first, stride } => {
                WideIndex::Every { first: Box::new(self.body.fix("at", *first)), stride }
            }
            WideIndex::Each(index) => WideIndex::Each(Box::new(self.wide_fixed("at", *index))),
        };
        WideElement { index, ..element }
    }

    /// `?:` of structs.
    fn wide_choices(&mut self, cond: &Expr, then: &Expr, otherwise: &Expr, ty: Ty) -> Vec<Wide> {
        let slots = |this: &mut Self| -> Vec<VarId> {
            let none = |this: &Self, number: Number| this.splat(this.zero_value(number.ty.into()));
            let numbers = this.numbers_of(ty);
            numbers
                .into_iter()
                .map(|number| {
                    let none = none(this, number);
                    this.wide_slot("chosen", none)
                })
                .collect()
        };
        let result = slots(self);
        let put = |this: &mut Self, side: &Expr, lanes: SetLanes| {
            let numbers = this.wide_numbers(side);
            for (slot, number) in result.iter().zip(numbers) {
                this.wide_set(*slot, number, lanes);
            }
        };
        if !self.varies(cond) {
            let cond = self.expr(cond);
            self.branch(cond, |this| put(this, then, SetLanes::Here), |this| put(this, otherwise, SetLanes::Here));
        } else {
            let cond = self.wide(cond);
            let cond = self.mask_of("cond", cond);
            let Some(here) = self.here() else { return Vec::new() };
            for (mask, side) in [(self.both(here, cond), then), (self.without(here, cond), otherwise)] {
                let mask = self.wide_slot("side", mask);
                let joins = self.joins();
                self.with_lanes_here(mask, joins, |this| {
                    if is_costly(side) {
                        this.if_any(mask, |this| put(this, side, SetLanes::Only(mask)));
                    } else {
                        put(this, side, SetLanes::Only(mask));
                    }
                });
            }
        }
        let numbers = self.numbers_of(ty);
        result.into_iter().zip(numbers).map(|(slot, number)| self.wide_var(slot, number.ty)).collect()
    }

    /// A struct comes to life.
    pub(super) fn wide_declare_struct(&mut self, var: par::VarId) {
        let declared = &self.func.vars[var];
        let mut numbers = Vec::new();
        for number in self.numbers_of(declared.ty) {
            let none = self.splat(self.zero_value(number.ty.into()));
            numbers.push(self.wide_slot(&declared.name, none));
        }
        if let Some(wide) = &mut self.wide {
            wide.structs.insert(var, numbers);
        }
    }

    /// What a struct is in lanes.
    fn wide_struct(&mut self, var: par::VarId) -> Vec<VarId> {
        let found = self.wide.as_ref().and_then(|wide| wide.structs.get(&var)).cloned();
        found.unwrap_or_else(|| {
            self.defect(format!("`{}` is a struct in each lane", self.func.vars[var].name));
            Vec::new()
        })
    }

    /// Assigns a struct, or a field of one.
    pub(super) fn wide_assign_struct(&mut self, var: par::VarId, path: &[u32], value: &Expr) {
        let numbers = self.numbers_beside(value, var);
        self.assign_numbers(var, path, numbers);
    }

    /// The same, by the numbers of the value; or assigns a number.
    pub(super) fn assign_numbers(&mut self, var: par::VarId, path: &[u32], numbers: Vec<Wide>) {
        let ty = self.func.vars[var].ty;
        let slots =
            if ty.scalar().is_some() { self.wide_binding(var).into_iter().collect() } else { self.wide_struct(var) };
        let Some(slots) = slots.get(plan::wide::numbers_at(self.program, ty, path)) else { return };
        let lanes = self.set_lanes(self.is_joined(var));
        for (slot, number) in slots.iter().zip(numbers) {
            self.wide_set(*slot, number, lanes);
        }
    }

    /// The numbers of a value, all of which are known before the first of them goes into a variable, or an array, that may be read for them.
    fn numbers_beside(&mut self, value: &Expr, var: par::VarId) -> Vec<Wide> {
        let numbers = self.wide_numbers(value);
        if numbers.len() < 2 || !Effects::of_expr(value).contains(&var) {
            return numbers;
        }
        self.all_fixed(numbers)
    }

    /// Stores a struct.
    pub(super) fn wide_store_struct(&mut self, place: &Place, value: &Expr) {
        let numbers = self.numbers_beside(value, place.array);
        let Some(target) = self.wide_place(place, true) else { return };
        let target = self.fixed_element(target);
        self.body.mark_written(target.base);
        for (number, value) in self.numbers_of(value.ty).into_iter().zip(numbers) {
            self.body.push(imp::Stmt::Wide(WideStmt::Store { target: self.number_at(place, &target, &number), value }));
        }
    }
}
