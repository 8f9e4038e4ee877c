//! Primitives: a table says which fields a call has, code says how their types fit together.

use super::super::{ArrayRef, Extent, FoldFn, PrimCall, PrimValue};
use super::{Check, Rule};
use hidp_syntax::prim::{Form, Prim};
use hidp_syntax::ty::{Scalar, Ty};

/// Whether a field is there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Has {
    No,
    Yes,
    Maybe,
}
use Has::{Maybe, No, Yes};

/// What the extent of a form looks like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Whole,
    Segment,
    Vectors,
    Regular,
}
use Shape::{Regular, Segment, Vectors, Whole};

/// The fields of one primitive in one form.
struct Row {
    shapes: &'static [Shape],
    op: Has,
    predicate: Has,
    dir: Has,
    output: Has,
    values: Has,
    /// Whether the values, if there, have an output.
    values_out: Has,
    result: Has,
    new_bounds: Has,
}

const ROW: Row = Row {
    shapes: &[],
    op: No,
    predicate: No,
    dir: No,
    output: Yes,
    values: No,
    values_out: No,
    result: No,
    new_bounds: No,
};

const ALL: &[Shape] = &[Whole, Segment, Vectors, Regular];

/// The rows of a primitive; its call must match one whose `shapes` hold its extent.
fn rows(prim: Prim) -> &'static [Row] {
    const FOLD: &[Row] = &[
        Row { shapes: &[Whole, Segment], op: Yes, output: No, result: Yes, ..ROW },
        Row { shapes: &[Vectors, Regular], op: Yes, ..ROW },
    ];
    const SCAN: &[Row] = &[Row { shapes: ALL, op: Yes, ..ROW }];
    const SORT: &[Row] = &[Row { shapes: ALL, dir: Yes, values: Maybe, values_out: Yes, ..ROW }];
    const PARTITION: &[Row] = &[
        Row { shapes: &[Whole], predicate: Yes, values: Maybe, values_out: Yes, result: Maybe, ..ROW },
        Row { shapes: &[Segment, Vectors], predicate: Yes, values: Maybe, values_out: Yes, new_bounds: Yes, ..ROW },
    ];
    const REVERSE: &[Row] = &[Row { shapes: ALL, ..ROW }];
    const REVERSE_INPLACE: &[Row] = &[Row { shapes: ALL, output: No, ..ROW }];
    const HISTOGRAM: &[Row] = &[Row { shapes: &[Whole], op: Yes, values: Maybe, values_out: No, ..ROW }];
    match prim {
        Prim::Min | Prim::Max | Prim::Reduce => FOLD,
        Prim::Scan | Prim::Exscan => SCAN,
        Prim::Sort => SORT,
        Prim::Partition => PARTITION,
        Prim::Reverse => REVERSE,
        Prim::ReverseInplace => REVERSE_INPLACE,
        Prim::Histogram => HISTOGRAM,
    }
}

