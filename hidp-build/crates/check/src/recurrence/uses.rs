//! Uses of recurrences: the instance that a use means, and the cell of it.

use hidp_ir::par::{self, CallArg, ConvertMode, Expr, ExprKind, SectionDim, StmtKind, VarId, VarKind, visit};
use hidp_syntax::ast;
use hidp_syntax::diag::{Code, Diagnostic, near};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::Span;
use hidp_syntax::ty::Ty;

use super::super::access::stmt;
use super::super::cx::{BodyKind, Cx, Named};
use super::super::items::{Global, ParamSig};
use super::super::parallel::count_of;
use super::super::shape;
use super::super::value::Val;
use super::{SystemFunc, begin};

/// The tables of a recurrence that is computed before a statement.
#[derive(Clone, Debug)]
pub(in super::super) struct Instance {
    /// How many maps enclose that statement.
    pub(in super::super) level: usize,
    system: usize,
    /// What the inputs are, as written and as the names mean.
    bindings: String,
    /// One a member.
    tables: Vec<VarId>,
    /// What dimensions and scalar inputs of the recurrences are here.
    pub(super) meaning: OrdMap<VarId, Expr>,
}

impl Cx<'_> {
    /// `d(i, j; s = A)`
    pub(in super::super) fn recurrence_call(&mut self, id: usize, call: &ast::Call, span: Span) -> Option<Val> {
        let table = match self.tables.get(&id).copied() {
            Some(table) if self.kind != BodyKind::Func => {
                if let Some(bind) = call.binds.first() {
                    return self.bound_in_body(&call.callee.name, bind);
                }
                table
            }
            // Its domain had an error.
            None if matches!(self.kind, BodyKind::Cell(_)) => return self.silent(),
            Some(_) | None => {
                self.may_use_recurrence(&call.callee.name, span)?;
                self.instance(id, &call.binds, span)?
            }
        };
        if call.args.is_empty() && self.kind == BodyKind::Func {
            return self.whole_table(id, table, span);
        }
        self.cell_of(id, table, call, span)
    }

    /// `d`
    pub(in super::super) fn recurrence_name(&mut self, id: usize, span: Span) -> Option<Val> {
        let name = self.globals.recurrences[id].name.clone();
        if matches!(self.kind, BodyKind::Cell(_)) {
            let diagnostic = Diagnostic::new(Code::MisplacedCell, span, format!("`{name}` is a table, not a value"));
            return self.error(diagnostic.label("which cell?").help(format!("write the indices: `{name}(…)`")));
        }
        self.may_use_recurrence(&name, span)?;
        if self.parallel.is_none() {
            return self.whole_outside_of_statement(&name, span);
        }
        let table = self.instance(id, &[], span)?;
        self.whole_table(id, table, span)
    }

    fn whole_table(&mut self, id: usize, table: VarId, span: Span) -> Option<Val> {
        if self.parallel.is_none() {
            let name = self.globals.recurrences[id].name.clone();
            return self.whole_outside_of_statement(&name, span);
        }
        let whole = self.whole(table, span);
        self.parallel_leaf(table, whole, span)
    }

    fn whole_outside_of_statement<T>(&mut self, name: &str, span: Span) -> Option<T> {
        self.error(
            Diagnostic::new(Code::MisplacedCell, span, format!("`{name}` is a table, but one value is needed here"))
                .label("which cell?")
                .help(format!(
                    "name a cell, `{name}(…)`, or assign the table to an array at host level: `T = {name};`"
                )),
        )
    }

    fn bound_in_body<T>(&mut self, name: &str, bind: &ast::Bind) -> Option<T> {
        self.error(
            Diagnostic::new(
                Code::MisplacedCell,
                bind.name.span,
                format!("the inputs of `{name}` are bound where it is used by a function"),
            )
            .label("cannot be bound here")
            .note("all cells that a body uses are those of the same inputs"),
        )
    }

    /// Reports what only recurrences have.
    pub(in super::super) fn refuse_binds(&mut self, call: &ast::Call) -> Option<()> {
        let is_recurrence = matches!(self.lookup(&call.callee.name), Some(Named::Global(Global::Recurrence(_))));
        match call.binds.first() {
            Some(bind) if !is_recurrence => self.error(
                Diagnostic::new(Code::BadArgument, bind.name.span, "only the inputs of a recurrence are bound by name")
                    .label("not possible here"),
            ),
            Some(_) | None => Some(()),
        }
    }

    /// Reports places where no recurrence can be used.
    pub(super) fn may_use_recurrence(&mut self, name: &str, span: Span) -> Option<()> {
        let place = match (self.kind, self.no_cells) {
            (BodyKind::Scalar(_), _) => "a scalar function",
            (BodyKind::Const, _) => "a constant",
            (BodyKind::Func | BodyKind::Cell(_), Some(place)) => place,
            (BodyKind::Func | BodyKind::Cell(_), None) => return Some(()),
        };
        self.error(
            Diagnostic::new(Code::MisplacedCell, span, format!("the recurrence `{name}` cannot be used in {place}"))
                .label("not possible here")
                .help("assign the value that is needed to a variable, in a function over arrays"),
        )
    }

    /// A cell as a value.
    fn cell_of(&mut self, id: usize, table: VarId, call: &ast::Call, span: Span) -> Option<Val> {
        let args = self.plain_args(call)?;
        let sig = &self.globals.recurrences[id];
        let (rank, declared) = (sig.rank, sig.span);
        if args.len() != rank {
            return self.count_args(call, rank, Some(declared));
        }
        let parallel = self.parallel.take();
        let index: Vec<Option<Expr>> = args.iter().map(|arg| self.long(arg, "an index", ConvertMode::Cast)).collect();
        self.parallel = parallel;
        let mut index: Vec<Expr> = index.into_iter().collect::<Option<_>>()?;
        if self.kind == BodyKind::Func {
            let first = self.first_of(id)?;
            index = index.into_iter().zip(first).map(|(index, first)| begin::from_first(index, first)).collect();
            index = self.of_domain(id, table, index)?;
        }
        let place = self.place(table, index, span);
        Some(self.load(place))
    }

    /// The indices of the first element of a recurrence's table.
    fn first_of(&self, id: usize) -> Option<Vec<i64>> {
        let (system, table) = self.globals.table_of(id)?;
        system.first.get(&table.array).cloned()
    }

    /// The tables of a recurrence with inputs as they are here. They are computed before the statement, outside of all maps whose
    /// iterators and variables the inputs do not use.
    pub(super) fn instance(&mut self, id: usize, binds: &[ast::Bind], span: Span) -> Option<VarId> {
        let globals = self.globals;
        let sig = &globals.recurrences[id];
        let system = &globals.systems[sig.system];
        self.calls.push((system.id, span));
        let Some(func) = &system.func else { return self.silent() };
        let member = system.members.iter().position(|member| *member == id)?;
        let values = self.bindings(&sig.name, sig.span, &system.inputs, binds, span)?;
        let text = self.text_of_bindings(&values);
        let known = self.instances.iter().find(|known| known.system == sig.system && known.bindings == text);
        if let Some(known) = known {
            return known.tables.get(member).copied();
        }
        for value in &values {
            self.refuse_pieces(value)?;
        }
        let parallel = self.parallel.take();
        let mut before = Vec::new();
        let args: Vec<Option<CallArg>> = values
            .iter()
            .zip(&system.inputs)
            .map(|(value, param)| self.func_arg(value, param, &sig.name, &mut before))
            .collect();
        self.parallel = parallel;
        let mut args: Vec<CallArg> = args.into_iter().collect::<Option<_>>()?;
        // Ends of sections are variables that are declared here, but depend on what they are assigned alone.
        for stmt in &before {
            if let StmtKind::Assign { var, value } = &stmt.kind {
                self.info_mut(*var).level = self.level_of_expr(value);
            }
        }
        let level = args.iter().map(|arg| self.level_of(arg)).max().unwrap_or(0);
        let fresh = self.vars.len();
        let (tables, meaning) = self.declare_tables(system, func, &mut args, &mut before, span)?;
        for var in self.vars.ids().skip(fresh).collect::<Vec<_>>() {
            self.info_mut(var).level = level;
        }
        args.extend(tables.iter().map(|table| CallArg::Array(*table)));
        before.push(stmt(StmtKind::Call { callee: system.id, args }, span));
        self.before[level].extend(before);
        let instance = Instance { level, system: sig.system, bindings: text, tables, meaning };
        let table = instance.tables.get(member).copied();
        self.instances.push(instance);
        table
    }

    /// What stands for each input.
    fn bindings(
        &mut self,
        name: &str,
        declared: Span,
        inputs: &[ParamSig],
        binds: &[ast::Bind],
        span: Span,
    ) -> Option<Vec<ast::Expr>> {
        for (at, bind) in binds.iter().enumerate() {
            if let Some(first) = binds[..at].iter().find(|first| first.name.name == bind.name.name) {
                return self.error(
                    Diagnostic::new(Code::UnboundInput, bind.name.span, format!("`{}` is bound twice", bind.name.name))
                        .label("bound again")
                        .also(first.name.span, "first bound here"),
                );
            }
            if !inputs.iter().any(|input| input.name == bind.name.name) {
                let headline = format!("`{name}` has no input `{}`", bind.name.name);
                let diagnostic = Diagnostic::new(Code::UnboundInput, bind.name.span, headline);
                let near = near::suggest(&bind.name.name, inputs.iter().map(|input| input.name.as_str()));
                let diagnostic = match near {
                    Some(near) => diagnostic.suggest(bind.name.span, near, "a similar input exists"),
                    None => diagnostic.also(declared, "declared here"),
                };
                return self.error(diagnostic);
            }
        }
        let mut values = Vec::new();
        for input in inputs {
            if let Some(bind) = binds.iter().find(|bind| bind.name.name == input.name) {
                values.push(bind.value.clone());
                continue;
            }
            match self.lookup(&input.name) {
                Some(Named::Scalar(_) | Named::Array(_) | Named::ElementOf(_) | Named::Global(Global::Const(_))) => {}
                Some(Named::Poisoned | Named::Global(Global::Poisoned)) => return self.silent(),
                Some(Named::Global(_)) | None => return self.unbound_input(name, input, span),
            }
            values.push(ast::Expr { kind: ast::ExprKind::Name(input.name.clone()), span });
        }
        Some(values)
    }

    fn unbound_input<T>(&mut self, name: &str, input: &ParamSig, span: Span) -> Option<T> {
        self.error(
            Diagnostic::new(Code::UnboundInput, span, format!("nothing binds the input `{}` of `{name}`", input.name))
                .label(format!("there is no `{}` here", input.name))
                .also(input.span, "an input")
                .help(format!("name what it is: `{name}(…; {} = …)`", input.name)),
        )
    }

    /// Bindings as a text that is the same only where they mean the same.
    fn text_of_bindings(&self, values: &[ast::Expr]) -> String {
        let mut text = String::new();
        for value in values {
            let mut names = Vec::new();
            super::super::maps::collect_names(value, &mut names);
            let meant: Vec<String> = names.iter().map(|(name, _)| format!("{:?}", self.lookup(name))).collect();
            let written = match &value.kind {
                ast::ExprKind::Name(name) => name,
                _ => self.text(value.span),
            };
            text += &format!("{written} {meant:?}; ");
        }
        text
    }

    /// How many maps an argument depends on.
    fn level_of(&self, arg: &CallArg) -> usize {
        let of_expr = |expr: &Expr| self.level_of_expr(expr);
        match arg {
            CallArg::Value(value) => of_expr(value),
            CallArg::Scalar(var) | CallArg::Array(var) => self.info(*var).level,
            CallArg::Element(place) => {
                place.index.iter().map(of_expr).max().unwrap_or(0).max(self.info(place.array).level)
            }
            CallArg::Section(section) => {
                let dims = section.dims.iter().map(|dim| match dim {
                    SectionDim::At(index) => of_expr(index),
                    SectionDim::Range { low, high, step } => of_expr(low).max(of_expr(high)).max(of_expr(step)),
                    SectionDim::Piece(piece) => of_expr(&piece.at).max(of_expr(&piece.length)),
                });
                dims.max().unwrap_or(0).max(self.info(section.array).level)
            }
        }
    }

    fn level_of_expr(&self, expr: &Expr) -> usize {
        let mut level = 0;
        visit::walk_expr_vars(expr, |var, _| level = level.max(self.info(var).level));
        level
    }

    /// The instance that a table is of.
    pub(super) fn instance_of(&self, table: VarId) -> Option<&Instance> {
        self.instances.iter().find(|instance| instance.tables.contains(&table))
    }

    /// Declares an array for each table. Gives what dimensions and scalar inputs are, too.
    fn declare_tables(
        &mut self,
        system: &SystemFunc,
        func: &par::Func,
        args: &mut [CallArg],
        before: &mut Vec<par::Stmt>,
        span: Span,
    ) -> Option<(Vec<VarId>, OrdMap<VarId, Expr>)> {
        let mut meaning: OrdMap<VarId, Expr> = OrdMap::new();
        for (param, arg) in func.params.iter().zip(args.iter_mut()) {
            if let CallArg::Value(value) = arg {
                *value = self.stable(value.clone(), before);
                meaning.insert(*param, value.clone());
            }
        }
        for dim in &func.dims {
            let value = self.dimension(func, *dim, args, &meaning, before, span)?;
            meaning.insert(*dim, value);
        }
        let mut tables = Vec::new();
        for param in &func.params[system.inputs.len()..] {
            let table = &func.vars[*param];
            let mut extents = Vec::new();
            for extent in &table.shape {
                let mut extent = extent.clone();
                visit::substitute_expr(&mut extent, |var| meaning.get(&var).cloned());
                let extent = Expr { span, ..shape::simplified(extent) };
                extents.push(self.stable(extent, before));
            }
            let var = self.new_var(&table.name, table.ty, extents, VarKind::Local, span);
            let info = self.info_mut(var);
            (info.read, info.written) = (true, true);
            before.push(stmt(StmtKind::Declare { var, zero: true }, span));
            tables.push(var);
        }
        Some((tables, meaning))
    }

    /// The value of a dimension, from the first extent that gives it.
    fn dimension(
        &mut self,
        func: &par::Func,
        dim: VarId,
        args: &[CallArg],
        meaning: &OrdMap<VarId, Expr>,
        before: &mut Vec<par::Stmt>,
        span: Span,
    ) -> Option<Expr> {
        let mut solved = None;
        for (param, arg) in func.params.iter().zip(args) {
            for (at, extent) in func.vars[*param].shape.iter().enumerate() {
                if matches!(extent.kind, ExprKind::Read(var) if var == dim) {
                    let value = self.extent_of(arg, at, span);
                    return Some(self.stable(value, before));
                }
                // `dim + rest`, where the rest is known.
                let rest = shape::sub(extent, &Expr::read(dim, Ty::LONG, span));
                let mut known = !shape::mentions(&rest, dim);
                visit::walk_expr_vars(&rest, |var, _| known &= meaning.contains_key(&var));
                if known && shape::mentions(extent, dim) && solved.is_none() {
                    solved = Some((arg, at, rest));
                }
            }
        }
        let Some((arg, at, mut rest)) = solved else {
            let name = func.vars[dim].name.clone();
            return self.error(
                Diagnostic::new(Code::UnboundInput, span, format!("the dimension `{name}` cannot be found here"))
                    .label("no input gives its value")
                    .also(func.vars[dim].span, "a dimension of the recurrence")
                    .help("pass an array that has it as a dimension, or that plus a known number"),
            );
        };
        visit::substitute_expr(&mut rest, |var| meaning.get(&var).cloned());
        let value = shape::sub(&self.extent_of(arg, at, span), &rest);
        Some(self.stable(value, before))
    }

    /// An extent of an argument.
    fn extent_of(&self, arg: &CallArg, at: usize, span: Span) -> Expr {
        let extent = match arg {
            CallArg::Array(var) => self.vars[*var].shape.get(at).cloned(),
            CallArg::Section(section) => {
                let ranges = section.dims.iter().filter_map(|dim| match dim {
                    // Pieces are refused.
                    SectionDim::At(_) | SectionDim::Piece(_) => None,
                    SectionDim::Range { low, high, step } => Some((low, high, step)),
                });
                ranges.clone().nth(at).map(|(low, high, step)| self.section_extent(section.array, low, high, step))
            }
            CallArg::Value(_) | CallArg::Scalar(_) | CallArg::Element(_) => None,
        };
        Expr { span, ..extent.unwrap_or_else(|| Expr::int(0, span)) }
    }

    /// How many indices a section has, never fewer than none.
    fn section_extent(&self, array: VarId, low: &Expr, high: &Expr, step: &Expr) -> Expr {
        let count = count_of(low, high, step);
        let whole = self.vars[array].shape.iter().any(|extent| shape::same(extent, &count));
        if whole || count.as_int().is_some_and(|count| count >= 0) {
            return count;
        }
        let span = count.span;
        let zero = Expr::int(0, span);
        Expr { kind: ExprKind::Math(par::MathFn::Max, vec![count, zero]), ty: Ty::LONG, span }
    }
}
