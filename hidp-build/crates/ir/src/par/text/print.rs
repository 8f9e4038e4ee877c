//! The printer.

use std::fmt::Write;

use super::super::{
    Access, ArrayRef, Block, CallArg, Const, ConvertMode, Directives, Expr, ExprKind, Extent, Fold, FoldFn, FoldOp,
    Iter, Map, Piece, Pin, PinArg, PinDim, PinValue, Place, PrimCall, PrimValue, Program, Recur, ScalarFnId, Section,
    SectionDim, Stmt, StmtKind, System, Target, Var, VarId,
};
use super::{OPERATORS, Word, written_names};
use hidp_syntax::ast::PinTarget;
use hidp_syntax::index::{Arena, Id};
use hidp_syntax::ty::{Scalar, StructId, Ty};

/// Writes a program. Of one that verifies, [`super::read`] makes the same program again, but for positions.
pub fn print(program: &Program) -> String {
    let names = Names {
        structs: written_names(&program.structs, |item| &item.name),
        scalar_fns: written_names(&program.scalar_fns, |item| &item.name),
        funcs: written_names(&program.funcs, |item| &item.name),
    };
    let mut out = String::new();
    for (id, item) in program.structs.iter() {
        let mut printer = Printer { names: &names, vars: Vec::new(), out: &mut out, indent: 0 };
        let fields: Vec<String> =
            item.fields.iter().map(|(name, ty)| format!("{name:?}: {}", printer.ty(*ty))).collect();
        let native = if item.native { " native" } else { "" };
        printer.line(&format!(
            "struct {}{native}{} {{ {} }}",
            names.structs[id.index()],
            doc(&item.doc),
            fields.join(", ")
        ));
    }
    for (id, item) in program.scalar_fns.iter() {
        let vars = written_names(&item.vars, |var| &var.name);
        let mut printer = Printer { names: &names, vars, out: &mut out, indent: 0 };
        let mut head = format!("fn {}({})", names.scalar_fns[id.index()], printer.list(&item.params));
        head += &format!(" -> {}", printer.ty(item.result));
        if item.contract {
            head += " contract";
        }
        if item.body.is_none() {
            head += " native";
        }
        printer.function(&head, &item.vars, item.body.as_ref(), None);
    }
    for (id, item) in program.funcs.iter() {
        let vars = written_names(&item.vars, |var| &var.name);
        let mut printer = Printer { names: &names, vars, out: &mut out, indent: 0 };
        let mut head = format!("func {}({})", names.funcs[id.index()], printer.list(&item.params));
        head += &format!(" dims ({})", printer.list(&item.dims));
        if item.contract {
            head += " contract";
        }
        if item.unchecked {
            head += " unchecked";
        }
        head += &doc(&item.doc);
        printer.function(&head, &item.vars, Some(&item.body), item.recur.as_deref());
    }
    let entries: Vec<String> = program
        .entries
        .iter()
        .map(|id| names.funcs.get(id.index()).cloned().unwrap_or_else(|| format!("missing%{}", id.index())))
        .collect();
    let _ = writeln!(out, "entries ({})", entries.join(", "));
    out
}

fn doc(lines: &[String]) -> String {
    lines.iter().map(|line| format!(" doc {line:?}")).collect()
}

/// How ids are written.
struct Names {
    structs: Vec<String>,
    scalar_fns: Vec<String>,
    funcs: Vec<String>,
}

struct Printer<'a> {
    names: &'a Names,
    vars: Vec<String>,
    out: &'a mut String,
    indent: usize,
}

fn named(names: &[String], index: usize) -> String {
    names.get(index).cloned().unwrap_or_else(|| format!("missing%{index}"))
}

