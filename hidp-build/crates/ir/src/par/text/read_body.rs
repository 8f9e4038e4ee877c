//! Reads extents and statements.

use super::super::{
    Access, ArrayRef, Block, CallArg, Directives, Expr, Extent, FaultKind, Fold, FoldFn, FoldKind, FoldOp, FuncId,
    Iter, Loop, Map, Nest, Order, Piece, Pin, PinArg, PinDim, PinValue, PrimCall, PrimValue, Program, Recur,
    ScalarFnId, Section, SectionDim, Steps, Stmt, StmtKind, System, Table, Target, Var, VarId,
};
use super::lex::Tok;
use super::read::{Name, Read, Reader, nowhere};
use super::{OPERATORS, Word};
use hidp_syntax::ast::{Level, PieceWay, PinTarget, PinWord};
use hidp_syntax::index::{Arena, Id};
use hidp_syntax::prim::{Form, Prim};

/// Expressions and blocks nest at most this deep, so that no text exhausts the stack.
const MAX_DEPTH: usize = 200;

/// Reads the inside of one function.
pub(super) struct Body<'a> {
    pub(super) reader: &'a mut Reader,
    pub(super) program: &'a Program,
    pub(super) vars: &'a Arena<VarId, Var>,
    depth: usize,
}

impl<'a> Body<'a> {
    pub(super) fn new(reader: &'a mut Reader, program: &'a Program, vars: &'a Arena<VarId, Var>) -> Self {
        Body { reader, program, vars, depth: 0 }
    }

    /// The extents whose first token is `first`.
    pub(super) fn extents(&mut self, first: usize) -> Read<Vec<Expr>> {
        self.reader.at = first;
        self.exprs("]")
    }

    /// The statements from token `first` to the closing brace.
    pub(super) fn function_body(&mut self, first: usize) -> Read<(Block, Option<Box<Recur>>)> {
        self.reader.at = first;
        let mut systems = Vec::new();
        while self.reader.word("system") {
            systems.push(self.system()?);
        }
        let recur = if systems.is_empty() { None } else { Some(Box::new(Recur { systems })) };
        Ok((self.stmts()?, recur))
    }

    fn system(&mut self) -> Read<System> {
        let nest = if self.reader.word("nest") {
            let flips = self.row()?;
            self.reader.expect_word("ranks")?;
            self.reader.expect("(")?;
            Some(Nest { flips, ranks: self.reader.list(")", Reader::number)? })
        } else {
            None
        };
        let pinned = self.reader.word("pinned").then(nowhere);
        self.reader.expect("{")?;
        let (mut tables, mut order) = (Vec::new(), Order { steps: Vec::new(), nest, pinned });
        while !self.reader.sign("}") {
            self.reader.expect_word("table")?;
            let array = self.var()?;
            let index = self.iters()?;
            self.reader.expect_word("rows")?;
            self.reader.expect("(")?;
            let mut rows = Vec::new();
            while !self.reader.sign(")") {
                if !rows.is_empty() {
                    self.reader.expect(",")?;
                }
                rows.push(self.row()?);
            }
            self.reader.expect_word("rank")?;
            let rank = self.reader.number()?;
            let window = if self.reader.word("window") { Some(self.reader.number()?) } else { None };
            order.steps.push(Steps { rows, rank, window });
            tables.push(Table { array, index, body: self.block()?, span: nowhere() });
        }
        Ok(System { tables, order })
    }

    /// `(1, -1)`
    fn row(&mut self) -> Read<Vec<i64>> {
        self.reader.expect("(")?;
        self.reader.list(")", signed)
    }

    /// `(i = low .. high by step, …)`
    fn iters(&mut self) -> Read<Vec<Iter>> {
        self.reader.expect("(")?;
        let mut iters = Vec::new();
        while !self.reader.sign(")") {
            if !iters.is_empty() {
                self.reader.expect(",")?;
            }
            let var = self.var()?;
            self.reader.expect("=")?;
            let (lo, hi, step) = self.range()?;
            iters.push(Iter { var, lo, hi, step, span: nowhere() });
        }
        Ok(iters)
    }

