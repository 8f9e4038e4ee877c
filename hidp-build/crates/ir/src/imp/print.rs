//! `imp` as text, for goldens and `explain`. Variables are `name.id`.

use super::{
    Block, BlockCopy, Element, Entry, Expr, ExprKind, Function, Grid, Loop, LoopKind, Prim, PrimArg, Reduction,
    Schedule, Share, Stmt, TemplateArg, Unit, UnitTarget, VarId, VarKind, Work,
};
use crate::par::{BinOp, FoldFn, Program, UnOp};
use hidp_syntax::index::Id;
use hidp_syntax::ty::Ty;

/// All versions of an entry.
pub fn print(program: &Program, entry: &Entry) -> String {
    let mut out = Lines::default();
    out.line(format!("entry {}", entry.symbol));
    for (id, site) in entry.sites.iter() {
        out.line(format!("  {id:?} {:?} at {}..{} {:?}", site.kind, site.span.start, site.span.end, site.names));
    }
    entry.units.iter().for_each(|unit| print_unit(program, unit, &mut out));
    out.text
}

/// One statement, without what is in its blocks; for messages.
pub(super) fn stmt_head(program: &Program, function: &Function, stmt: &Stmt) -> String {
    let mut out = Lines::default();
    Printer { program, function }.stmt(stmt, &mut out);
    out.text.lines().next().unwrap_or_default().trim().to_owned()
}

#[derive(Default)]
struct Lines {
    text: String,
    depth: usize,
}

impl Lines {
    fn line(&mut self, line: impl AsRef<str>) {
        self.text.extend(std::iter::repeat_n("  ", self.depth));
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }
    fn nested(&mut self, head: impl AsRef<str>, body: impl FnOnce(&mut Self)) {
        self.line(format!("{} {{", head.as_ref()));
        self.depth += 1;
        body(self);
        self.depth -= 1;
        self.line("}");
    }
}

fn print_unit(program: &Program, unit: &Unit, out: &mut Lines) {
    let head = match unit.target {
        UnitTarget::Cpu => "unit",
        UnitTarget::Device => "device unit",
    };
    out.nested(format!("{head} {} ({})", unit.plan, unit.plan_text), |out| {
        print_function(program, "host", &unit.host, out);
        for (id, kernel) in unit.kernels.iter() {
            let grid = kernel.grid.map_or(String::new(), grid_text);
            let copies: String = kernel.copies.iter().map(copy_text).collect();
            print_function(program, &format!("kernel {id:?} {}{grid}{copies}", kernel.name), &kernel.function, out);
        }
    });
}

fn print_function(program: &Program, head: &str, function: &Function, out: &mut Lines) {
    let printer = Printer { program, function };
    let params: Vec<String> = function.params.iter().map(|var| printer.typed(*var)).collect();
    out.nested(format!("{head}({})", params.join(", ")), |out| printer.block(&function.body, out));
}

pub(super) struct Printer<'a> {
    program: &'a Program,
    function: &'a Function,
}