impl Printer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{:indent$}{text}", "", indent = self.indent * 2);
    }

    fn var(&self, var: VarId) -> String {
        named(&self.vars, var.index())
    }

    fn list(&self, vars: &[VarId]) -> String {
        vars.iter().map(|var| self.var(*var)).collect::<Vec<_>>().join(", ")
    }

    fn ty(&self, ty: Ty) -> String {
        match ty {
            Ty::Scalar(scalar) => scalar.to_string(),
            Ty::Struct(id) => self.struct_name(id),
        }
    }

    fn struct_name(&self, id: StructId) -> String {
        named(&self.names.structs, id.index())
    }

    fn scalar_fn(&self, id: ScalarFnId) -> String {
        named(&self.names.scalar_fns, id.index())
    }

    fn function(&mut self, head: &str, vars: &Arena<VarId, Var>, body: Option<&Block>, recur: Option<&Recur>) {
        self.line(&format!("{head} {{"));
        self.indent += 1;
        self.line("vars {");
        self.indent += 1;
        for (id, var) in vars.iter() {
            let shape = if var.is_array() { format!("[{}]", self.exprs(&var.shape)) } else { String::new() };
            self.line(&format!("{}: {}{shape} {};", self.var(id), self.ty(var.ty), var.kind.word()));
        }
        self.indent -= 1;
        self.line("}");
        if let Some(body) = body {
            self.stmts(body);
        }
        for system in recur.iter().flat_map(|recur| &recur.systems) {
            self.system(system);
        }
        self.indent -= 1;
        self.line("}");
    }

    /// `system nest (1, -1) ranks (0) { table d (i = lo .. hi by 1) rows ((1, 1)) rank 0 window 3 { … } }`
    fn system(&mut self, system: &System) {
        let numbers = |row: &[i64]| row.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        let nest = system.order.nest.as_ref().map_or_else(String::new, |nest| {
            let ranks: Vec<i64> = nest.ranks.iter().map(|rank| i64::from(*rank)).collect();
            format!(" nest ({}) ranks ({})", numbers(&nest.flips), numbers(&ranks))
        });
        let pinned = if system.order.pinned.is_some() { " pinned" } else { "" };
        self.line(&format!("system{nest}{pinned} {{"));
        self.indent += 1;
        for (table, steps) in system.tables.iter().zip(&system.order.steps) {
            let index: Vec<String> = table.index.iter().map(|iter| self.iter(iter)).collect();
            let rows: Vec<String> = steps.rows.iter().map(|row| format!("({})", numbers(row))).collect();
            let window = steps.window.map(|window| format!(" window {window}")).unwrap_or_default();
            let (array, rows, rank) = (self.var(table.array), rows.join(", "), steps.rank);
            let head = format!("table {array} ({}) rows ({rows}) rank {rank}{window} ", index.join(", "));
            self.braces(&head, &table.body, "");
        }
        self.indent -= 1;
        self.line("}");
    }

    fn iter(&self, iter: &Iter) -> String {
        let (lo, hi, step) = (self.expr(&iter.lo), self.expr(&iter.hi), self.expr(&iter.step));
        format!("{} = {lo} .. {hi} by {step}", self.var(iter.var))
    }

    fn stmts(&mut self, block: &Block) {
        block.stmts.iter().for_each(|stmt| self.stmt(stmt));
    }

    /// `head { … } tail`
    fn braces(&mut self, head: &str, block: &Block, tail: &str) {
        self.line(&format!("{head}{{"));
        self.indent += 1;
        self.stmts(block);
        self.indent -= 1;
        self.line(&format!("}}{tail}"));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let text = match &stmt.kind {
            StmtKind::Declare { var, zero } => {
                format!("declare {}{}", self.var(*var), if *zero { " zero" } else { "" })
            }
            StmtKind::Assign { var, value } => format!("{} = {}", self.var(*var), self.expr(value)),
            StmtKind::AssignField { var, path, value } => {
                format!("{}{} = {}", self.var(*var), fields(path), self.expr(value))
            }
            StmtKind::Store { place, value } => format!("{} = {}", self.place(place), self.expr(value)),
            StmtKind::Atomic { place, op, value } => {
                format!("atomic {} {} = {}", self.place(place), self.op(op), self.expr(value))
            }
            StmtKind::If { cond, then, otherwise } => {
                self.braces(&format!("if {} ", self.expr(cond)), then, "");
                if !otherwise.stmts.is_empty() {
                    self.braces("else ", otherwise, "");
                }
                return;
            }
            StmtKind::Loop(node) => {
                self.braces(&format!("loop {} ", self.expr(&node.cond)), &node.body, "");
                self.braces("step ", &node.step, "");
                return;
            }
            StmtKind::Break => "break".into(),
            StmtKind::Continue => "continue".into(),
            StmtKind::Scope(block) => {
                self.braces("scope ", block, "");
                return;
            }
            StmtKind::Leave => "leave".into(),
            StmtKind::Return(value) => format!("return {}", self.expr(value)),
            StmtKind::Map(map) => {
                self.map(map);
                return;
            }
            StmtKind::Prim(call) => self.prim(call),
            StmtKind::Swap(left, right) => format!("swap {}, {}", self.var(*left), self.var(*right)),
            StmtKind::Call { callee, args } => {
                let args: Vec<String> = args.iter().map(|arg| self.call_arg(arg)).collect();
                format!("call {}({})", named(&self.names.funcs, callee.index()), args.join(", "))
            }
            StmtKind::Require { cond, fault, values } => {
                let values: Vec<String> =
                    values.iter().map(|(text, value)| format!("{text:?} {}", self.expr(value))).collect();
                format!("require {} fault {} ({})", self.expr(cond), fault.word(), values.join(", "))
            }
        };
        self.line(&format!("{text};"));
    }

    fn map(&mut self, map: &Map) {
        let iters: Vec<String> = map.iters.iter().map(|iter| self.iter(iter)).collect();
        self.braces(&format!("map ({}){} ", iters.join(", "), self.directives(&map.directives)), &map.body, "");
        map.folds.iter().for_each(|fold| self.fold(fold));
    }

    fn fold(&mut self, fold: &Fold) {
        let (op, value, over) = (self.op(&fold.op), self.var(fold.value), self.list(&fold.over));
        let target = self.target(&fold.target);
        self.line(&format!("fold {} {op} value {value} over ({over}) into {target};", fold.kind.word()));
    }

    fn op(&self, op: &FoldOp) -> String {
        let func = match op.func {
            FoldFn::Fn(id) => self.scalar_fn(id),
            FoldFn::Add | FoldFn::Mul | FoldFn::Min | FoldFn::Max | FoldFn::And | FoldFn::Or | FoldFn::Xor => {
                let word = OPERATORS.iter().find(|(func, _)| *func == op.func).map_or("", |(_, word)| word);
                format!("{word:?}")
            }
        };
        let mut text = format!("{func} {}", self.ty(op.ty));
        if let Some(neutral) = &op.neutral {
            text += &format!(" neutral {}", self.expr(neutral));
        }
        if op.ordered {
            text += " ordered";
        }
        text
    }

    fn target(&self, target: &Target) -> String {
        match target {
            Target::Scalar(var) => self.var(*var),
            Target::Element(place) => self.place(place),
        }
    }

    fn prim(&self, call: &PrimCall) -> String {
        let extent = match &call.extent {
            Extent::Whole { size } => format!("whole({})", self.expr(size)),
            Extent::Segment { low, high } => format!("segment({}, {})", self.expr(low), self.expr(high)),
            Extent::Vectors { low, high } => format!("vectors({}, {})", self.array(low), self.array(high)),
            Extent::Regular { seg_size, num_seg } => {
                format!("regular({}, {})", self.expr(seg_size), self.expr(num_seg))
            }
        };
        let shared = match call.access {
            Access::Shared => "~",
            Access::Exclusive => "",
        };
        let mut text = format!("prim {}{shared} {extent} in {}", call.prim.word(), self.array(&call.input));
        let mut field = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                text += &format!(" {name} {value}");
            }
        };
        field("out", call.output.as_ref().map(|array| self.array(array)));
        field("op", call.op.as_ref().map(|op| self.op(op)));
        field("predicate", call.predicate.map(|id| self.scalar_fn(id)));
        field(
            "pivot",
            match &call.pivot {
                Some(PrimValue::Scalar(value)) => Some(self.expr(value)),
                Some(PrimValue::Array(_)) | None => None,
            },
        );
        field(
            "pivots",
            match &call.pivot {
                Some(PrimValue::Array(array)) => Some(self.array(array)),
                Some(PrimValue::Scalar(_)) | None => None,
            },
        );
        field("dir", call.dir.as_ref().map(|dir| self.expr(dir)));
        if let Some((values_in, values_out)) = &call.values {
            let out = values_out.as_ref().map_or_else(String::new, |array| format!(" into {}", self.array(array)));
            field("values", Some(format!("{}{out}", self.array(values_in))));
        }
        field("result", call.result.as_ref().map(|target| self.target(target)));
        field("bounds", call.new_bounds.map(|(low, high)| format!("({}, {})", self.var(low), self.var(high))));
        text + &self.directives(&call.directives)
    }

    fn directives(&self, directives: &Directives) -> String {
        let arg = |arg: &PinArg| {
            let values: String = arg.values.iter().map(pin_value).collect();
            let section: String = arg.section.iter().map(|dim| self.pin_dim(dim)).collect();
            format!("[{}]{section}{values}", self.list(&arg.vars))
        };
        let pin = |pin: &Pin| {
            let target = pin.target.map_or("", PinTarget::name);
            let args: Vec<String> = pin.args.iter().map(arg).collect();
            format!(" pin {target:?} {:?} ({})", pin.word.name(), args.join(", "))
        };
        plain_directives(directives) + &directives.pins.iter().map(pin).collect::<String>()
    }

    fn pin_dim(&self, dim: &PinDim) -> String {
        match dim {
            PinDim::All => "{*}".to_owned(),
            PinDim::Range { iters, low, high } => format!("{{[{}] {low} : {high}}}", self.list(iters)),
        }
    }

    fn array(&self, array: &ArrayRef) -> String {
        let (prefix, offset, len) = (self.exprs(&array.prefix), self.expr(&array.offset), self.expr(&array.len));
        format!("{}{{{prefix}; {offset}, {len}}}", self.var(array.array))
    }

    fn call_arg(&self, arg: &CallArg) -> String {
        match arg {
            CallArg::Value(value) => format!("value {}", self.expr(value)),
            CallArg::Scalar(var) => format!("scalar {}", self.var(*var)),
            CallArg::Element(place) => format!("element {}", self.place(place)),
            CallArg::Array(var) => format!("array {}", self.var(*var)),
            CallArg::Section(section) => format!("section {}", self.section(section)),
        }
    }

    fn section(&self, section: &Section) -> String {
        let dim = |dim: &SectionDim| match dim {
            SectionDim::At(index) => format!("at {}", self.expr(index)),
            SectionDim::Range { low, high, step } => {
                format!("range {} .. {} by {}", self.expr(low), self.expr(high), self.expr(step))
            }
            SectionDim::Piece(Piece { way, at, by, length }) => {
                let word = if *by { "by" } else { "of" };
                format!("{} {} {word} {}", way.name(), self.expr(at), self.expr(length))
            }
        };
        format!("{}{{{}}}", self.var(section.array), section.dims.iter().map(dim).collect::<Vec<_>>().join(", "))
    }

    fn place(&self, place: &Place) -> String {
        let index = |(dim, index): (usize, &Expr)| {
            let unproved = dim < 32 && place.unproved >> dim & 1 == 1;
            format!("{}{}", self.expr(index), if unproved { "?" } else { "" })
        };
        let index: Vec<String> = place.index.iter().enumerate().map(index).collect();
        let shared = match place.access {
            Access::Shared => "~",
            Access::Exclusive => "",
        };
        format!("{}{shared}[{}]{}", self.var(place.array), index.join(", "), fields(&place.path))
    }

    fn exprs(&self, exprs: &[Expr]) -> String {
        exprs.iter().map(|expr| self.expr(expr)).collect::<Vec<_>>().join(", ")
    }

    fn expr(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Const(value) => constant(*value, expr.ty),
            ExprKind::Read(var) => self.var(*var),
            ExprKind::Load(place) => self.place(place),
            ExprKind::Unary(op, operand) => format!("{}({})", op.word(), self.expr(operand)),
            ExprKind::Binary { op, left, right, checked } => {
                let check = if *checked { "?" } else { "" };
                format!("({} {}{check} {})", self.expr(left), op.word(), self.expr(right))
            }
            ExprKind::Lazy { and, left, right } => {
                format!("({} {} {})", self.expr(left), if *and { "&&" } else { "||" }, self.expr(right))
            }
            ExprKind::Select { cond, then, otherwise } => {
                format!("select({}, {}, {})", self.expr(cond), self.expr(then), self.expr(otherwise))
            }
            ExprKind::Convert { operand, mode } => {
                let check = match mode {
                    ConvertMode::Cast => "",
                    ConvertMode::Checked => "?",
                };
                format!("{}{check}({})", self.ty(expr.ty), self.expr(operand))
            }
            ExprKind::Math(function, operands) => format!("{}({})", function.name(), self.exprs(operands)),
            ExprKind::Call(callee, args) => format!("{}({})", self.scalar_fn(*callee), self.exprs(args)),
            ExprKind::Field(operand, field) => format!("field({}, {field})", self.expr(operand)),
            ExprKind::Struct(strukt, values) => format!("new {}{{{}}}", self.struct_name(*strukt), self.exprs(values)),
        }
    }
}