impl Check<'_> {
    pub(super) fn prim(&mut self, call: &PrimCall) {
        self.fields(call);
        self.extent(call);
        let input = self.array_ref(&call.input, call.prim == Prim::ReverseInplace);
        let output = call.output.as_ref().and_then(|array| self.array_ref(array, true));
        let values = call.values.as_ref().map(|(values_in, values_out)| {
            (self.array_ref(values_in, false), values_out.as_ref().and_then(|array| self.array_ref(array, true)))
        });
        let result = call.result.as_ref().and_then(|target| self.target(target));
        if let Some(op) = &call.op {
            self.fold_op(op, true);
        }
        if let Some((low, high)) = call.new_bounds {
            for var in [low, high] {
                let Some(known) = self.use_var(var) else { continue };
                self.writable(var);
                let fits = known.shape.len() == 1 && known.ty.scalar().is_some_and(Scalar::is_integer);
                self.require(fits, Rule::Prims, || format!("`{}` is no vector of integers", known.name));
            }
        }
        let Some(input) = input else { return };
        match call.prim {
            Prim::Min | Prim::Max | Prim::Reduce | Prim::Scan | Prim::Exscan => {
                self.fold_types(call, input, output.or(result));
            }
            Prim::Sort | Prim::Reverse => self.moves(input, output, values),
            Prim::ReverseInplace => {}
            Prim::Partition => {
                self.moves(input, output, values);
                self.predicate(call, input);
                if let Some(count) = result {
                    let integer = count.scalar().is_some_and(Scalar::is_integer);
                    self.require(integer, Rule::Prims, || "the count is no integer".into());
                }
            }
            Prim::Histogram => {
                let integer = input.scalar().is_some_and(Scalar::is_integer);
                self.require(integer, Rule::Prims, || "the keys are no integers".into());
                if let Some((Some(values), _)) = values {
                    self.fold_types(call, values, output);
                } else if let Some(output) = output {
                    let integer = output.scalar().is_some_and(Scalar::is_integer);
                    let added = call.op.as_ref().is_some_and(|op| op.func == FoldFn::Add);
                    self.require(integer && added, Rule::Prims, || "counts are integers, which are added".into());
                }
            }
        }
        if let Some(dir) = &call.dir {
            self.typed("the direction", dir, Ty::Scalar(Scalar::I32));
            let scalar = input.scalar().is_some();
            self.require(scalar, Rule::Prims, || "the keys of a sort are structs".into());
        }
    }

    /// Which fields are set.
    fn fields(&mut self, call: &PrimCall) {
        let shape = match call.extent {
            Extent::Whole { .. } => Whole,
            Extent::Segment { .. } => Segment,
            Extent::Vectors { .. } => Vectors,
            Extent::Regular { .. } => Regular,
        };
        let form = match shape {
            Whole => Form::Whole,
            Segment | Vectors => Form::Segments,
            Regular => Form::Regular,
        };
        self.require(call.form == form, Rule::Prims, || format!("form {:?} with another extent", call.form));
        let Some(row) = rows(call.prim).iter().find(|row| row.shapes.contains(&shape)) else {
            self.report(Rule::Prims, format!("{:?} has no form {:?}", call.prim, call.form));
            return;
        };
        let values_out = match &call.values {
            Some((_, out)) => out.is_some(),
            None => row.values_out == Yes,
        };
        let fields = [
            ("op", row.op, call.op.is_some()),
            ("predicate", row.predicate, call.predicate.is_some()),
            ("pivot", row.predicate, call.pivot.is_some()),
            ("dir", row.dir, call.dir.is_some()),
            ("output", row.output, call.output.is_some()),
            ("values", row.values, call.values.is_some()),
            ("output of values", row.values_out, values_out),
            ("result", row.result, call.result.is_some()),
            ("new_bounds", row.new_bounds, call.new_bounds.is_some()),
        ];
        for (name, has, set) in fields {
            let fits = has == Maybe || (has == Yes) == set;
            self.require(fits, Rule::Prims, || format!("{:?}: `{name}` is {set:?}", call.prim));
        }
        let pivot_fits = match &call.pivot {
            Some(PrimValue::Scalar(_)) => shape != Vectors,
            Some(PrimValue::Array(_)) => shape == Vectors,
            None => true,
        };
        self.require(pivot_fits, Rule::Prims, || "the pivot does not fit the form".into());
    }

    fn extent(&mut self, call: &PrimCall) {
        match &call.extent {
            Extent::Whole { size } => self.long("a size", size),
            Extent::Segment { low, high } => {
                self.long("a segment's bound", low);
                self.long("a segment's bound", high);
            }
            Extent::Vectors { low, high } => {
                for bounds in [low, high] {
                    let ty = self.array_ref(bounds, false);
                    let integer = ty.is_none_or(|ty| ty.scalar().is_some_and(Scalar::is_integer));
                    self.require(integer, Rule::Prims, || "segment bounds are no integers".into());
                }
            }
            Extent::Regular { seg_size, num_seg } => {
                self.long("a size", seg_size);
                self.long("a number of segments", num_seg);
            }
        }
    }

    /// A row of an array; its element type.
    fn array_ref(&mut self, array: &ArrayRef, written: bool) -> Option<Ty> {
        array.prefix.iter().for_each(|index| self.long("an index", index));
        self.long("an offset", &array.offset);
        self.long("a length", &array.len);
        if written {
            self.writable(array.array);
        }
        let known = self.use_var(array.array)?;
        self.require(known.shape.len() == array.prefix.len() + 1, Rule::Ranks, || {
            format!("`{}` of rank {} with {} leading indices", known.name, known.shape.len(), array.prefix.len())
        });
        Some(known.ty)
    }

    /// Elements convert to the operator's type, which is the target's.
    fn fold_types(&mut self, call: &PrimCall, from: Ty, to: Option<Ty>) {
        let Some(op) = &call.op else { return };
        let converts = from == op.ty || (from.scalar().is_some() && op.ty.scalar().is_some());
        self.require(converts, Rule::Prims, || "the elements do not convert to the operator's type".into());
        if let Some(to) = to {
            self.same_ty("the output", to, op.ty);
        }
    }

    /// Elements move from input to output.
    fn moves(&mut self, input: Ty, output: Option<Ty>, values: Option<(Option<Ty>, Option<Ty>)>) {
        if let Some(output) = output {
            self.same_ty("the output", output, input);
        }
        if let Some((Some(values_in), Some(values_out))) = values {
            self.same_ty("the output of values", values_out, values_in);
        }
    }

    /// `bool f(element, pivot)`.
    fn predicate(&mut self, call: &PrimCall, element: Ty) {
        let pivot = match &call.pivot {
            Some(PrimValue::Scalar(value)) => {
                self.expr(value);
                Some(value.ty)
            }
            Some(PrimValue::Array(array)) => self.array_ref(array, false),
            None => None,
        };
        let Some(id) = call.predicate else { return };
        let Some(function) = self.program.scalar_fns.get(id) else {
            self.report(Rule::Tables, format!("{id:?} does not exist"));
            return;
        };
        self.same_ty("the predicate", function.result, Ty::BOOL);
        let params: Vec<Ty> = function.params.iter().map(|param| function.vars[*param].ty).collect();
        let fits = params.len() == 2 && params[0] == element && pivot.is_none_or(|pivot| params[1] == pivot);
        self.require(fits, Rule::Prims, || format!("`{}` does not take an element and a pivot", function.name));
    }
}
