//! The reader: tables and heads here, bodies in [`super::read_body`].
//!
//! Two walks: the first reads structs, heads and variables and steps over extents and bodies, the second reads those, when
//! every name and type is known.

use std::fmt;

use super::super::{Block, Func, FuncId, Program, ScalarFn, ScalarFnId, Struct, Var, VarId, VarKind};
use super::Word;
use super::lex::{Tok, Token, lex};
use super::read_body::Body;
use hidp_syntax::index::{Arena, Id};
use hidp_syntax::source::{FileId, Span};
use hidp_syntax::ty::{Scalar, StructId, Ty};

/// Why a text is no program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for ReadError {}

pub(super) type Read<T> = Result<T, ReadError>;

/// The position of everything that is read.
pub(super) fn nowhere() -> Span {
    Span::new(FileId::new(0), 0, 0)
}

/// Reads what [`super::print`] writes. All positions are empty.
pub fn read(text: &str) -> Result<Program, ReadError> {
    let mut reader = Reader { tokens: lex(text)?, at: 0 };
    let mut program = Program::default();
    let mut bodies = Vec::new();
    let mut entries = Vec::new();
    loop {
        match reader.peek().clone() {
            Tok::End => break,
            Tok::Name(word, None, false) => match word.as_str() {
                "struct" => reader.strukt(&mut program)?,
                "fn" => bodies.push((Owner::Scalar(program.scalar_fns.len()), reader.scalar_fn(&mut program)?)),
                "func" => bodies.push((Owner::Func(program.funcs.len()), reader.func(&mut program)?)),
                "entries" => entries.extend(reader.entries()?),
                _ => return reader.error("expected `struct`, `fn`, `func` or `entries`"),
            },
            Tok::Name(..) | Tok::Int(_) | Tok::Float(_) | Tok::Sign(_) => {
                return reader.error("expected `struct`, `fn`, `func` or `entries`");
            }
        }
    }
    for (owner, pending) in bodies {
        let mut vars = pending.vars.clone();
        let mut body = Body::new(&mut reader, &program, &pending.vars);
        for (var, tokens) in &pending.shapes {
            vars[*var].shape = body.extents(*tokens)?;
        }
        let (block, recur) = body.function_body(pending.body)?;
        match owner {
            Owner::Scalar(id) => {
                let function = &mut program.scalar_fns[ScalarFnId::new(id)];
                function.vars = vars;
                function.body = function.body.is_some().then_some(block);
            }
            Owner::Func(id) => {
                let function = &mut program.funcs[FuncId::new(id)];
                function.vars = vars;
                function.body = block;
                function.recur = recur;
            }
        }
    }
    for name in entries {
        let funcs = program.funcs.iter().map(|(_, func)| func.name.as_str());
        let index = reader.resolve(&name, funcs, "function")?;
        program.entries.push(FuncId::new(index));
    }
    Ok(program)
}

enum Owner {
    Scalar(usize),
    Func(usize),
}

/// What the first walk leaves of a function.
struct Pending {
    vars: Arena<VarId, Var>,
    /// First tokens of the extents, past the bracket.
    shapes: Vec<(VarId, usize)>,
    /// First token of the body.
    body: usize,
}

/// A name with its number.
#[derive(Clone, Debug)]
pub(super) struct Name {
    pub(super) text: String,
    pub(super) number: Option<usize>,
    pub(super) line: usize,
}

/// A cursor over tokens.
pub(super) struct Reader {
    tokens: Vec<Token>,
    pub(super) at: usize,
}

impl Reader {
    pub(super) fn peek(&self) -> &Tok {
        &self.tokens[self.at.min(self.tokens.len() - 1)].tok
    }

    pub(super) fn line(&self) -> usize {
        self.tokens[self.at.min(self.tokens.len() - 1)].line
    }

    pub(super) fn error<T>(&self, what: impl Into<String>) -> Read<T> {
        Err(ReadError { line: self.line(), what: what.into() })
    }

    pub(super) fn next(&mut self) -> Tok {
        let tok = self.peek().clone();
        self.at += 1;
        tok
    }