    pub(super) fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth == MAX_DEPTH {
            return self.reader.error("is nested too deeply");
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn block(&mut self) -> Read<Block> {
        self.reader.expect("{")?;
        self.deeper(Self::stmts)
    }

    fn stmts(&mut self) -> Read<Block> {
        let mut stmts = Vec::new();
        while !self.reader.sign("}") {
            stmts.push(Stmt { kind: self.stmt()?, span: nowhere() });
        }
        Ok(Block { stmts })
    }

    pub(super) fn var(&mut self) -> Read<VarId> {
        let name = self.reader.name()?;
        self.reader.var_in(&name, self.vars)
    }

    fn stmt(&mut self) -> Read<StmtKind> {
        let word = match self.reader.peek() {
            Tok::Name(word, None, false) => word.clone(),
            Tok::Name(..) | Tok::Int(_) | Tok::Float(_) | Tok::Sign(_) | Tok::End => String::new(),
        };
        let read: fn(&mut Self) -> Read<StmtKind> = match word.as_str() {
            "if" => Self::branch,
            "loop" => Self::loop_stmt,
            "scope" => |body| Ok(StmtKind::Scope(body.block()?)),
            "map" => Self::map,
            _ => {
                let kind = self.simple(&word)?;
                self.reader.expect(";")?;
                return Ok(kind);
            }
        };
        self.reader.at += 1;
        read(self)
    }

    /// A statement that ends with a semicolon.
    fn simple(&mut self, word: &str) -> Read<StmtKind> {
        let read: fn(&mut Self) -> Read<StmtKind> = match word {
            "declare" => |body| Ok(StmtKind::Declare { var: body.var()?, zero: body.reader.word("zero") }),
            "atomic" => Self::atomic,
            "break" => |_| Ok(StmtKind::Break),
            "continue" => |_| Ok(StmtKind::Continue),
            "leave" => |_| Ok(StmtKind::Leave),
            "return" => |body| Ok(StmtKind::Return(body.expr()?)),
            "prim" => Self::prim,
            "swap" => |body| {
                let left = body.var()?;
                body.reader.expect(",")?;
                Ok(StmtKind::Swap(left, body.var()?))
            },
            "call" => Self::call,
            "require" => Self::require,
            _ => return self.assignment(),
        };
        self.reader.at += 1;
        read(self)
    }

    fn assignment(&mut self) -> Read<StmtKind> {
        let var = self.var()?;
        if matches!(self.reader.peek(), Tok::Sign("[" | "~")) {
            let place = self.place_of(var)?;
            self.reader.expect("=")?;
            return Ok(StmtKind::Store { place, value: self.expr()? });
        }
        let path = self.path()?;
        self.reader.expect("=")?;
        let value = self.expr()?;
        Ok(if path.is_empty() { StmtKind::Assign { var, value } } else { StmtKind::AssignField { var, path, value } })
    }

    fn atomic(&mut self) -> Read<StmtKind> {
        let place = self.place()?;
        let op = self.op()?;
        self.reader.expect("=")?;
        Ok(StmtKind::Atomic { place, op, value: self.expr()? })
    }

    fn branch(&mut self) -> Read<StmtKind> {
        let cond = self.expr()?;
        let then = self.block()?;
        let otherwise = if self.reader.word("else") { self.block()? } else { Block::default() };
        Ok(StmtKind::If { cond, then, otherwise })
    }

    fn loop_stmt(&mut self) -> Read<StmtKind> {
        let cond = self.expr()?;
        let body = self.block()?;
        self.reader.expect_word("step")?;
        let step = self.block()?;
        Ok(StmtKind::Loop(Loop { cond, body, step }))
    }

    fn require(&mut self) -> Read<StmtKind> {
        let cond = self.expr()?;
        self.reader.expect_word("fault")?;
        let word = self.reader.name()?.text;
        let Some(fault) = FaultKind::from_word(&word) else {
            return self.reader.error(format!("`{word}` is no kind of fault"));
        };
        self.reader.expect("(")?;
        let mut values = Vec::new();
        while !self.reader.sign(")") {
            if !values.is_empty() {
                self.reader.expect(",")?;
            }
            values.push((self.reader.string()?, self.expr()?));
        }
        Ok(StmtKind::Require { cond, fault, values })
    }

    fn map(&mut self) -> Read<StmtKind> {
        let iters = self.iters()?;
        let directives = self.directives()?;
        let body = self.block()?;
        let mut folds = Vec::new();
        while self.reader.word("fold") {
            folds.push(self.fold()?);
            self.reader.expect(";")?;
        }
        Ok(StmtKind::Map(Map { iters, body, folds, directives }))
    }

    /// `low .. high by step`
    fn range(&mut self) -> Read<(Expr, Expr, Expr)> {
        let low = self.expr()?;
        self.reader.expect("..")?;
        let high = self.expr()?;
        self.reader.expect_word("by")?;
        Ok((low, high, self.expr()?))
    }

    fn directives(&mut self) -> Read<Directives> {
        let mut directives = Directives::default();
        if self.reader.word("levels") {
            self.reader.expect("(")?;
            directives.levels = self.reader.list(")", |reader| {
                let word = reader.name()?.text;
                match Level::from_word(&word) {
                    Some(level) => Ok(level),
                    None => reader.error(format!("`{word}` is no level")),
                }
            })?;
        }
        directives.ordered = self.reader.word("ordered");
        directives.unordered = self.reader.word("unordered");
        directives.block = self.counted("block")?;
        directives.unroll = self.counted("unroll")?;
        while self.reader.word("pin") {
            directives.pins.push(self.pin()?);
        }
        Ok(directives)
    }

    /// `"cuda" "on" ([i] "grid.y" "thread.y" = 16, [j] "grid.x" : "cyclic")`, `"cuda" "shared" ([u]{[i] -1 : 2}{*} "pad" = 1)`
    fn pin(&mut self) -> Read<Pin> {
        let (target, word) = (self.reader.string()?, self.reader.string()?);
        let Some(word) = PinWord::called(&word) else {
            return self.reader.error(format!("`{word}` pins nothing"));
        };
        let target = PinTarget::ALL.into_iter().find(|known| known.name() == target);
        self.reader.expect("(")?;
        let vars = self.vars;
        let args = self.reader.list(")", |reader| {
            let named = vars_of(reader, vars)?;
            let mut section = Vec::new();
            while reader.sign("{") {
                section.push(pin_dim(reader, vars)?);
            }
            let mut values = Vec::new();
            while matches!(reader.peek(), Tok::Name(_, _, true)) {
                let word = reader.string()?;
                let size = if reader.sign("=") { Some(reader.number()?) } else { None };
                let how = if reader.sign(":") { Some(reader.string()?) } else { None };
                values.push(PinValue { word, size, how });
            }
            Ok(PinArg { vars: named, section, values, span: nowhere() })
        })?;
        Ok(Pin { target, word, args, span: nowhere() })
    }

    /// `word(3)`
    fn counted(&mut self, word: &str) -> Read<Option<u32>> {
        if !self.reader.word(word) {
            return Ok(None);
        }
        self.reader.expect("(")?;
        let count = self.reader.number()?;
        self.reader.expect(")")?;
        Ok(Some(count))
    }

    fn fold(&mut self) -> Read<Fold> {
        let word = self.reader.name()?.text;
        let Some(kind) = FoldKind::from_word(&word) else {
            return self.reader.error(format!("`{word}` is no fold"));
        };
        let op = self.op()?;
        self.reader.expect_word("value")?;
        let value = self.var()?;
        self.reader.expect_word("over")?;
        self.reader.expect("(")?;
        let vars = self.vars;
        let over = self.reader.list(")", |reader| {
            let name = reader.name()?;
            reader.var_in(&name, vars)
        })?;
        self.reader.expect_word("into")?;
        Ok(Fold { kind, op, target: self.target()?, value, over, span: nowhere() })
    }

    fn op(&mut self) -> Read<FoldOp> {
        let built_in = match self.reader.peek() {
            Tok::Name(word, None, true) => OPERATORS.iter().find(|(_, known)| known == word).map(|(func, _)| *func),
            Tok::Name(..) | Tok::Int(_) | Tok::Float(_) | Tok::Sign(_) | Tok::End => None,
        };
        let func = match built_in {
            Some(func) => {
                self.reader.at += 1;
                func
            }
            None => {
                let name = self.reader.name()?;
                FoldFn::Fn(self.scalar_fn(&name)?)
            }
        };
        let ty = self.reader.ty(&self.program.structs)?;
        let neutral = if self.reader.word("neutral") { Some(Box::new(self.expr()?)) } else { None };
        Ok(FoldOp { func, ty, neutral, ordered: self.reader.word("ordered") })
    }

    pub(super) fn scalar_fn(&self, name: &Name) -> Read<ScalarFnId> {
        let table = self.program.scalar_fns.iter().map(|(_, item)| item.name.as_str());
        Ok(ScalarFnId::new(self.reader.resolve(name, table, "scalar function")?))
    }

    fn target(&mut self) -> Read<Target> {
        let var = self.var()?;
        Ok(match self.reader.peek() {
            Tok::Sign("[" | "~") => Target::Element(self.place_of(var)?),
            Tok::Name(..) | Tok::Int(_) | Tok::Float(_) | Tok::Sign(_) | Tok::End => Target::Scalar(var),
        })
    }

    fn prim(&mut self) -> Read<StmtKind> {
        let word = self.reader.name()?.text;
        let Some(prim) = Prim::from_word(&word) else {
            return self.reader.error(format!("`{word}` is no primitive"));
        };
        let access = if self.reader.sign("~") { Access::Shared } else { Access::Exclusive };
        let (form, extent) = self.extent()?;
        self.reader.expect_word("in")?;
        let input = self.array()?;
        let output = if self.reader.word("out") { Some(self.array()?) } else { None };
        let op = if self.reader.word("op") { Some(self.op()?) } else { None };
        let predicate = if self.reader.word("predicate") {
            let name = self.reader.name()?;
            Some(self.scalar_fn(&name)?)
        } else {
            None
        };
        let pivot = if self.reader.word("pivot") {
            Some(PrimValue::Scalar(self.expr()?))
        } else if self.reader.word("pivots") {
            Some(PrimValue::Array(self.array()?))
        } else {
            None
        };
        let dir = if self.reader.word("dir") { Some(self.expr()?) } else { None };
        let values = if self.reader.word("values") {
            let values_in = self.array()?;
            Some((values_in, if self.reader.word("into") { Some(self.array()?) } else { None }))
        } else {
            None
        };
        let result = if self.reader.word("result") { Some(self.target()?) } else { None };
        let new_bounds = if self.reader.word("bounds") {
            self.reader.expect("(")?;
            let low = self.var()?;
            self.reader.expect(",")?;
            let high = self.var()?;
            self.reader.expect(")")?;
            Some((low, high))
        } else {
            None
        };
        let directives = self.directives()?;
        Ok(StmtKind::Prim(Box::new(PrimCall {
            prim,
            form,
            extent,
            op,
            predicate,
            pivot,
            dir,
            input,
            output,
            values,
            result,
            new_bounds,
            access,
            directives,
            span: nowhere(),
        })))
    }

    fn extent(&mut self) -> Read<(Form, Extent)> {
        let word = self.reader.name()?.text;
        self.reader.expect("(")?;
        let (form, extent) = match word.as_str() {
            "whole" => (Form::Whole, Extent::Whole { size: self.expr()? }),
            "segment" => {
                let low = self.expr()?;
                self.reader.expect(",")?;
                (Form::Segments, Extent::Segment { low, high: self.expr()? })
            }
            "vectors" => {
                let low = self.array()?;
                self.reader.expect(",")?;
                (Form::Segments, Extent::Vectors { low, high: self.array()? })
            }
            "regular" => {
                let seg_size = self.expr()?;
                self.reader.expect(",")?;
                (Form::Regular, Extent::Regular { seg_size, num_seg: self.expr()? })
            }
            _ => return self.reader.error(format!("`{word}` is no extent of a primitive")),
        };
        self.reader.expect(")")?;
        Ok((form, extent))
    }

    /// `A{prefix…; offset, len}`
    fn array(&mut self) -> Read<ArrayRef> {
        let array = self.var()?;
        self.reader.expect("{")?;
        let prefix = self.exprs(";")?;
        let offset = self.expr()?;
        self.reader.expect(",")?;
        let len = self.expr()?;
        self.reader.expect("}")?;
        Ok(ArrayRef { array, prefix, offset, len, span: nowhere() })
    }

    fn call(&mut self) -> Read<StmtKind> {
        let name = self.reader.name()?;
        let table = self.program.funcs.iter().map(|(_, item)| item.name.as_str());
        let callee = FuncId::new(self.reader.resolve(&name, table, "function")?);
        self.reader.expect("(")?;
        let mut args = Vec::new();
        while !self.reader.sign(")") {
            if !args.is_empty() {
                self.reader.expect(",")?;
            }
            args.push(self.call_arg()?);
        }
        Ok(StmtKind::Call { callee, args })
    }

    fn call_arg(&mut self) -> Read<CallArg> {
        let word = self.reader.name()?.text;
        Ok(match word.as_str() {
            "value" => CallArg::Value(self.expr()?),
            "scalar" => CallArg::Scalar(self.var()?),
            "element" => CallArg::Element(self.place()?),
            "array" => CallArg::Array(self.var()?),
            "section" => CallArg::Section(self.section()?),
            _ => return self.reader.error(format!("`{word}` is no kind of argument")),
        })
    }

    fn section(&mut self) -> Read<Section> {
        let array = self.var()?;
        self.reader.expect("{")?;
        let mut dims = Vec::new();
        while !self.reader.sign("}") {
            if !dims.is_empty() {
                self.reader.expect(",")?;
            }
            dims.push(if self.reader.word("at") {
                SectionDim::At(self.expr()?)
            } else if let Some(way) = PieceWay::ALL.into_iter().find(|way| self.reader.word(way.name())) {
                let at = self.expr()?;
                let by = self.reader.word("by");
                if !by {
                    self.reader.expect_word("of")?;
                }
                SectionDim::Piece(Piece { way, at, by, length: self.expr()? })
            } else {
                self.reader.expect_word("range")?;
                let (low, high, step) = self.range()?;
                SectionDim::Range { low, high, step }
            });
        }
        Ok(Section { array, dims, span: nowhere() })
    }
}

fn signed(reader: &mut Reader) -> Read<i64> {
    let sign = if reader.sign("-") { -1 } else { 1 };
    match reader.next() {
        Tok::Int(value) => i64::try_from(value).map(|value| sign * value).or_else(|_| reader.error("too large")),
        Tok::Name(..) | Tok::Float(_) | Tok::Sign(_) | Tok::End => reader.error("expected a number"),
    }
}

/// `[i, j]`
fn vars_of(reader: &mut Reader, vars: &Arena<VarId, Var>) -> Read<Vec<VarId>> {
    reader.expect("[")?;
    reader.list("]", |reader| {
        let name = reader.name()?;
        reader.var_in(&name, vars)
    })
}

/// `*}`, or `[i] -1 : 2}`
fn pin_dim(reader: &mut Reader, vars: &Arena<VarId, Var>) -> Read<PinDim> {
    let dim = if reader.sign("*") {
        PinDim::All
    } else {
        let iters = vars_of(reader, vars)?;
        let low = signed(reader)?;
        reader.expect(":")?;
        PinDim::Range { iters, low, high: signed(reader)? }
    };
    reader.expect("}")?;
    Ok(dim)
}