impl Printer<'_> {
    pub(super) fn name(&self, var: VarId) -> String {
        let name = self.function.vars.get(var).map_or("?", |var| var.name.as_str());
        format!("{name}.{}", var.index())
    }

    fn ty(&self, ty: Ty) -> String {
        match ty {
            Ty::Scalar(scalar) => scalar.to_string(),
            Ty::Struct(id) => self.program.structs.get(id).map_or("?".to_owned(), |s| s.name.clone()),
        }
    }

    pub(super) fn typed(&self, var: VarId) -> String {
        let name = self.name(var);
        let Some(kind) = self.function.vars.get(var).map(|var| var.kind) else { return name };
        match kind {
            VarKind::Value(ty) => format!("{} {name}", self.ty(ty)),
            VarKind::Buffer { elem, writable: false } => format!("const {} {name}[]", self.ty(elem)),
            VarKind::Buffer { elem, writable: true } => format!("{} {name}[]", self.ty(elem)),
            VarKind::HostCell { elem, writable: false } => format!("const host {} {name}[]", self.ty(elem)),
            VarKind::HostCell { elem, writable: true } => format!("host {} {name}[]", self.ty(elem)),
            VarKind::Tile { elem, len } => format!("tile {} {name}[{len}]", self.ty(elem)),
            VarKind::Shared { elem, len, declared: _ } => format!("shared {} {name}[{len}]", self.ty(elem)),
            VarKind::Registers { elem, len } => format!("registers {} {name}[{len}]", self.ty(elem)),
            VarKind::Divisor(elem) => format!("divisor {elem} {name}"),
            VarKind::Wide { elem, .. } => format!("wide {elem} {name}"),
            VarKind::WideTile { elem, len: Some(len), .. } => format!("wide {elem} {name}[{len}]"),
            VarKind::WideTile { elem, len: None, .. } => format!("wide {elem} {name}[]"),
        }
    }

    fn block(&self, block: &Block, out: &mut Lines) {
        block.stmts.iter().for_each(|stmt| self.stmt(stmt, out));
    }

    fn stmt(&self, stmt: &Stmt, out: &mut Lines) {
        match stmt {
            Stmt::At(_) => {}
            Stmt::Let { var, init: Some(init) } => out.line(format!("let {} = {}", self.typed(*var), self.expr(init))),
            Stmt::Let { var, init: None } => out.line(format!("let {}", self.typed(*var))),
            Stmt::Set { var, path, value } => {
                out.line(format!("{}{} = {}", self.name(*var), fields(path), self.expr(value)));
            }
            Stmt::Store { target, value } => out.line(format!("{} = {}", self.element(target), self.expr(value))),
            Stmt::Atomic { target, op, value } => {
                out.line(format!("atomic {} {}= {}", self.element(target), self.fold(*op), self.expr(value)));
            }
            Stmt::If { cond, then, otherwise } => {
                out.nested(format!("if {}", self.expr(cond)), |out| self.block(then, out));
                if !otherwise.stmts.is_empty() {
                    out.nested("else", |out| self.block(otherwise, out));
                }
            }
            Stmt::Loop(node) => out.nested(self.loop_head(node), |out| self.block(&node.body, out)),
            Stmt::Forever { body, step } => {
                out.nested("forever", |out| self.block(body, out));
                out.nested("step", |out| self.block(step, out));
            }
            Stmt::Break => out.line("break"),
            Stmt::Continue => out.line("continue"),
            Stmt::Scope { label, body } => out.nested(format!("scope {label}"), |out| self.block(body, out)),
            Stmt::Leave(Some(label)) => out.line(format!("leave {label}")),
            Stmt::Leave(None) => out.line("leave"),
            Stmt::Fault { site, values } => out.line(format!("fault {site:?}({})", self.list(values))),
            Stmt::CheckTrap => out.line("check_trap"),
            Stmt::Alloc { var, count, zero, site } => out.line(self.storage("alloc", *var, count, *zero, site)),
            Stmt::Free(var) => out.line(format!("free {}", self.name(*var))),
            Stmt::Scratch { var, count, zero, site } => out.line(self.storage("scratch", *var, count, *zero, site)),
            Stmt::Part { var, of, first } => {
                out.line(format!("part {} = {} from {}", self.name(*var), self.name(*of), self.expr(first)));
            }
            Stmt::Either { var, cond, then, otherwise } => {
                let [var, then, otherwise] = [*var, *then, *otherwise].map(|var| self.name(var));
                out.line(format!("either {var} = {then} if {} else {otherwise}", self.expr(cond)));
            }
            Stmt::Prefetch { of, index } => out.line(format!("prefetch {}[{}]", self.name(*of), self.expr(index))),
            Stmt::Swap(a, b) => out.line(format!("swap {}, {}", self.name(*a), self.name(*b))),
            Stmt::Run { kernel, args, begin, end } => {
                out.line(format!("run {kernel:?}({}) over [{}:{})", self.list(args), self.expr(begin), self.expr(end)));
            }
            Stmt::Launch { kernel, args, extent, schedule } => out.line(format!(
                "launch {kernel:?}({}) over {} {}",
                self.list(args),
                self.expr(extent),
                self.schedule(schedule)
            )),
            Stmt::LaunchGrid { kernel, args, extents, most } => {
                let most =
                    most.as_ref().map_or(String::new(), |most| format!(" at most {} at a time", self.expr(most)));
                let extents = self.list(extents);
                out.line(format!("launch {kernel:?}({}) over grid ({extents}){most}", self.list(args)));
            }
            Stmt::Single { group, body } => {
                out.nested(format!("single {}", group.name()), |out| self.block(body, out));
            }
            Stmt::Sync(level) => out.line(format!("sync {}", level.name())),
            Stmt::Lanes { group, lane, body } => {
                out.nested(format!("lanes {} {}", group.name(), self.name(*lane)), |out| self.block(body, out));
            }
            Stmt::Shuffle(shuffle) => {
                let [to, from, of] = [shuffle.to, shuffle.from, shuffle.of].map(|var| self.name(var));
                out.line(format!("shuffle {} {to} = {from} of {of}", shuffle.group.name()));
            }
            Stmt::Move { to, from, count } => {
                out.line(format!("move {count} {} = {}", self.element(to), self.element(from)));
            }
            Stmt::StreamOut { target, tile, count } => {
                let (to, count) = (self.element(target), self.expr(count));
                out.line(format!("stream {to} = {}[0..{count}]", self.name(*tile)));
            }
            Stmt::Prim(prim) => out.line(self.prim(prim)),
            Stmt::Group(group) => {
                out.nested(self.group_head(group), |out| self.block(&group.body, out));
                if let Some(again) = &group.again {
                    out.nested(format!("again {}", again.label), |out| self.block(&again.body, out));
                }
            }
            Stmt::InTurn(turn) => out.nested(self.turn_head(turn), |out| self.block(&turn.body, out)),
            Stmt::Wide(stmt) => out.line(self.wide_stmt(stmt)),
        }
    }

    fn storage(&self, keyword: &str, var: VarId, count: &Expr, zero: bool, site: impl std::fmt::Debug) -> String {
        let zero = if zero { " zero" } else { "" };
        format!("{keyword} {} [{}]{zero} else {site:?}", self.typed(var), self.expr(count))
    }

    fn loop_head(&self, node: &Loop) -> String {
        let kind = match &node.kind {
            LoopKind::Seq => "for".to_owned(),
            LoopKind::Unroll(factor) => format!("unroll({factor})"),
            LoopKind::Across => "across".to_owned(),
            LoopKind::Pack => "pack".to_owned(),
            LoopKind::Simd { reductions } => {
                let clause = |(var, op): &(VarId, FoldFn)| format!("({} {})", self.fold(*op), self.name(*var));
                format!("simd{}", reductions.iter().map(clause).collect::<String>())
            }
            LoopKind::Spread { group, over, share, reductions } => {
                let share = match share {
                    Share::Cyclic => "cyclic",
                    Share::Blocked => "blocked",
                };
                let seen = |var: VarId| format!(" if {}", self.name(var));
                let clause = |reduction: &Reduction| {
                    let seen = reduction.seen.map_or(String::new(), seen);
                    format!("({} {}{seen})", self.fold(reduction.op), self.name(reduction.var))
                };
                let clauses = reductions.iter().map(clause).collect::<String>();
                format!("spread {} over {} {share}{clauses}", group.name(), over.name())
            }
        };
        let step =
            if node.step.kind == ExprKind::Int(1) { String::new() } else { format!(" by {}", self.expr(&node.step)) };
        format!("{kind} {} in {}..{}{step}", self.name(node.var), self.expr(&node.lo), self.expr(&node.hi))
    }

    fn schedule(&self, schedule: &Schedule) -> String {
        match schedule {
            Schedule::Serial => "serial".to_owned(),
            Schedule::Static { grain, least, threads, work } => {
                let least = if *least == 1 { String::new() } else { format!(", at least {least}") };
                format!("static({grain}{least}){} work {}", on_threads(*threads), self.work(work))
            }
            Schedule::Dynamic { grain, threads, work, in_order } => {
                let in_order = if *in_order { " in order" } else { "" };
                format!("dynamic({grain}){in_order}{} work {}", on_threads(*threads), self.work(work))
            }
        }
    }

    fn work(&self, work: &Work) -> String {
        let guess = if work.is_guess() { " or more" } else { "" };
        format!("{}{guess}", self.expr(&work.operations))
    }

    fn prim(&self, prim: &Prim) -> String {
        let template: Vec<String> = prim.template.iter().map(|arg| self.template_arg(*arg)).collect();
        let args: Vec<String> = prim.args.iter().map(|arg| self.prim_arg(arg)).collect();
        format!("prim {}<{}>({}) else {:?}", prim.function, template.join(", "), args.join(", "), prim.sites)
    }

    fn template_arg(&self, arg: TemplateArg) -> String {
        match arg {
            TemplateArg::Ty(ty) => self.ty(ty),
            TemplateArg::Op(op, ty) => format!("{} {}", self.fold(op), self.ty(ty)),
            TemplateArg::Fn(function) => self.fold(FoldFn::Fn(function)),
            TemplateArg::Group(group) => group.name().to_owned(),
        }
    }

    fn prim_arg(&self, arg: &PrimArg) -> String {
        match arg {
            PrimArg::Value(value) => self.expr(value),
            PrimArg::Address { base, offset } => format!("&{}[{}]", self.name(*base), self.expr(offset)),
            PrimArg::Out(var) => format!("out {}", self.name(*var)),
        }
    }

    pub(super) fn fold(&self, op: FoldFn) -> String {
        match op {
            FoldFn::Add => "+".to_owned(),
            FoldFn::Mul => "*".to_owned(),
            FoldFn::Min => "min".to_owned(),
            FoldFn::Max => "max".to_owned(),
            FoldFn::And => "&".to_owned(),
            FoldFn::Or => "|".to_owned(),
            FoldFn::Xor => "^".to_owned(),
            FoldFn::Fn(function) => self.program.scalar_fns.get(function).map_or("?".to_owned(), |f| f.name.clone()),
        }
    }

    fn element(&self, element: &Element) -> String {
        let relaxed = if element.relaxed { "relaxed " } else { "" };
        format!("{relaxed}{}[{}]{}", self.name(element.base), self.expr(&element.index), fields(&element.path))
    }

    pub(super) fn list(&self, items: &[Expr]) -> String {
        items.iter().map(|item| self.expr(item)).collect::<Vec<_>>().join(", ")
    }

    /// Operands of operators stand in parentheses unless they are simple.
    fn operand(&self, node: &Expr) -> String {
        let text = self.expr(node);
        match &node.kind {
            ExprKind::Unary(..) | ExprKind::Binary(..) | ExprKind::Lazy(..) | ExprKind::Select(..) => {
                format!("({text})")
            }
            ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Var(_)
            | ExprKind::Load(_)
            | ExprKind::MulAdd(..)
            | ExprKind::AbsDiffAdd(..)
            | ExprKind::Gather(..)
            | ExprKind::Cast(_)
            | ExprKind::Math(..)
            | ExprKind::Near(..)
            | ExprKind::Call(..)
            | ExprKind::Field(..)
            | ExprKind::Struct(..)
            | ExprKind::WorkerIndex
            | ExprKind::WorkerCount
            | ExprKind::GroupCount(_)
            | ExprKind::IsAligned(..)
            | ExprKind::Any(_)
            | ExprKind::Least { .. }
            | ExprKind::LaneCount(_)
            | ExprKind::VectorRegisters
            | ExprKind::Broadcast(..) => text,
        }
    }

    pub(super) fn expr(&self, node: &Expr) -> String {
        match &node.kind {
            ExprKind::Int(value) => value.to_string(),
            ExprKind::Float(value) => format!("{value:?}"),
            ExprKind::Bool(value) => value.to_string(),
            ExprKind::Var(var) => self.name(*var),
            ExprKind::Load(element) => self.element(element),
            ExprKind::Unary(op, a) => format!("{}{}", prefix(*op), self.operand(a)),
            ExprKind::Binary(op, a, b) => format!("{} {} {}", self.operand(a), infix(*op), self.operand(b)),
            ExprKind::MulAdd(a, b, c) => format!("mul_add({}, {}, {})", self.expr(a), self.expr(b), self.expr(c)),
            ExprKind::AbsDiffAdd(a, b, c) => {
                format!("abs_diff_add({}, {}, {})", self.expr(a), self.expr(b), self.expr(c))
            }
            ExprKind::Gather(load, count) => format!("gather({}, {})", self.expr(load), self.expr(count)),
            ExprKind::Lazy(and, a, b) => {
                format!("{} {} {}", self.operand(a), if *and { "&&" } else { "||" }, self.operand(b))
            }
            ExprKind::Select(c, a, b) => format!("{} ? {} : {}", self.operand(c), self.operand(a), self.operand(b)),
            ExprKind::Cast(a) => format!("{}({})", self.ty(node.ty), self.expr(a)),
            ExprKind::Math(function, args) => format!("{}({})", function.name(), self.list(args)),
            ExprKind::Near(function, angle) => format!("{}({})", function.name(), self.expr(angle)),
            ExprKind::Call(function, args) => format!("{}({})", self.fold(FoldFn::Fn(*function)), self.list(args)),
            ExprKind::Field(a, position) => format!("{}.{position}", self.operand(a)),
            ExprKind::Struct(_, args) => format!("{}{{{}}}", self.ty(node.ty), self.list(args)),
            ExprKind::WorkerIndex => "worker_index".to_owned(),
            ExprKind::WorkerCount => "worker_count".to_owned(),
            ExprKind::GroupCount(Grid { level, block, .. }) => format!("group_count({}, {block})", level.name()),
            ExprKind::Any(mask) => format!("any({})", self.name(*mask)),
            ExprKind::Least { of, mask } => format!("least({} in {})", self.name(*of), self.name(*mask)),
            ExprKind::LaneCount(lanes) => format!("lane_count({} bits x {})", lanes.bits, lanes.groups),
            ExprKind::VectorRegisters => "vector_registers".to_owned(),
            ExprKind::IsAligned(var, bytes) => format!("is_aligned({}, {bytes})", self.name(*var)),
            ExprKind::Broadcast(level, a) => format!("broadcast {}({})", level.name(), self.expr(a)),
        }
    }
}

