//! Exhaustive walks over blocks, statements, places and expressions.
//!
//! [`Visitor`] looks, [`Mutator`] changes. Every method has a default that walks on; override the ones of interest and call
//! the `walk_*` function of the same name to go deeper. Children are met in order of evaluation. The extents of a declared
//! array live in [`super::Var::shape`] and not in the block: [`super::effects`] and [`clone_block`] look there too.

mod tools;

pub use tools::*;

use super::{
    ArrayRef, Block, CallArg, Expr, ExprKind, Extent, Fold, FoldOp, FuncId, Iter, Loop, Map, Place, PrimCall,
    PrimValue, Section, SectionDim, Stmt, StmtKind, Target, VarId,
};
use hidp_syntax::prim::Prim;

/// What one occurrence of a variable does to it. Of an array `Write` and `Update` mean some of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Comes to life.
    Declare,
    /// Is the iterator of a map.
    Iterate,
    /// Is read.
    Read,
    /// Is overwritten.
    Write,
    /// Is read and written, or only partly overwritten.
    Update,
    /// Is passed to a function, whose header says what happens to it.
    Argument {
        /// The function.
        callee: FuncId,
        /// Which of its parameters.
        position: usize,
    },
}

/// The role of the output of a primitive.
fn output_role(prim: Prim) -> Role {
    match prim {
        Prim::Histogram => Role::Update,
        Prim::Min
        | Prim::Max
        | Prim::Reduce
        | Prim::Scan
        | Prim::Exscan
        | Prim::Sort
        | Prim::Partition
        | Prim::Reverse
        | Prim::ReverseInplace => Role::Write,
    }
}

/// The role of the input of a primitive.
fn input_role(prim: Prim) -> Role {
    match prim {
        Prim::ReverseInplace => Role::Update,
        Prim::Min
        | Prim::Max
        | Prim::Reduce
        | Prim::Scan
        | Prim::Exscan
        | Prim::Sort
        | Prim::Partition
        | Prim::Reverse
        | Prim::Histogram => Role::Read,
    }
}