    /// Takes a sign if it stands here.
    pub(super) fn sign(&mut self, sign: &str) -> bool {
        let here = matches!(self.peek(), Tok::Sign(found) if *found == sign);
        self.at += usize::from(here);
        here
    }

    pub(super) fn expect(&mut self, sign: &str) -> Read<()> {
        if self.sign(sign) { Ok(()) } else { self.error(format!("expected `{sign}`, found {}", self.found())) }
    }

    /// Takes a word of the form if it stands here.
    pub(super) fn word(&mut self, word: &str) -> bool {
        let here = matches!(self.peek(), Tok::Name(found, None, false) if found == word);
        self.at += usize::from(here);
        here
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Read<()> {
        if self.word(word) { Ok(()) } else { self.error(format!("expected `{word}`, found {}", self.found())) }
    }

    pub(super) fn found(&self) -> String {
        match self.peek() {
            Tok::Name(name, None, _) => format!("`{name}`"),
            Tok::Name(name, Some(number), _) => format!("`{name}%{number}`"),
            Tok::Int(value) => format!("`{value}`"),
            Tok::Float(value) => format!("`{value}`"),
            Tok::Sign(sign) => format!("`{sign}`"),
            Tok::End => "the end".into(),
        }
    }

    pub(super) fn name(&mut self) -> Read<Name> {
        let line = self.line();
        match self.peek().clone() {
            Tok::Name(text, number, _) => {
                self.at += 1;
                Ok(Name { text, number, line })
            }
            Tok::Int(_) | Tok::Float(_) | Tok::Sign(_) | Tok::End => {
                self.error(format!("expected a name, found {}", self.found()))
            }
        }
    }

    pub(super) fn string(&mut self) -> Read<String> {
        match self.peek().clone() {
            Tok::Name(text, None, true) => {
                self.at += 1;
                Ok(text)
            }
            Tok::Name(..) | Tok::Int(_) | Tok::Float(_) | Tok::Sign(_) | Tok::End => {
                self.error(format!("expected a string, found {}", self.found()))
            }
        }
    }

    pub(super) fn number(&mut self) -> Read<u32> {
        match self.peek() {
            Tok::Int(value) => match u32::try_from(*value) {
                Ok(value) => {
                    self.at += 1;
                    Ok(value)
                }
                Err(_) => self.error("expected a small number"),
            },
            Tok::Name(..) | Tok::Float(_) | Tok::Sign(_) | Tok::End => {
                self.error(format!("expected a number, found {}", self.found()))
            }
        }
    }

    /// `item, item` up to the closing sign, which is taken.
    pub(super) fn list<T>(&mut self, close: &str, mut item: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let mut items = Vec::new();
        while !self.sign(close) {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn names(&mut self) -> Read<Vec<Name>> {
        self.expect("(")?;
        self.list(")", Self::name)
    }

    /// The position that a name means in a table.
    pub(super) fn resolve<'n>(&self, name: &Name, table: impl Iterator<Item = &'n str>, what: &str) -> Read<usize> {
        let table: Vec<&str> = table.collect();
        let error = |why: &str| Err(ReadError { line: name.line, what: format!("{what} `{}` {why}", name.text) });
        if let Some(number) = name.number {
            return if number < table.len() { Ok(number) } else { error("has a number too high") };
        }
        let mut found = table.iter().enumerate().filter(|(_, known)| **known == name.text).map(|(at, _)| at);
        match (found.next(), found.next()) {
            (Some(at), None) => Ok(at),
            (None, _) => error("is unknown"),
            (Some(_), Some(_)) => error("needs its number"),
        }
    }

    pub(super) fn ty(&mut self, structs: &Arena<StructId, Struct>) -> Read<Ty> {
        let name = self.name()?;
        match (name.number, Scalar::from_name(&name.text)) {
            (None, Some(scalar)) => Ok(Ty::Scalar(scalar)),
            (Some(_), _) | (None, None) => {
                let index = self.resolve(&name, structs.iter().map(|(_, item)| item.name.as_str()), "type")?;
                Ok(Ty::Struct(StructId::new(index)))
            }
        }
    }

    fn doc(&mut self) -> Read<Vec<String>> {
        let mut lines = Vec::new();
        while self.word("doc") {
            lines.push(self.string()?);
        }
        Ok(lines)
    }

    fn strukt(&mut self, program: &mut Program) -> Read<()> {
        self.expect_word("struct")?;
        let name = self.name()?.text;
        let native = self.word("native");
        let doc = self.doc()?;
        self.expect("{")?;
        let fields = self.list("}", |reader| {
            let field = reader.name()?.text;
            reader.expect(":")?;
            Ok((field, reader.ty(&program.structs)?))
        })?;
        program.structs.push(Struct { name, fields, native, doc, span: nowhere() });
        Ok(())
    }

    fn scalar_fn(&mut self, program: &mut Program) -> Read<Pending> {
        self.expect_word("fn")?;
        let name = self.name()?.text;
        let params = self.names()?;
        self.expect("->")?;
        let result = self.ty(&program.structs)?;
        let contract = self.word("contract");
        let body = (!self.word("native")).then(Block::default);
        let pending = self.pending(program)?;
        let params = self.vars(&params, &pending.vars)?;
        let (vars, span) = (pending.vars.clone(), nowhere());
        program.scalar_fns.push(ScalarFn { name, params, result, vars, body, contract, span });
        Ok(pending)
    }

    fn func(&mut self, program: &mut Program) -> Read<Pending> {
        self.expect_word("func")?;
        let name = self.name()?.text;
        let params = self.names()?;
        self.expect_word("dims")?;
        let dims = self.names()?;
        let contract = self.word("contract");
        let unchecked = self.word("unchecked");
        let doc = self.doc()?;
        let pending = self.pending(program)?;
        let (params, dims) = (self.vars(&params, &pending.vars)?, self.vars(&dims, &pending.vars)?);
        let (vars, body, span) = (pending.vars.clone(), Block::default(), nowhere());
        program.funcs.push(Func { name, doc, params, dims, vars, body, recur: None, contract, unchecked, span });
        Ok(pending)
    }

    fn entries(&mut self) -> Read<Vec<Name>> {
        self.expect_word("entries")?;
        self.names()
    }

    fn vars(&self, names: &[Name], vars: &Arena<VarId, Var>) -> Read<Vec<VarId>> {
        names.iter().map(|name| self.var_in(name, vars)).collect()
    }

    pub(super) fn var_in(&self, name: &Name, vars: &Arena<VarId, Var>) -> Read<VarId> {
        Ok(VarId::new(self.resolve(name, vars.iter().map(|(_, var)| var.name.as_str()), "variable")?))
    }

    /// `{ vars { … } …body… }`
    fn pending(&mut self, program: &Program) -> Read<Pending> {
        self.expect("{")?;
        self.expect_word("vars")?;
        self.expect("{")?;
        let mut vars = Arena::new();
        let mut shapes = Vec::new();
        while !self.sign("}") {
            let name = self.name()?;
            if name.number.is_some_and(|number| number != vars.len()) {
                return self.error(format!("`{}` is variable number {}", name.text, vars.len()));
            }
            self.expect(":")?;
            let ty = self.ty(&program.structs)?;
            let first = self.at + 1;
            let has_shape = self.sign("[");
            if has_shape {
                self.skip("[", "]")?;
            }
            let word = self.name()?.text;
            let Some(kind) = VarKind::from_word(&word) else {
                return self.error(format!("`{word}` is no kind of variable"));
            };
            self.expect(";")?;
            let var = vars.push(Var { name: name.text, ty, shape: Vec::new(), kind, span: nowhere() });
            if has_shape {
                shapes.push((var, first));
            }
        }
        let body = self.at;
        self.skip("{", "}")?;
        Ok(Pending { vars, shapes, body })
    }

    /// Steps over everything up to the sign that closes what is open.
    fn skip(&mut self, open: &str, close: &str) -> Read<()> {
        let mut depth = 1;
        while depth > 0 {
            match self.next() {
                Tok::Sign(sign) if sign == open => depth += 1,
                Tok::Sign(sign) if sign == close => depth -= 1,
                Tok::End => return self.error(format!("expected `{close}`, found the end")),
                Tok::Name(..) | Tok::Int(_) | Tok::Float(_) | Tok::Sign(_) => {}
            }
        }
        Ok(())
    }
}