fn fields(path: &[u32]) -> String {
    path.iter().map(|field| format!("@{field}")).collect()
}

fn constant(value: Const, ty: Ty) -> String {
    let (text, usual) = match value {
        Const::Int(value) => (value.to_string(), Scalar::I64),
        Const::Float(value) if value.is_nan() => ("nan".into(), Scalar::F64),
        Const::Float(value) => (format!("{value:?}"), Scalar::F64),
        Const::Bool(value) => (value.to_string(), Scalar::Bool),
    };
    match ty {
        Ty::Scalar(scalar) if scalar == usual => text,
        Ty::Scalar(scalar) => format!("{text}:{scalar}"),
        Ty::Struct(_) => text,
    }
}

fn pin_value(PinValue { word, size, how }: &PinValue) -> String {
    let size = size.map_or(String::new(), |size| format!(" = {size}"));
    let how = how.as_ref().map_or(String::new(), |how| format!(" : {how:?}"));
    format!(" {word:?}{size}{how}")
}

fn plain_directives(directives: &Directives) -> String {
    let mut text = String::new();
    if !directives.levels.is_empty() {
        let levels: Vec<&str> = directives.levels.iter().map(|level| level.word()).collect();
        text += &format!(" levels({})", levels.join(", "));
    }
    if directives.ordered {
        text += " ordered";
    }
    if directives.unordered {
        text += " unordered";
    }
    if let Some(block) = directives.block {
        text += &format!(" block({block})");
    }
    if let Some(unroll) = directives.unroll {
        text += &format!(" unroll({unroll})");
    }
    text
}