macro_rules! walks {
    ($(#[$meta:meta])* $name:ident, $module:ident, $($mutability:ident)?) => {
        $(#[$meta])*
        #[allow(missing_docs)]
        pub trait $name {
            fn visit_block(&mut self, block: &$($mutability)? Block) {
                $module::walk_block(self, block);
            }
            fn visit_stmt(&mut self, stmt: &$($mutability)? Stmt) {
                $module::walk_stmt(self, stmt);
            }
            fn visit_loop(&mut self, node: &$($mutability)? Loop) {
                $module::walk_loop(self, node);
            }
            fn visit_map(&mut self, map: &$($mutability)? Map) {
                $module::walk_map(self, map);
            }
            fn visit_iter(&mut self, iter: &$($mutability)? Iter) {
                $module::walk_iter(self, iter);
            }
            fn visit_fold(&mut self, fold: &$($mutability)? Fold) {
                $module::walk_fold(self, fold);
            }
            fn visit_fold_op(&mut self, op: &$($mutability)? FoldOp) {
                $module::walk_fold_op(self, op);
            }
            fn visit_target(&mut self, target: &$($mutability)? Target) {
                $module::walk_target(self, target);
            }
            fn visit_prim(&mut self, call: &$($mutability)? PrimCall) {
                $module::walk_prim(self, call);
            }
            fn visit_array_ref(&mut self, array: &$($mutability)? ArrayRef, role: Role) {
                $module::walk_array_ref(self, array, role);
            }
            fn visit_call_arg(&mut self, arg: &$($mutability)? CallArg, role: Role) {
                $module::walk_call_arg(self, arg, role);
            }
            fn visit_section(&mut self, section: &$($mutability)? Section, role: Role) {
                $module::walk_section(self, section, role);
            }
            fn visit_place(&mut self, place: &$($mutability)? Place, role: Role) {
                $module::walk_place(self, place, role);
            }
            fn visit_expr(&mut self, expr: &$($mutability)? Expr) {
                $module::walk_expr(self, expr);
            }
            fn visit_var(&mut self, _var: &$($mutability)? VarId, _role: Role) {}
        }

        #[doc = concat!("The default walks of [`", stringify!($name), "`].")]
        #[allow(missing_docs)]
        pub mod $module {
            use super::*;

            pub fn walk_block<V: $name + ?Sized>(v: &mut V, block: &$($mutability)? Block) {
                for stmt in &$($mutability)? block.stmts {
                    v.visit_stmt(stmt);
                }
            }

            pub fn walk_stmt<V: $name + ?Sized>(v: &mut V, stmt: &$($mutability)? Stmt) {
                match &$($mutability)? stmt.kind {
                    StmtKind::Declare { var, zero: _ } => v.visit_var(var, Role::Declare),
                    StmtKind::Assign { var, value } => {
                        v.visit_expr(value);
                        v.visit_var(var, Role::Write);
                    }
                    StmtKind::AssignField { var, path: _, value } => {
                        v.visit_expr(value);
                        v.visit_var(var, Role::Update);
                    }
                    StmtKind::Store { place, value } => {
                        v.visit_expr(value);
                        v.visit_place(place, Role::Write);
                    }
                    StmtKind::Atomic { place, op, value } => {
                        v.visit_expr(value);
                        v.visit_fold_op(op);
                        v.visit_place(place, Role::Update);
                    }
                    StmtKind::If { cond, then, otherwise } => {
                        v.visit_expr(cond);
                        v.visit_block(then);
                        v.visit_block(otherwise);
                    }
                    StmtKind::Loop(node) => v.visit_loop(node),
                    StmtKind::Break | StmtKind::Continue | StmtKind::Leave => {}
                    StmtKind::Scope(block) => v.visit_block(block),
                    StmtKind::Return(value) => v.visit_expr(value),
                    StmtKind::Map(map) => v.visit_map(map),
                    StmtKind::Prim(call) => v.visit_prim(call),
                    StmtKind::Swap(left, right) => {
                        v.visit_var(left, Role::Update);
                        v.visit_var(right, Role::Update);
                    }
                    StmtKind::Call { callee, args } => {
                        let callee = *callee;
                        for (position, arg) in args.into_iter().enumerate() {
                            v.visit_call_arg(arg, Role::Argument { callee, position });
                        }
                    }
                    StmtKind::Require { cond, fault: _, values } => {
                        v.visit_expr(cond);
                        for (_, value) in values {
                            v.visit_expr(value);
                        }
                    }
                }
            }

            pub fn walk_loop<V: $name + ?Sized>(v: &mut V, node: &$($mutability)? Loop) {
                v.visit_expr(&$($mutability)? node.cond);
                v.visit_block(&$($mutability)? node.body);
                v.visit_block(&$($mutability)? node.step);
            }

            pub fn walk_map<V: $name + ?Sized>(v: &mut V, map: &$($mutability)? Map) {
                for iter in &$($mutability)? map.iters {
                    v.visit_iter(iter);
                }
                v.visit_block(&$($mutability)? map.body);
                for fold in &$($mutability)? map.folds {
                    v.visit_fold(fold);
                }
            }

            pub fn walk_iter<V: $name + ?Sized>(v: &mut V, iter: &$($mutability)? Iter) {
                v.visit_expr(&$($mutability)? iter.lo);
                v.visit_expr(&$($mutability)? iter.hi);
                v.visit_expr(&$($mutability)? iter.step);
                v.visit_var(&$($mutability)? iter.var, Role::Iterate);
            }

            pub fn walk_fold<V: $name + ?Sized>(v: &mut V, fold: &$($mutability)? Fold) {
                v.visit_var(&$($mutability)? fold.value, Role::Read);
                for over in &$($mutability)? fold.over {
                    v.visit_var(over, Role::Read);
                }
                v.visit_fold_op(&$($mutability)? fold.op);
                v.visit_target(&$($mutability)? fold.target);
            }

            pub fn walk_fold_op<V: $name + ?Sized>(v: &mut V, op: &$($mutability)? FoldOp) {
                if let Some(neutral) = &$($mutability)? op.neutral {
                    v.visit_expr(neutral);
                }
            }

            pub fn walk_target<V: $name + ?Sized>(v: &mut V, target: &$($mutability)? Target) {
                match target {
                    Target::Scalar(var) => v.visit_var(var, Role::Write),
                    Target::Element(place) => v.visit_place(place, Role::Write),
                }
            }

            pub fn walk_prim<V: $name + ?Sized>(v: &mut V, call: &$($mutability)? PrimCall) {
                match &$($mutability)? call.extent {
                    Extent::Whole { size } => v.visit_expr(size),
                    Extent::Segment { low, high } => {
                        v.visit_expr(low);
                        v.visit_expr(high);
                    }
                    Extent::Vectors { low, high } => {
                        v.visit_array_ref(low, Role::Read);
                        v.visit_array_ref(high, Role::Read);
                    }
                    Extent::Regular { seg_size, num_seg } => {
                        v.visit_expr(seg_size);
                        v.visit_expr(num_seg);
                    }
                }
                if let Some(op) = &$($mutability)? call.op {
                    v.visit_fold_op(op);
                }
                match &$($mutability)? call.pivot {
                    Some(PrimValue::Scalar(value)) => v.visit_expr(value),
                    Some(PrimValue::Array(array)) => v.visit_array_ref(array, Role::Read),
                    None => {}
                }
                if let Some(dir) = &$($mutability)? call.dir {
                    v.visit_expr(dir);
                }
                let (input, output) = (input_role(call.prim), output_role(call.prim));
                v.visit_array_ref(&$($mutability)? call.input, input);
                match &$($mutability)? call.values {
                    Some((values_in, values_out)) => {
                        v.visit_array_ref(values_in, Role::Read);
                        if let Some(values_out) = values_out {
                            v.visit_array_ref(values_out, Role::Write);
                        }
                    }
                    None => {}
                }
                if let Some(array) = &$($mutability)? call.output {
                    v.visit_array_ref(array, output);
                }
                if let Some(target) = &$($mutability)? call.result {
                    v.visit_target(target);
                }
                if let Some((low, high)) = &$($mutability)? call.new_bounds {
                    v.visit_var(low, Role::Write);
                    v.visit_var(high, Role::Write);
                }
            }

            pub fn walk_array_ref<V: $name + ?Sized>(v: &mut V, array: &$($mutability)? ArrayRef, role: Role) {
                for index in &$($mutability)? array.prefix {
                    v.visit_expr(index);
                }
                v.visit_expr(&$($mutability)? array.offset);
                v.visit_expr(&$($mutability)? array.len);
                v.visit_var(&$($mutability)? array.array, role);
            }

            pub fn walk_call_arg<V: $name + ?Sized>(v: &mut V, arg: &$($mutability)? CallArg, role: Role) {
                match arg {
                    CallArg::Value(value) => v.visit_expr(value),
                    CallArg::Scalar(var) | CallArg::Array(var) => v.visit_var(var, role),
                    CallArg::Element(place) => v.visit_place(place, role),
                    CallArg::Section(section) => v.visit_section(section, role),
                }
            }

            pub fn walk_section<V: $name + ?Sized>(v: &mut V, section: &$($mutability)? Section, role: Role) {
                for dim in &$($mutability)? section.dims {
                    match dim {
                        SectionDim::At(index) => v.visit_expr(index),
                        SectionDim::Range { low, high, step } => {
                            v.visit_expr(low);
                            v.visit_expr(high);
                            v.visit_expr(step);
                        }
                        SectionDim::Piece(piece) => {
                            v.visit_expr(&$($mutability)? piece.at);
                            v.visit_expr(&$($mutability)? piece.length);
                        }
                    }
                }
                v.visit_var(&$($mutability)? section.array, role);
            }

            pub fn walk_place<V: $name + ?Sized>(v: &mut V, place: &$($mutability)? Place, role: Role) {
                for index in &$($mutability)? place.index {
                    v.visit_expr(index);
                }
                v.visit_var(&$($mutability)? place.array, role);
            }

            pub fn walk_expr<V: $name + ?Sized>(v: &mut V, expr: &$($mutability)? Expr) {
                match &$($mutability)? expr.kind {
                    ExprKind::Const(_) => {}
                    ExprKind::Read(var) => v.visit_var(var, Role::Read),
                    ExprKind::Load(place) => v.visit_place(place, Role::Read),
                    ExprKind::Unary(_, operand) | ExprKind::Convert { operand, mode: _ } | ExprKind::Field(operand, _) => {
                        v.visit_expr(operand);
                    }
                    ExprKind::Binary { op: _, left, right, checked: _ } | ExprKind::Lazy { and: _, left, right } => {
                        v.visit_expr(left);
                        v.visit_expr(right);
                    }
                    ExprKind::Select { cond, then, otherwise } => {
                        v.visit_expr(cond);
                        v.visit_expr(then);
                        v.visit_expr(otherwise);
                    }
                    ExprKind::Math(_, operands) | ExprKind::Call(_, operands) | ExprKind::Struct(_, operands) => {
                        for operand in operands {
                            v.visit_expr(operand);
                        }
                    }
                }
            }
        }
    };
}

walks! {
    /// Looks at every node.
    Visitor, look,
}
walks! {
    /// Changes nodes in place.
    Mutator, change, mut
}

#[cfg(test)]
mod tests;
