//! Elements that lanes access.

use super::super::build::Binding;
use super::super::vector::MOST_STRIDE;
use super::super::{Lowerer, make};
use hidp_ir::imp::{Expr, ExprKind, Wide, WideElement, WideIndex, WideKind};
use hidp_ir::par::{Access, BinOp, FaultKind, Place};
use hidp_plan as plan;
use hidp_syntax::ty::{Scalar, Ty};

impl Lowerer<'_> {
    /// The elements of a place, and who accesses them.
    pub(super) fn wide_place(&mut self, place: &Place, stored: bool) -> Option<WideElement> {
        let here = self.here()?;
        if self.is_of_iteration(place.array) && self.is_varying(place.array) {
            return self.own_place(place, stored);
        }
        if let Some(element) = self.packed_element(place) {
            return Some(element);
        }
        let Binding::Array(array) = self.binding(place.array) else {
            self.defect("what is indexed is an array");
            return None;
        };
        if array.window.is_some() || array.stride.is_some() {
            self.defect("arrays that lanes access are whole");
        }
        let index = match self.even(place) {
            Some(coefficients) => {
                let indices = self.even_indices(place, &array.extents, &coefficients);
                let first = self.linear(&array.extents, indices);
                let stride = stride(&array.extents, &coefficients);
                WideIndex::Every { first: Box::new(first), stride: Box::new(self.body.compute_ahead(stride)) }
            }
            None => WideIndex::Each(Box::new(self.wide_linear(place, &array.extents))),
        };
        let relaxed = place.access == Access::Shared && !self.body.is_own(array.base);
        Some(WideElement { base: array.base, index, path: place.path.clone(), relaxed, mask: Some(here) })
    }

    /// The factor of the lanes' iterator in each index, if all grow evenly with it.
    fn even(&self, place: &Place) -> Option<Vec<i64>> {
        let wide = self.wide.as_ref()?;
        let factor = |index| match wide.lane {
            Some(lane) => plan::coefficient(index, lane, &wide.others).and_then(|c| i64::try_from(c).ok()),
            None => (!self.differs(index)).then_some(0),
        };
        place.index.iter().map(factor).collect()
    }

    /// The indices of the first lane, after the checks of all.
    fn even_indices(&mut self, place: &Place, extents: &[Expr], coefficients: &[i64]) -> Vec<Expr> {
        let dims = extents.iter().zip(coefficients).enumerate();
        dims.map(|(dim, (extent, coefficient))| self.even_index(place, dim, extent, *coefficient)).collect()
    }

    /// An index that grows evenly from lane to lane: where that of the first lane and that of the last are inside, all are.
    pub(super) fn even_index(&mut self, place: &Place, dim: usize, extent: &Expr, coefficient: i64) -> Expr {
        let index = &place.index[dim];
        let value = self.expr(index);
        if !self.is_unproved(place, dim) {
            return value;
        }
        let value = self.body.fix("index", value);
        let inside = make::inside(value.clone(), extent.clone());
        if coefficient == 0 {
            self.require(inside, FaultKind::Index, place.span, Vec::new());
            return value;
        }
        self.body.enter();
        let each = self.wide(index);
        let each = self.wide_within(each, extent.clone());
        self.wide_require(each);
        let test = self.body.leave();
        let lanes = Expr { kind: ExprKind::LaneCount(self.lanes()), ty: Ty::LONG };
        let last = make::mul(make::sub(lanes, make::long(1)), make::long(coefficient));
        let last = make::inside(make::add(value.clone(), last), extent.clone());
        if i128::from(coefficient).abs() <= MOST_STRIDE {
            self.body.push(make::when(make::not(make::binary(BinOp::And, inside, last)), test.stmts));
        } else {
            // Those between may be outside: nothing says that none wraps.
            test.stmts.into_iter().for_each(|stmt| self.body.push(stmt));
        }
        value
    }

    /// The linear index of each lane, after its checks. What is the same in all lanes is added up in scalars.
    pub(super) fn wide_linear(&mut self, place: &Place, extents: &[Expr]) -> Wide {
        let mut same = make::long(0);
        let mut each: Option<Wide> = None;
        for (dim, (index, extent)) in place.index.iter().zip(extents).enumerate() {
            same = match make::as_int(&same) {
                Some(0) => same,
                _ => make::mul(same, extent.clone()),
            };
            each = each.map(|row| {
                let extent = self.splat(extent.clone());
                self.wide_binary(BinOp::Mul, row, extent)
            });
            if !self.differs(index) {
                same = make::add(same, self.even_index(place, dim, extent, 0));
                continue;
            }
            let index = self.wide_index(place, dim, extent);
            each = Some(match each {
                None => index,
                Some(row) => self.wide_binary(BinOp::Add, row, index),
            });
        }
        match (make::as_int(&same), each) {
            (Some(0), Some(each)) => each,
            (_, Some(each)) => {
                let same = self.splat(same);
                self.wide_binary(BinOp::Add, same, each)
            }
            (_, None) => self.splat(same),
        }
    }

    /// An index of each lane, after its check. What was made wider to be one is compared as it was.
    fn wide_index(&mut self, place: &Place, dim: usize, extent: &Expr) -> Wide {
        let index = self.wide(&place.index[dim]);
        if !self.is_unproved(place, dim) {
            return index;
        }
        let index = match index.kind {
            WideKind::Cast(narrow) if is_below_32_bits(narrow.ty) => {
                let narrow = self.wide_fixed("index", *narrow);
                self.wide_of(WideKind::Cast(Box::new(narrow)), index.ty)
            }
            _ => self.wide_fixed("index", index),
        };
        let inside = self.wide_within(index.clone(), extent.clone());
        self.wide_require(inside);
        index
    }
}

