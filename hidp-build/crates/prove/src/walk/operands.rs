//! Maps, primitives, calls, places and expressions.

use super::super::context::{Contents, Position};
use super::super::linear::Lin;
use super::super::written;
use super::{Use, Walker};
use hidp_ir::par::{
    ArrayRef, CallArg, Expr, ExprKind, Extent, Fold, FoldFn, FoldKind, FoldOp, Iter, Map, Place, PrimCall, PrimValue,
    Section, SectionDim, Stmt, StmtKind, Target, VarId,
};

/// The array among whose first elements a map does nothing but find the smallest and the largest, and the scalars that are set to these.
fn extremes_found(map: &Map) -> Option<(VarId, [VarId; 2])> {
    let [
        Stmt { kind: StmtKind::Declare { var: declared, .. }, .. },
        Stmt { kind: StmtKind::Assign { var, value }, .. },
    ] = map.body.stmts.as_slice()
    else {
        return None;
    };
    let ExprKind::Load(place) = &value.kind else { return None };
    let from_the_first = |(iter, index): (&Iter, &Expr)| {
        iter.lo.as_int() == Some(0)
            && iter.step.as_int() == Some(1)
            && matches!(index.kind, ExprKind::Read(read) if read == iter.var)
    };
    let is_plain = declared == var
        && place.path.is_empty()
        && place.index.len() == map.iters.len()
        && map.iters.iter().zip(&place.index).all(from_the_first);
    let found = |fold: &Fold, func: FoldFn| match fold.target {
        Target::Scalar(target) if fold.kind == FoldKind::Reduce && fold.op.func == func && fold.value == *var => {
            (fold.over.len() == map.iters.len()).then_some(target)
        }
        Target::Scalar(_) | Target::Element(_) => None,
    };
    match map.folds.as_slice() {
        [least, most] if is_plain => Some((place.array, [found(least, FoldFn::Min)?, found(most, FoldFn::Max)?])),
        _ => None,
    }
}

impl Walker<'_, '_> {
    pub(super) fn map(&mut self, map: &mut Map) {
        let mut bounds: Vec<[Lin; 3]> = Vec::new();
        for iter in &mut map.iters {
            for bound in [&mut iter.lo, &mut iter.hi, &mut iter.step] {
                self.expr(bound);
            }
            bounds.push([&iter.lo, &iter.hi, &iter.step].map(|bound| self.cx.lin(bound)));
        }
        let assigned = written::scalars_of_map(map);
        self.havoc(&assigned);
        let (env, extents) = (self.cx.env.clone(), self.cx.extents.clone());
        let facts = self.cx.facts.len();
        let conditional = self.conditional();
        let conditions = std::mem::take(&mut self.conditions);
        let positions: Vec<Position> =
            map.iters.iter().zip(&bounds).map(|(iter, bounds)| self.cx.enter_iter(iter, bounds)).collect();
        self.assume_positions(&positions, &[]);
        self.settle_choices();
        self.cx.map_depth += 1;
        if self.dry == 0 {
            self.client.enter_map(&mut self.cx, map, &positions, conditional);
        }
        self.block(&mut map.body);
        for (number, fold) in map.folds.iter_mut().enumerate() {
            self.cx.facts.truncate(facts);
            self.fold(number, fold, &positions);
        }
        self.cx.facts.truncate(facts);
        if self.dry == 0 {
            self.client.leave_map(&mut self.cx, map);
        }
        self.cx.map_depth -= 1;
        self.conditions = conditions;
        (self.cx.env, self.cx.extents) = (env, extents);
        self.havoc(&assigned);
        if let Some((array, [least, most])) = extremes_found(map)
            && self.cx.constant_arrays.contains(&array)
        {
            let below = bounds.into_iter().map(|[_, hi, _]| hi).collect();
            let (least, most) = (self.cx.value(least), self.cx.value(most));
            self.cx.contents.push(Contents { array, below, least, most });
        }
    }

    pub(super) fn assume_positions(&mut self, positions: &[Position], except: &[VarId]) {
        for position in positions.iter().filter(|position| !except.contains(&position.var)) {
            for fact in &position.facts {
                self.cx.fact(fact.clone());
            }
        }
    }

    /// A reduction's target is written even when the range it folds over is empty.
    pub(super) fn fold(&mut self, number: usize, fold: &mut Fold, positions: &[Position]) {
        self.fold_op(&mut fold.op);
        let except: &[VarId] = match fold.kind {
            FoldKind::Reduce => &fold.over,
            FoldKind::Scan | FoldKind::Exscan => &[],
        };
        self.assume_positions(positions, except);
        match &mut fold.target {
            Target::Scalar(_) => {}
            Target::Element(place) => self.place(place, Use::Fold(number)),
        }
    }

    pub(super) fn fold_op(&mut self, op: &mut FoldOp) {
        if let Some(neutral) = &mut op.neutral {
            self.expr(neutral);
        }
    }

