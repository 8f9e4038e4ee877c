//! Files and their items.

use super::{Keyword, Parsed, Parser, Punct, TokenKind};
use crate::ast::{ConstItem, Directive, Field, File, Import, Item, StructItem};
use crate::source::Span;

impl Parser<'_> {
    /// The whole file.
    pub(super) fn file(&mut self) -> File {
        let mut items = Vec::new();
        while !self.at_eof() {
            let start = self.at;
            if let Err(failed) = self.item(&mut items) {
                self.recover_between_items(failed, start);
            }
        }
        if items.is_empty() && !self.sink.has_errors() {
            self.empty_file();
        }
        File { items }
    }

    fn item(&mut self, items: &mut Vec<Item>) -> Parsed<()> {
        let start = self.span();
        let directives = self.directives();
        self.suspect = None;
        match self.kind().clone() {
            TokenKind::Keyword(Keyword::Function) => items.push(self.function(start, directives)?),
            TokenKind::Keyword(Keyword::Static) => items.push(self.static_function(start, directives)?),
            TokenKind::Keyword(Keyword::Recurrence) => items.push(self.recurrence(start, directives)?),
            TokenKind::Keyword(Keyword::Extern) => items.push(self.extern_item(start, directives)?),
            TokenKind::Name if self.at_codelet() => items.push(self.codelet(start, directives)?),
            TokenKind::Eof => return Err(self.misplaced_directives(&directives)),
            kind => {
                if !directives.is_empty() {
                    self.misplaced_directives(&directives);
                }
                self.plain_item(kind, start, items)?;
            }
        }
        Ok(())
    }

    /// An item that takes no directives.
    fn plain_item(&mut self, kind: TokenKind, start: Span, items: &mut Vec<Item>) -> Parsed<()> {
        match kind {
            TokenKind::Keyword(Keyword::Struct) => items.push(self.struct_item(start)?),
            TokenKind::Keyword(Keyword::Const) => self.const_items(items)?,
            TokenKind::Keyword(Keyword::Import) => items.push(self.import()?),
            TokenKind::Punct(Punct::CloseBrace) => return Err(self.unmatched_brace()),
            _ => return Err(self.expected_item()),
        }
        Ok(())
    }

    fn extern_item(&mut self, start: Span, directives: Vec<Directive>) -> Parsed<Item> {
        let word = self.bump();
        match *self.kind() {
            TokenKind::Keyword(Keyword::Function) => self.extern_function(start, directives),
            TokenKind::Keyword(Keyword::Struct) => {
                if !directives.is_empty() {
                    self.misplaced_directives(&directives);
                }
                self.extern_struct(word)
            }
            _ => Err(self.expected("`function` or `struct` behind `extern`")),
        }
    }

    /// `import "ops.hdp";`
    fn import(&mut self) -> Parsed<Item> {
        let start = self.bump();
        let TokenKind::Str(path) = self.kind().clone() else {
            return Err(self.expected("the file's path in double quotes"));
        };
        let path_span = self.bump();
        self.expect_semicolon("an import")?;
        Ok(Item::Import(Import { path, path_span, span: self.since(start) }))
    }

    /// `const float PI = 3.14;`
    fn const_items(&mut self, items: &mut Vec<Item>) -> Parsed<()> {
        let start = self.bump();
        let ty = self.type_name()?;
        loop {
            let name = self.declared_name("a constant")?;
            if self.at_punct(Punct::OpenBracket) {
                return Err(self.constant_array());
            }
            self.expect(Punct::Assign, "and a value behind a constant's name")?;
            let value = self.expr()?;
            let span = self.since(start);
            items.push(Item::Const(ConstItem { ty: ty.clone(), name, value, span }));
            if self.eat(Punct::Comma).is_none() {
                break;
            }
        }
        self.expect_semicolon("a constant")
    }

    /// `struct Best { float v; int i; }`
    fn struct_item(&mut self, start: Span) -> Parsed<Item> {
        let doc = self.doc_above(start);
        self.bump();
        let name = self.declared_name("a struct")?;
        if !self.at_punct(Punct::OpenBrace) {
            return Err(self.struct_without_fields(name.span));
        }
        let open = self.open_brace();
        let mut fields = Vec::new();
        while !self.at_punct(Punct::CloseBrace) {
            if self.at_end_of_items_body() {
                self.unclosed_block();
                break;
            }
            if let Err(failed) = self.fields(&mut fields) {
                self.recover_in_block(failed);
            }
        }
        self.eat(Punct::CloseBrace);
        self.open_braces.pop();
        let span = self.since(open).to(start);
        self.eat(Punct::Semicolon);
        Ok(Item::Struct(StructItem { doc, name, native: false, fields, span }))
    }

    /// `float v;` or `float x, y;`
    fn fields(&mut self, fields: &mut Vec<Field>) -> Parsed<()> {
        let ty = self.type_name()?;
        loop {
            let name = self.declared_name("a field")?;
            if self.at_punct(Punct::OpenBracket) {
                return Err(self.array_field());
            }
            fields.push(Field { ty: ty.clone(), name });
            if self.eat(Punct::Comma).is_none() {
                break;
            }
            self.refuse_second_type()?;
        }
        self.expect_semicolon("a field")
    }

    /// `extern struct P;`
    fn extern_struct(&mut self, start: Span) -> Parsed<Item> {
        let doc = self.doc_above(start);
        self.bump();
        let name = self.declared_name("a struct")?;
        if self.at_punct(Punct::OpenBrace) {
            return Err(self.extern_with_body("a struct"));
        }
        self.expect_semicolon("an extern struct")?;
        Ok(Item::Struct(StructItem { doc, name, native: true, fields: Vec::new(), span: self.since(start) }))
    }

    /// The comment that ends on the line above `start`, with those directly above it.
    pub(super) fn doc_above(&self, start: Span) -> Vec<String> {
        let mut top = start.start as usize;
        let mut doc: Vec<&[String]> = Vec::new();
        for comment in self.comments.iter().rev().filter(|comment| comment.span.end <= start.start) {
            let between = &self.text[comment.span.end as usize..top];
            if !between.trim().is_empty() || between.matches('\n').count() != 1 {
                break;
            }
            top = comment.span.start as usize;
            doc.push(&comment.lines);
        }
        doc.into_iter().rev().flatten().cloned().collect()
    }
}
