//! Blocks and statements.

use super::operators::assignment;
use super::{Keyword, Parsed, Parser, Punct, TokenKind};
use crate::ast::{Assign, Block, Call, Declarator, Declare, Directive, Expr, ExprKind, Ident, Stmt, StmtKind};
use crate::source::Span;
use crate::ty::Scalar;

impl Parser<'_> {
    /// `{ statements }`
    pub(super) fn block(&mut self) -> Block {
        let open = self.open_brace();
        self.block_after_open(open)
    }

    /// Eats an opening brace and remembers it.
    pub(super) fn open_brace(&mut self) -> Span {
        let open = self.bump();
        self.open_braces.push(open);
        open
    }

    /// Statements up to and with the closing brace of a block that was opened at `open`.
    pub(super) fn block_after_open(&mut self, open: Span) -> Block {
        let mut stmts = Vec::new();
        loop {
            if let Some(close) = self.eat(Punct::CloseBrace) {
                self.note_indentation(open, close);
                break;
            }
            if self.at_end_of_items_body() {
                self.unclosed_block();
                break;
            }
            match self.stmt() {
                Ok(stmt) => stmts.push(stmt),
                Err(failed) => self.recover_in_block(failed),
            }
        }
        self.open_braces.pop();
        Block { stmts, span: self.since(open) }
    }

    /// A statement with its directives.
    fn stmt(&mut self) -> Parsed<Stmt> {
        self.deeper(|parser| {
            let start = parser.span();
            let directives = parser.directives();
            if !directives.is_empty() && (parser.at_punct(Punct::CloseBrace) || parser.at_end_of_items_body()) {
                return Err(parser.misplaced_directives(&directives));
            }
            let kind = parser.stmt_kind(&directives)?;
            Ok(Stmt { directives, kind, span: parser.since(start) })
        })
    }

    fn stmt_kind(&mut self, directives: &[Directive]) -> Parsed<StmtKind> {
        match *self.kind() {
            TokenKind::Keyword(keyword) => self.keyword_stmt(keyword, directives),
            TokenKind::Punct(Punct::OpenBrace) => Ok(StmtKind::Block(self.block())),
            TokenKind::Punct(Punct::Semicolon) => Err(self.empty_statement()),
            TokenKind::Name => self.named_stmt(),
            _ => self.assignment_stmt(),
        }
    }

    fn keyword_stmt(&mut self, keyword: Keyword, directives: &[Directive]) -> Parsed<StmtKind> {
        match keyword {
            Keyword::Map => self.map().map(StmtKind::Map),
            Keyword::If => self.if_stmt(),
            Keyword::For => self.for_stmt(),
            Keyword::While => self.while_stmt(),
            Keyword::Break => self.word_stmt(StmtKind::Break),
            Keyword::Continue => self.word_stmt(StmtKind::Continue),
            Keyword::Return => self.return_stmt(),
            Keyword::Atomic => self.atomic_stmt(),
            Keyword::Swap => self.swap_stmt(),
            Keyword::Else => Err(self.else_without_if()),
            Keyword::Const => Err(self.local_const()),
            Keyword::Input | Keyword::Output | Keyword::Inout => Err(self.late_parameters()),
            Keyword::Function
            | Keyword::Recurrence
            | Keyword::Static
            | Keyword::Extern
            | Keyword::Struct
            | Keyword::Import => Err(self.misplaced_directives(directives)),
            Keyword::True | Keyword::False | Keyword::Infinity | Keyword::Nan | Keyword::MinOf | Keyword::MaxOf => {
                self.assignment_stmt()
            }
        }
    }

    /// A statement that begins with a name: declaration, call or assignment.
    fn named_stmt(&mut self) -> Parsed<StmtKind> {
        let text = self.current_text();
        let is_type = Scalar::from_name(text).is_some();
        if let Some(failed) = self.foreign_statement(text) {
            return Err(failed);
        }
        if self.punct_at(1, Punct::Bind) {
            return Err(self.misplaced_iterator());
        }
        let declares = self.name_at(1) || Self::is_foreign_type_word(text);
        if declares || (is_type && !self.punct_at(1, Punct::OpenParen)) {
            let declare = self.declare()?;
            self.expect_semicolon("a declaration")?;
            return Ok(StmtKind::Declare(declare));
        }
        if self.punct_at(1, Punct::OpenParen) && !is_type {
            return self.call_stmt();
        }
        self.assignment_stmt()
    }

    fn call_stmt(&mut self) -> Parsed<StmtKind> {
        if self.at_suffix() {
            if !self.at_fold_of_cells() {
                return Err(self.misplaced_suffix());
            }
            let call = self.suffix_call()?;
            self.expect_semicolon("a fold over cells")?;
            return Ok(StmtKind::Call(Box::new(call)));
        }
        let call: Call = self.call()?;
        if let TokenKind::Punct(punct) = *self.kind() {
            if assignment(punct).is_some() {
                return Err(self.assigned_call(call.callee.span));
            }
            if super::operators::infix(punct).is_some() {
                return Err(self.computing_statement(call.callee.span));
            }
        }
        self.expect_semicolon("a call")?;
        Ok(StmtKind::Call(Box::new(call)))
    }

    /// `float a[N], b = 1` without the semicolon
    fn declare(&mut self) -> Parsed<Declare> {
        let ty = self.type_name()?;
        let mut declarators = vec![self.declarator()?];
        while self.eat(Punct::Comma).is_some() {
            self.refuse_second_type()?;
            declarators.push(self.declarator()?);
        }
        Ok(Declare { ty, declarators })
    }

    fn declarator(&mut self) -> Parsed<Declarator> {
        let name = self.declared_name("a variable")?;
        let dims = self.dims()?;
        let init = match self.eat(Punct::Assign) {
            None => None,
            Some(equals) if dims.is_empty() => {
                let value = self.expr()?;
                self.refuse_chained_assignment(equals)?;
                Some(value)
            }
            Some(equals) if self.at_punct(Punct::OpenBrace) || self.at_punct(Punct::OpenBracket) => {
                return Err(self.listed_array(&name, equals));
            }
            Some(equals) => {
                self.expr()?;
                self.initialised_array(&name, equals);
                None
            }
        };
        Ok(Declarator { name, dims, init })
    }

    /// `[M][N]`, or nothing
    pub(super) fn dims(&mut self) -> Parsed<Vec<Expr>> {
        let mut dims = Vec::new();
        while let Some(open) = self.eat(Punct::OpenBracket) {
            if self.at_punct(Punct::CloseBracket) {
                return Err(self.dimension_without_size(open));
            }
            dims.push(self.expr()?);
            if self.at_punct(Punct::Comma) {
                return Err(self.comma_in_subscript());
            }
            self.expect_close(Punct::CloseBracket, open)?;
        }
        Ok(dims)
    }

    fn assignment_stmt(&mut self) -> Parsed<StmtKind> {
        let assign = self.assign()?;
        if self.at_punct(Punct::Comma) {
            return Err(self.comma_between_assignments());
        }
        self.expect_semicolon("an assignment")?;
        Ok(StmtKind::Assign(assign))
    }

    /// `target op= value` without the semicolon
    fn assign(&mut self) -> Parsed<Assign> {
        let target = if matches!(self.kind(), TokenKind::Punct(Punct::Increment | Punct::Decrement)) {
            return Err(self.prefix_increment());
        } else {
            self.expr()?
        };
        let TokenKind::Punct(punct) = *self.kind() else {
            return Err(self.no_assignment(&target));
        };
        let Some(op) = assignment(punct) else {
            return Err(self.no_assignment(&target));
        };
        if !is_place(&target) {
            return Err(self.not_assignable(&target));
        }
        let equals = self.bump();
        let value = self.expr()?;
        self.refuse_chained_assignment(equals)?;
        Ok(Assign { target, op, value })
    }

    fn atomic_stmt(&mut self) -> Parsed<StmtKind> {
        self.bump();
        let assign = self.assign()?;
        self.expect_semicolon("an assignment")?;
        Ok(StmtKind::Atomic(assign))
    }

    /// `swap(a, b);`
    fn swap_stmt(&mut self) -> Parsed<StmtKind> {
        self.bump();
        let open = self.expect(Punct::OpenParen, "behind `swap`")?;
        let first = self.swapped()?;
        self.expect(Punct::Comma, "between the two arrays of `swap`")?;
        let second = self.swapped()?;
        self.expect_close(Punct::CloseParen, open)?;
        self.expect_semicolon("`swap`")?;
        Ok(StmtKind::Swap(first, second))
    }

    fn swapped(&mut self) -> Parsed<Ident> {
        let name = self.name("an array's name")?;
        if self.at_punct(Punct::OpenBracket) {
            return Err(self.swapped_section());
        }
        Ok(name)
    }

    fn word_stmt(&mut self, kind: StmtKind) -> Parsed<StmtKind> {
        let word = self.bump();
        let what = format!("`{}`", self.text_of(word));
        self.expect_semicolon(&what)?;
        Ok(kind)
    }

    fn return_stmt(&mut self) -> Parsed<StmtKind> {
        self.bump();
        let ends = self.at_punct(Punct::Semicolon) || self.at_punct(Punct::CloseBrace) || self.starts_statement_line();
        let value = if ends { None } else { Some(self.expr()?) };
        self.expect_semicolon("`return`")?;
        Ok(StmtKind::Return(value))
    }

    fn if_stmt(&mut self) -> Parsed<StmtKind> {
        let word = self.bump();
        let condition = self.condition(word)?;
        let then = self.branch()?;
        let otherwise = match self.eat_keyword(Keyword::Else) {
            None => None,
            Some(_) => Some(self.branch()?),
        };
        Ok(StmtKind::If { condition, then, otherwise })
    }

    fn while_stmt(&mut self) -> Parsed<StmtKind> {
        let word = self.bump();
        let condition = self.condition(word)?;
        let body = self.branch()?;
        Ok(StmtKind::While { condition, body })
    }

    /// `(condition)`. After an error in it, the parser goes on behind its parenthesis.
    fn condition(&mut self, word: Span) -> Parsed<Expr> {
        if !self.at_punct(Punct::OpenParen) {
            return self.bare_condition(word);
        }
        let start = self.span();
        match self.parenthesised_condition() {
            Ok(condition) => Ok(condition),
            Err(failed) => {
                self.recover_behind_parenthesis(failed, start)?;
                Ok(Expr { kind: ExprKind::Error, span: self.since(start) })
            }
        }
    }

    /// A condition that was written without parentheses.
    fn bare_condition(&mut self, word: Span) -> Parsed<Expr> {
        if self.at_punct(Punct::OpenBrace) {
            return Err(self.condition_missing(word));
        }
        let condition = self.expr()?;
        self.condition_without_parentheses(condition.span);
        Ok(condition)
    }

    fn parenthesised_condition(&mut self) -> Parsed<Expr> {
        let open = self.bump();
        let condition = self.expr()?;
        match self.kind() {
            TokenKind::Punct(Punct::Assign) => return Err(self.assignment_as_value(condition.span)),
            TokenKind::Punct(Punct::Comma) => return Err(self.comma_operator()),
            _ => {}
        }
        self.expect_close(Punct::CloseParen, open)?;
        Ok(condition)
    }

    fn for_stmt(&mut self) -> Parsed<StmtKind> {
        let word = self.bump();
        if !self.at_punct(Punct::OpenParen) {
            let rust = self.at_name() && self.is_word_at(1, "in");
            let failed = if rust { self.loop_of_rust() } else { self.condition_missing(word) };
            self.recover_before_body(failed)?;
            let body = self.branch()?;
            return Ok(StmtKind::For { init: None, condition: None, step: None, body });
        }
        let start = self.span();
        let (init, condition, step) = match self.for_header() {
            Ok(header) => header,
            Err(failed) => {
                self.recover_behind_parenthesis(failed, start)?;
                (None, None, None)
            }
        };
        let body = self.branch()?;
        Ok(StmtKind::For { init, condition, step, body })
    }

    /// `(init; condition; step)`
    #[allow(clippy::type_complexity)] // the three parts of the header, in order
    fn for_header(&mut self) -> Parsed<(Option<Box<Stmt>>, Option<Expr>, Option<Box<Stmt>>)> {
        let open = self.bump();
        let init = if self.at_punct(Punct::Semicolon) { None } else { Some(Box::new(self.for_init()?)) };
        if self.at_punct(Punct::Comma) {
            return Err(self.comma_operator());
        }
        self.expect(Punct::Semicolon, "between the parts of a `for`")?;
        let condition = if self.at_punct(Punct::Semicolon) { None } else { Some(self.expr()?) };
        self.expect(Punct::Semicolon, "between the parts of a `for`")?;
        let step = if self.at_punct(Punct::CloseParen) { None } else { Some(Box::new(self.for_step()?)) };
        if self.at_punct(Punct::Comma) {
            return Err(self.comma_operator());
        }
        self.expect_close(Punct::CloseParen, open)?;
        Ok((init, condition, step))
    }

    fn for_init(&mut self) -> Parsed<Stmt> {
        let start = self.span();
        let is_type = self.at_name() && Scalar::from_name(self.current_text()).is_some();
        let kind = if is_type || (self.at_name() && self.name_at(1)) {
            StmtKind::Declare(self.declare()?)
        } else {
            StmtKind::Assign(self.assign()?)
        };
        Ok(Stmt { directives: Vec::new(), kind, span: self.since(start) })
    }

    fn for_step(&mut self) -> Parsed<Stmt> {
        let start = self.span();
        let kind = StmtKind::Assign(self.assign()?);
        Ok(Stmt { directives: Vec::new(), kind, span: self.since(start) })
    }

    /// The body of `if`, `else`, `for`, `while`: a block, or one statement that becomes a block.
    fn branch(&mut self) -> Parsed<Block> {
        if self.at_punct(Punct::OpenBrace) {
            return self.deeper(|parser| Ok(parser.block()));
        }
        if self.at_end_of_items_body() {
            self.unclosed_at = Some(self.at);
            return Err(self.expected("a statement"));
        }
        if self.at_punct(Punct::CloseBrace) {
            return Err(self.expected("a statement"));
        }
        if self.at_punct(Punct::Semicolon) {
            self.empty_statement();
            let span = self.bump();
            return Ok(Block { stmts: Vec::new(), span });
        }
        let stmt: Stmt = self.stmt()?;
        let span = stmt.span;
        Ok(Block { stmts: vec![stmt], span })
    }
}

/// Whether it may stand left of `=`.
fn is_place(target: &Expr) -> bool {
    match &target.kind {
        ExprKind::Name(_) => true,
        ExprKind::Index { base, .. } | ExprKind::Field { base, .. } => is_place(base),
        ExprKind::Literal(_)
        | ExprKind::Unary { .. }
        | ExprKind::Binary { .. }
        | ExprKind::Select { .. }
        | ExprKind::Cast { .. }
        | ExprKind::Call(_)
        | ExprKind::Limit { .. }
        | ExprKind::Struct { .. }
        | ExprKind::Error => false,
    }
}