    pub(super) fn prim(&mut self, call: &mut PrimCall) {
        if let Some(op) = &mut call.op {
            self.fold_op(op);
        }
        match &mut call.extent {
            Extent::Whole { size } => self.expr(size),
            Extent::Segment { low, high } => {
                self.expr(low);
                self.expr(high);
            }
            Extent::Vectors { low, high } => {
                self.array_ref(low);
                self.array_ref(high);
            }
            Extent::Regular { seg_size, num_seg } => {
                self.expr(seg_size);
                self.expr(num_seg);
            }
        }
        match &mut call.pivot {
            Some(PrimValue::Scalar(pivot)) => self.expr(pivot),
            Some(PrimValue::Array(pivots)) => self.array_ref(pivots),
            None => {}
        }
        if let Some(dir) = &mut call.dir {
            self.expr(dir);
        }
        self.array_ref(&mut call.input);
        if let Some(output) = &mut call.output {
            self.array_ref(output);
        }
        if let Some((values, values_out)) = &mut call.values {
            self.array_ref(values);
            if let Some(values_out) = values_out {
                self.array_ref(values_out);
            }
        }
        let conditional = self.conditional();
        if self.dry == 0 {
            self.client.prim(&mut self.cx, call, conditional);
        }
        match &mut call.result {
            Some(Target::Scalar(var)) => self.cx.havoc(*var),
            Some(Target::Element(place)) => self.place(place, Use::Write),
            None => {}
        }
    }

    pub(super) fn array_ref(&mut self, array: &mut ArrayRef) {
        for index in &mut array.prefix {
            self.expr(index);
        }
        self.expr(&mut array.offset);
        self.expr(&mut array.len);
    }

    pub(super) fn call(&mut self, stmt: &mut Stmt) {
        let StmtKind::Call { args, .. } = &mut stmt.kind else {
            return;
        };
        let mut written = Vec::new();
        for arg in args {
            match arg {
                CallArg::Value(value) => self.expr(value),
                CallArg::Scalar(var) => written.push(*var),
                CallArg::Element(place) => self.place(place, Use::ReadWrite),
                CallArg::Array(_) => {}
                CallArg::Section(section) => self.section(section),
            }
        }
        let conditional = self.conditional();
        if self.dry == 0 {
            self.client.call(&mut self.cx, stmt, conditional);
        }
        for var in written {
            self.cx.havoc(var);
        }
    }

    pub(super) fn section(&mut self, section: &mut Section) {
        for dim in &mut section.dims {
            match dim {
                SectionDim::At(index) => self.expr(index),
                SectionDim::Range { low, high, step } => {
                    self.expr(low);
                    self.expr(high);
                    self.expr(step);
                }
                SectionDim::Piece(piece) => {
                    self.expr(&mut piece.at);
                    self.expr(&mut piece.length);
                }
            }
        }
    }

    /// Arrays of provably equal extents exchange names; otherwise nothing is known of the extents of either, anywhere.
    pub(super) fn swap(&mut self, a: VarId, b: VarId) {
        let extents = |var: VarId| self.cx.extents.get(&var);
        let equal = match (extents(a), extents(b)) {
            (Some(left), Some(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(l, r)| self.cx.proves_eq(l, r))
            }
            _ => false,
        };
        if !equal {
            self.unstable.extend([a, b]);
        }
    }

    pub(super) fn place(&mut self, place: &mut Place, how: Use) {
        for index in &mut place.index {
            self.expr(index);
        }
        let conditional = self.conditional();
        if self.dry == 0 {
            self.client.place(&mut self.cx, place, how, conditional);
        }
    }

    pub(super) fn expr(&mut self, expr: &mut Expr) {
        match &mut expr.kind {
            ExprKind::Const(_) | ExprKind::Read(_) => {}
            ExprKind::Load(place) => self.place(place, Use::Read),
            ExprKind::Unary(_, operand) | ExprKind::Convert { operand, .. } | ExprKind::Field(operand, _) => {
                self.expr(operand);
            }
            ExprKind::Binary { left, right, .. } => {
                self.expr(left);
                self.expr(right);
            }
            ExprKind::Lazy { and, left, right } => {
                self.expr(left);
                self.under(left, *and, |walker| walker.expr(right));
            }
            ExprKind::Select { cond, then, otherwise } => {
                self.expr(cond);
                self.under(cond, true, |walker| walker.expr(then));
                self.under(cond, false, |walker| walker.expr(otherwise));
            }
            ExprKind::Math(_, operands) | ExprKind::Call(_, operands) | ExprKind::Struct(_, operands) => {
                for operand in operands {
                    self.expr(operand);
                }
            }
        }
        if self.dry == 0 {
            self.client.expr(&mut self.cx, expr);
        }
    }
}