/// Whether `int` holds all numbers of an integer type.
pub(super) fn is_below_32_bits(ty: Scalar) -> bool {
    ty.is_integer() && (ty.size() < 4 || ty == Scalar::I32)
}

/// From lane to lane, in elements.
fn stride(extents: &[Expr], coefficients: &[i64]) -> Expr {
    let mut stride = make::long(0);
    for (extent, coefficient) in extents.iter().zip(coefficients) {
        let row = match make::as_int(&stride) {
            Some(0) => make::long(0),
            _ => make::mul(stride, extent.clone()),
        };
        stride = make::add(row, make::long(*coefficient));
    }
    stride
}

#[cfg(test)]
mod tests {
    use hidp_ir::imp::visit::{each_expr, each_stmt};
    use hidp_ir::imp::{self, ExprKind, Stmt, WideKind, each_wide, wides_of};
    use hidp_plan::{self as plan, Limits, target::Model};

    /// How many loads of elements that others may write a group of `wide` makes.
    fn shared_loads(body: &str) -> usize {
        let text = format!(
            "function f input int x[M], to[N]; inout int b[N]; output int y[N];
            {{ map {{ i := [0:N); int v = x[i]; {body} while (v > 1) {{ v = v >> 1; }} y[i] = v; b[to[i]] = 1; }} }}"
        );
        let (program, func) = crate::tests::optimised(&text);
        // Whether it pays or not.
        let limits = Limits { variants: true, ..Limits::default() };
        // No loop keeps so few numbers alive that there are groups of two sizes, and the last group is as large as the others.
        let model = Model { flight_live: 0, flight_last: 2, ..Model::cpu() };
        let plans = plan::explore(&program, func, &model, limits).plans;
        let (entry, defects) = crate::lower(&program, func, "test_entry", &plans, &model);
        assert_eq!(defects, []);
        imp::verify(&program, &entry).unwrap_or_else(|errors| panic!("{errors:?}"));
        let unit = entry.units.iter().find(|unit| unit.plan == "wide").expect("a plan");
        let mut found = 0;
        for (_, kernel) in unit.kernels.iter() {
            each_stmt(&kernel.function.body, &mut |stmt| {
                let Stmt::Group(group) = stmt else { return };
                each_expr(&group.body, &mut |expr| {
                    found += usize::from(matches!(&expr.kind, ExprKind::Load(element) if element.relaxed));
                });
                each_stmt(&group.body, &mut |stmt| {
                    let Stmt::Wide(stmt) = stmt else { return };
                    wides_of(stmt).into_iter().for_each(|value| {
                        each_wide(value, &mut |wide| {
                            found += usize::from(matches!(&wide.kind, WideKind::Load(element) if element.relaxed));
                        });
                    });
                });
            });
        }
        found
    }

    #[test]
    fn what_others_may_write_is_loaded_once() {
        assert_eq!(shared_loads("v = x[i + b[to[1]]];"), 1, "an index that grows evenly");
        assert_eq!(shared_loads("v = x[b[to[1]]];"), 1, "one that is the same in all lanes");
        assert_eq!(shared_loads("v = x[b[to[i]]];"), 1, "one of each lane");
        assert_eq!(shared_loads("v = 100 / b[to[i]];"), 1, "a divisor");
        assert_eq!(shared_loads("v = 100 / b[to[1]] + (v << b[to[2]]);"), 2);
        assert_eq!(shared_loads("for (int k = 0; k < b[to[i]]; k = k + 1) { v = v + k; }"), 1, "a bound");
    }
}