pub(super) fn fields(path: &[u32]) -> String {
    path.iter().map(|position| format!(".{position}")).collect()
}

pub(super) const fn prefix(op: UnOp) -> &'static str {
    match op {
        UnOp::Neg => "-",
        UnOp::Not => "!",
        UnOp::BitNot => "~",
    }
}

pub(super) const fn infix(op: BinOp) -> &'static str {
    match op {
        BinOp::Add => "+",
        BinOp::Sub => "-",
        BinOp::Mul => "*",
        BinOp::Div => "/",
        BinOp::Rem => "%",
        BinOp::And => "&",
        BinOp::Or => "|",
        BinOp::Xor => "^",
        BinOp::Shl => "<<",
        BinOp::Shr => ">>",
        BinOp::Lt => "<",
        BinOp::Le => "<=",
        BinOp::Gt => ">",
        BinOp::Ge => ">=",
        BinOp::Eq => "==",
        BinOp::Ne => "!=",
    }
}

fn on_threads(most: Option<u32>) -> String {
    most.map_or(String::new(), |most| format!(" on {most} threads"))
}

fn copy_text(copy: &BlockCopy) -> String {
    let BlockCopy { all, count, op, most } = copy;
    format!(" copies {all:?}[{count:?}] by {op:?} up to {most}")
}

fn grid_text(Grid { level, block, items, at_once, joined }: Grid) -> String {
    let side_by_side = if items == 1 { String::new() } else { format!(" by {items}") };
    let at_once = if at_once == 1 { String::new() } else { format!(" at once {at_once}") };
    let joined = if joined { " joined" } else { "" };
    format!(" {} of {block}{side_by_side}{at_once}{joined}", level.name())
}
