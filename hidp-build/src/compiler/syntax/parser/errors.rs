//! What the parser says when something is wrong. Each function reports one error and gives [`Failed`].

use super::{Failed, Keyword, Parsed, Parser, Punct, TokenKind};
use crate::compiler::diag::{Code, Diagnostic, near};
use crate::compiler::source::Span;
use crate::compiler::syntax::ast::{BinaryOp, Direction, Expr, ExprKind, Ident, TypeName};
use crate::compiler::ty::Scalar;

/// Words of C's types that are no types here.
const FOREIGN_TYPE_WORDS: [&str; 2] = ["unsigned", "signed"];

impl Parser<'_> {
    pub(super) fn report(&mut self, diagnostic: Diagnostic) -> Failed {
        let before = self.at.checked_sub(1).map(|at| &self.tokens[at].kind);
        let known = *self.kind() == TokenKind::Unknown || (self.at_eof() && before == Some(&TokenKind::Unknown));
        if !known {
            self.sink.push(diagnostic);
        }
        Failed
    }

    /// The current token, as a sentence part.
    pub(super) fn describe_current(&self) -> String {
        match self.kind() {
            TokenKind::Eof => "the end of the file".to_string(),
            TokenKind::PragmaStart => "a directive".to_string(),
            TokenKind::PragmaEnd => "the end of the directive's line".to_string(),
            TokenKind::Unknown => "something unknown".to_string(),
            TokenKind::Str(_) => "a string".to_string(),
            TokenKind::Keyword(keyword) => format!("the keyword `{}`", keyword.text()),
            TokenKind::Name
            | TokenKind::Int { .. }
            | TokenKind::Float { .. }
            | TokenKind::Char(_)
            | TokenKind::Punct(_) => format!("`{}`", self.current_text()),
        }
    }

    /// `expected … , found …`
    pub(super) fn expected(&mut self, what: &str) -> Failed {
        let found = self.describe_current();
        let diagnostic = Diagnostic::new(Code::UnexpectedToken, self.span(), format!("expected {what}, found {found}"));
        self.report(diagnostic.label(format!("expected {what}")))
    }

    /// A bracket or separator; `place` says where it belongs.
    pub(super) fn expect(&mut self, punct: Punct, place: &str) -> Parsed<Span> {
        match self.eat(punct) {
            Some(span) => Ok(span),
            None => Err(self.expected(&format!("`{}` {place}", punct.text()))),
        }
    }

    /// The partner of the bracket at `open`.
    pub(super) fn expect_close(&mut self, close: Punct, open: Span) -> Parsed<()> {
        if self.eat(close).is_some() {
            return Ok(());
        }
        let found = self.describe_current();
        Err(self.report(
            Diagnostic::new(Code::Unclosed, self.span(), format!("expected `{}`, found {found}", close.text()))
                .label(format!("expected `{}` or an operator", close.text()))
                .also(open, "opened here"),
        ))
    }

    /// The `;` behind `what`. If it is missing at the end of a line, that is reported and parsing goes on as if it were there.
    pub(super) fn expect_semicolon(&mut self, what: &str) -> Parsed<()> {
        if self.eat(Punct::Semicolon).is_some() {
            return Ok(());
        }
        if let TokenKind::Punct(Punct::Increment | Punct::Decrement) = self.kind() {
            return Err(self.prefix_increment());
        }
        let line_ends = self.on_new_line() || self.at_eof() || self.at_punct(Punct::CloseBrace);
        if !line_ends {
            return Err(self.expected(&format!("`;` behind {what}")));
        }
        let end = self.previous_span().end_point();
        self.report(
            Diagnostic::new(Code::MissingSemicolon, end, format!("expected `;` behind {what}"))
                .suggest(end, ";", "add it"),
        );
        Ok(())
    }

    /// Any name that is no keyword.
    pub(super) fn name(&mut self, what: &str) -> Parsed<Ident> {
        if !self.at_name() {
            return Err(self.expected(what));
        }
        let name = self.current_text().to_string();
        Ok(Ident { name, span: self.bump() })
    }

    /// A name for something new: neither a keyword nor a type.
    pub(super) fn declared_name(&mut self, of: &str) -> Parsed<Ident> {
        let what = format!("the name of {of}");
        let text = self.current_text();
        match self.kind() {
            TokenKind::Keyword(_) => Err(self.reserved_name(&what, "a keyword")),
            TokenKind::Name if Scalar::from_name(text).is_some() => Err(self.reserved_name(&what, "a type")),
            TokenKind::Punct(Punct::Star | Punct::And) => Err(self.pointer_declaration()),
            _ => self.name(&what),
        }
    }

    fn reserved_name(&mut self, what: &str, is: &str) -> Failed {
        let (span, text) = (self.span(), self.current_text());
        self.report(
            Diagnostic::new(Code::ReservedName, span, format!("`{text}` is {is} and cannot be {what}")).suggest(
                span,
                format!("{text}_"),
                "choose another name",
            ),
        )
    }

    /// A type's name.
    pub(super) fn type_name(&mut self) -> Parsed<TypeName> {
        let text = self.current_text();
        if !self.at_name() {
            return Err(self.expected("a type"));
        }
        if matches!(text, "half" | "bfloat16") {
            let span = self.span();
            return Err(self.report(
                Diagnostic::new(
                    Code::NotSupported,
                    span,
                    format!("the type `{text}` is not supported by this version"),
                )
                .suggest(span, "float", "use `float`"),
            ));
        }
        let start = self.bump();
        let mut words = text.to_string();
        while self.at_name() && is_type_word(self.current_text()) && continues_type(&words, self.current_text()) {
            words = format!("{words} {}", self.current_text());
            self.bump();
        }
        if words.contains(' ') || Self::is_foreign_type_word(&words) {
            self.type_of_several_words(start, &words);
        }
        let name = own_type(&words).map_or(words.clone(), str::to_string);
        Ok(TypeName { name, span: self.since(start) })
    }

    pub(super) fn is_foreign_type_word(text: &str) -> bool {
        FOREIGN_TYPE_WORDS.contains(&text)
    }

    fn type_of_several_words(&mut self, start: Span, words: &str) {
        let span = self.since(start);
        let mut diagnostic = Diagnostic::new(Code::NotHidp, span, format!("there is no type `{words}`"));
        if let Some(own) = own_type(words) {
            diagnostic = diagnostic.suggest(span, own, format!("its name here is `{own}`"));
        }
        self.report(diagnostic);
    }

    pub(super) fn too_deep(&mut self, span: Span) -> Failed {
        self.report(
            Diagnostic::new(Code::TooDeep, span, "this is nested too deeply")
                .help("store parts of it in locals, or split the function"),
        )
    }

    // Expressions

    pub(super) fn string_as_value(&mut self) -> Failed {
        let span = self.span();
        self.report(
            Diagnostic::new(Code::UnexpectedToken, span, "a string is no value")
                .help("strings name operators of primitives, `\"+\"`, and imported files"),
        )
    }

    pub(super) fn type_as_value(&mut self) -> Failed {
        let (span, text) = (self.span(), self.current_text());
        self.report(
            Diagnostic::new(Code::UnexpectedToken, span, format!("expected an expression, found the type `{text}`"))
                .help(format!("a conversion is written `{text}(x)` or `({text})x`")),
        )
    }

    pub(super) fn pointer_operator(&mut self) -> Failed {
        let (span, text) = (self.span(), self.current_text());
        self.report(
            Diagnostic::new(Code::NotHidp, span, format!("there is no prefix operator `{text}`"))
                .note("HiDP has no pointers")
                .help("elements are read and written by index: `a[i]`"),
        )
    }

    fn pointer_declaration(&mut self) -> Failed {
        let span = self.span();
        self.report(
            Diagnostic::new(Code::NotHidp, span, "HiDP has no pointers")
                .help("an array is declared with its dimensions: `a[N]`"),
        )
    }

    /// At `++` or `--`, before or behind an operand.
    pub(super) fn prefix_increment(&mut self) -> Failed {
        let operator = self.bump();
        let sign = &self.text_of(operator)[..1];
        let before = self.at.checked_sub(2).map(|at| &self.tokens[at]);
        let behind_name = before.is_some_and(|token| {
            token.kind == TokenKind::Name && !self.text[token.span.end as usize..operator.start as usize].contains('\n')
        });
        let mut diagnostic = Diagnostic::new(Code::Increment, operator, format!("HiDP has no `{sign}{sign}`"));
        if behind_name {
            diagnostic = diagnostic.suggest(operator, format!(" {sign}= 1"), "write the assignment");
        } else if self.at_name() {
            let name = self.current_text();
            let span = operator.to(self.span());
            diagnostic = diagnostic.suggest(span, format!("{name} {sign}= 1"), "write the assignment");
        } else {
            diagnostic = diagnostic.help(format!("add with an assignment of its own: `x {sign}= 1;`"));
        }
        self.report(diagnostic)
    }

    /// At a comma between expressions.
    pub(super) fn comma_operator(&mut self) -> Failed {
        let span = self.span();
        self.report(
            Diagnostic::new(Code::CommaOperator, span, "HiDP has no comma operator")
                .help("write a statement for each part"),
        )
    }

    /// At the comma of `x = 1, y = 2;`.
    pub(super) fn comma_between_assignments(&mut self) -> Failed {
        let span = self.span();
        self.report(Diagnostic::new(Code::CommaOperator, span, "HiDP has no comma operator").suggest(
            span,
            ";",
            "end the statement here",
        ))
    }

    /// At the comma of `A[i, j]`.
    pub(super) fn comma_in_subscript(&mut self) -> Failed {
        let comma = self.span();
        let next = self.tokens[(self.at + 1).min(self.tokens.len() - 1)].span;
        let through_blank = Span { end: next.start.max(comma.end), ..comma };
        self.report(Diagnostic::new(Code::CommaOperator, comma, "each dimension has its own brackets").suggest(
            through_blank,
            "][",
            "close and open brackets",
        ))
    }

    /// At `=` where a value was expected to end.
    pub(super) fn assignment_as_value(&mut self, left: Span) -> Failed {
        let equals = self.span();
        self.report(
            Diagnostic::new(Code::AssignmentAsValue, equals, "an assignment has no value")
                .also(left, "assigned here")
                .suggest(equals, "==", "compare with `==`"),
        )
    }

    /// Reports `x = y = z`; `first` is the first `=`.
    pub(super) fn refuse_chained_assignment(&mut self, first: Span) -> Parsed<()> {
        let TokenKind::Punct(punct) = *self.kind() else { return Ok(()) };
        if super::operators::assignment(punct).is_none() {
            return Ok(());
        }
        let second = self.span();
        Err(self.report(
            Diagnostic::new(Code::AssignmentAsValue, second, "an assignment has no value")
                .label("second assignment of this statement")
                .also(first, "first assignment")
                .help("write two statements"),
        ))
    }

    pub(super) fn call_of_value(&mut self, value: Span) -> Failed {
        let open = self.span();
        let mut diagnostic =
            Diagnostic::new(Code::UnexpectedToken, open, "this value cannot be called").also(value, "a value");
        if self.range_until_close() {
            diagnostic = diagnostic.suggest(open, "[", "a section is opened by `[`");
        }
        self.report(diagnostic)
    }

    /// Whether a colon stands before the bracket that closes the one that stands here.
    fn range_until_close(&self) -> bool {
        let rest = &self.tokens[self.at..];
        let colon = rest.iter().position(|token| token.kind == TokenKind::Punct(Punct::Colon));
        let end = rest.iter().position(|token| {
            matches!(token.kind, TokenKind::Punct(Punct::CloseParen | Punct::CloseBracket | Punct::Semicolon))
        });
        colon.zip(end).is_some_and(|(colon, end)| colon < end)
    }

    // Ranges and maps

    /// Reports `[:n]`, `[a:]`, which other languages have.
    pub(super) fn refuse_open_bound(&mut self, open: Span) -> Parsed<()> {
        let closes =
            self.at_punct(Punct::CloseBracket) || (self.at_punct(Punct::CloseParen) && self.text_of(open) == "[");
        if !self.at_punct(Punct::Colon) && !closes {
            return Ok(());
        }
        let span = self.span();
        let headline = if self.at_punct(Punct::Colon) || self.previous_span() != open {
            "a range needs both bounds"
        } else {
            "an index is missing between the brackets"
        };
        Err(self.report(
            Diagnostic::new(Code::BadRange, span, headline)
                .also(open, "opened here")
                .help("all of a dimension is `[*]`, a part of it `[low:high)` or `[low:high]`"),
        ))
    }

    pub(super) fn unclosed_range(&mut self, open: Span) -> Failed {
        let (span, found) = (self.span(), self.describe_current());
        self.report(
            Diagnostic::new(
                Code::BadRange,
                span,
                format!("expected `]` or `)` at the end of the range, found {found}"),
            )
            .also(open, "opened here"),
        )
    }

    pub(super) fn range_without_bracket(&mut self) -> Failed {
        let found = self.describe_current();
        let span = self.span();
        self.report(
            Diagnostic::new(Code::BadRange, span, format!("expected a range, found {found}"))
                .label("expected `[` or `(`")
                .help("an iterator runs over a range: `i := [0:N);`"),
        )
    }

    pub(super) fn range_without_colon(&mut self, open: Span) -> Failed {
        let closes = self.at_punct(Punct::CloseBracket) || self.at_punct(Punct::CloseParen);
        let span = if closes { open.to(self.span()) } else { self.since(open) };
        self.report(
            Diagnostic::new(Code::BadRange, span, "a range has two bounds")
                .help("from 0 up to and without `N` is `[0:N)`, with `N` it is `[0:N]`"),
        )
    }

    pub(super) fn iterator_over_all(&mut self) -> Failed {
        let span = self.span();
        self.report(
            Diagnostic::new(Code::BadRange, span, "an iterator needs its bounds")
                .help("`[*]` stands in sections and behind a map; an iterator runs over a range such as `[0:N)`"),
        )
    }

    pub(super) fn partial_suffix_range(&mut self) -> Failed {
        let span = self.span();
        self.report(
            Diagnostic::new(Code::BadRange, span, "a suffix folds over all values of an iterator")
                .label("expected `[*]`")
                .help("to fold over a part of them, give the map a smaller range"),
        )
    }

    pub(super) fn map_without_iterator(&mut self, map: Span) -> Failed {
        self.report(
            Diagnostic::new(Code::MapWithoutIterator, map, "this map has no iterators")
                .help("begin it with one, such as `i := [0:N);`"),
        )
    }

    pub(super) fn misplaced_iterator(&mut self) -> Failed {
        let span = self.span();
        self.report(
            Diagnostic::new(Code::MisplacedIterator, span, "an iterator is declared at the start of a map")
                .note("iterators come before the statements of their map")
                .help("a variable is assigned with `=`"),
        )
    }

    pub(super) fn misplaced_suffix(&mut self) -> Failed {
        let span = self.span();
        let name = self.current_text();
        self.report(
            Diagnostic::new(
                Code::MisplacedSuffix,
                span,
                format!("a `{name}` over iterators stands directly behind a map"),
            )
            .label("no map ends here"),
        )
    }

    // Statements

    pub(super) fn unclosed_block(&mut self) -> Failed {
        if self.unclosed_at.replace(self.at) == Some(self.at) {
            return Failed;
        }
        let found = self.describe_current();
        let span = self.span();
        let mut diagnostic = Diagnostic::new(Code::Unclosed, span, format!("expected `}}`, found {found}"));
        if let Some((open, close)) = self.suspect {
            diagnostic = diagnostic
                .also(open, "this brace is probably the one that is not closed")
                .also(close, "its partner by counting stands further left");
        } else if let Some(open) = self.open_braces.last() {
            diagnostic = diagnostic.also(*open, "this brace is not closed");
        }
        self.report(diagnostic)
    }

    /// Remembers the first pair of braces whose lines are not indented alike: the closing one stands further left.
    pub(super) fn note_indentation(&mut self, open: Span, close: Span) {
        let indent = |at: u32| {
            let line = self.text[..at as usize].rfind('\n').map_or(0, |line_break| line_break + 1);
            let blanks = self.text[line..].len() - self.text[line..].trim_start_matches([' ', '\t']).len();
            (line, blanks)
        };
        let ((open_line, open_indent), (close_line, close_indent)) = (indent(open.start), indent(close.start));
        let begins_its_line = close_line + close_indent == close.start as usize;
        if self.suspect.is_none() && open_line != close_line && begins_its_line && close_indent < open_indent {
            self.suspect = Some((open, close));
        }
    }

    pub(super) fn unmatched_brace(&mut self) -> Failed {
        let span = self.span();
        self.report(Diagnostic::new(Code::Unclosed, span, "this `}` closes nothing").suggest(span, "", "remove it"))
    }

    pub(super) fn empty_statement(&mut self) -> Failed {
        let span = self.span();
        let body = matches!(
            self.at.checked_sub(1).map(|at| &self.tokens[at].kind),
            Some(TokenKind::Punct(Punct::CloseParen) | TokenKind::Keyword(Keyword::Else))
        );
        let diagnostic = Diagnostic::new(Code::EmptyStatement, span, "this `;` is an empty statement");
        self.report(if body {
            diagnostic.suggest(span, " { }", "for a body that does nothing write `{ }`")
        } else {
            diagnostic.suggest(span, "", "remove it")
        })
    }

    pub(super) fn else_without_if(&mut self) -> Failed {
        let span = self.span();
        self.bump();
        self.report(Diagnostic::new(Code::UnexpectedToken, span, "`else` without `if`"))
    }

    pub(super) fn local_const(&mut self) -> Failed {
        let word = self.bump();
        let through_blank = Span { end: self.span().start, ..word };
        self.report(Diagnostic::new(Code::BadDeclaration, word, "constants are declared at file level").suggest(
            through_blank,
            "",
            "declare a variable",
        ))
    }

    pub(super) fn late_parameters(&mut self) -> Failed {
        let word = self.bump();
        let text = self.text_of(word);
        self.report(Diagnostic::new(
            Code::BadHeader,
            word,
            format!("`{text}` lists stand before the body of the function"),
        ))
    }

    /// A statement that C has and HiDP has not.
    pub(super) fn foreign_statement(&mut self, word: &str) -> Option<Failed> {
        let instead = match word {
            "do" => "write `while (condition) { … }`",
            "switch" | "case" | "default" => "write a chain of `if` and `else`",
            "goto" => "write a loop with `break` or `continue`",
            _ => return None,
        };
        let is_ordinary = matches!(
            self.kind_at(1),
            TokenKind::Punct(punct) if super::operators::assignment(*punct).is_some() || *punct == Punct::OpenBracket
        );
        if is_ordinary {
            return None;
        }
        let span = self.bump();
        let failed = self.report(Diagnostic::new(Code::NotHidp, span, format!("HiDP has no `{word}`")).help(instead));
        if word == "do" && self.at_punct(Punct::OpenBrace) {
            self.skip_braces();
        }
        Some(failed)
    }

    /// Behind an expression that begins a statement, where `=` was expected.
    pub(super) fn no_assignment(&mut self, value: &Expr) -> Failed {
        match self.kind() {
            TokenKind::Punct(Punct::Increment | Punct::Decrement) => return self.prefix_increment(),
            TokenKind::Punct(Punct::Comma) => return self.comma_operator(),
            TokenKind::Punct(Punct::Semicolon) => {}
            TokenKind::Name
            | TokenKind::Str(_)
            | TokenKind::Int { .. }
            | TokenKind::Float { .. }
            | TokenKind::Char(_)
                if !self.on_new_line() =>
            {
                return self.expected("an operator or `=`");
            }
            _ if !self.on_new_line() && !self.at_punct(Punct::CloseBrace) => {
                return self.expected("`=` or another assignment");
            }
            _ => {}
        }
        let mut diagnostic = Diagnostic::new(Code::NoEffect, value.span, "this statement has no effect");
        diagnostic = match value.kind {
            ExprKind::Binary { op: BinaryOp::Eq, op_span, .. } => diagnostic.suggest(op_span, "=", "assign with `=`"),
            _ => diagnostic.help("assign the value, or remove the statement"),
        };
        self.report(diagnostic)
    }

    pub(super) fn not_assignable(&mut self, target: &Expr) -> Failed {
        let equals = self.span();
        self.report(
            Diagnostic::new(Code::NotAssignable, target.span, "this cannot be assigned to")
                .label("neither a variable, an element, a section nor a field")
                .also(equals, "assigned here"),
        )
    }

    /// At the `=` behind a call.
    pub(super) fn assigned_call(&mut self, callee: Span) -> Failed {
        let (name, span) = (self.text_of(callee), self.span());
        self.report(
            Diagnostic::new(Code::NotAssignable, span, "the result of a call cannot be assigned to")
                .also(callee, format!("`{name}` is called here"))
                .help("an element of an array is written with brackets: `a[i]`"),
        )
    }

    /// At an operator behind a call that is a statement.
    pub(super) fn computing_statement(&mut self, callee: Span) -> Failed {
        let (name, span) = (self.text_of(callee), self.span());
        self.report(
            Diagnostic::new(Code::NoEffect, span, "this statement has no effect")
                .also(callee, format!("the result of `{name}` is computed with and lost"))
                .help("assign the value, or call the function alone"),
        )
    }

    pub(super) fn swapped_section(&mut self) -> Failed {
        let span = self.span();
        self.report(
            Diagnostic::new(Code::UnexpectedToken, span, "`swap` exchanges whole arrays")
                .help("to exchange parts, copy one of them to a local array first"),
        )
    }

    pub(super) fn condition_without_parenthesis(&mut self, word: Span) -> Failed {
        let text = self.text_of(word).to_string();
        self.expected(&format!("`(` behind `{text}`"))
    }

    // Declarations

    /// Behind the initial value of an array.
    pub(super) fn initialised_array(&mut self, name: &Ident, equals: Span) {
        let name = &name.name;
        let mut diagnostic =
            Diagnostic::new(Code::BadDeclaration, equals, format!("the array `{name}` cannot have an initial value"))
                .note("a declared array holds zeros");
        diagnostic = if self.at_punct(Punct::Semicolon) {
            let before = self.text[..equals.start as usize].trim_end().len();
            let edit = Span { start: before as u32, ..equals };
            diagnostic.suggest(edit, format!("; {name} ="), "assign it in a statement of its own")
        } else {
            diagnostic.help("assign it in a statement of its own")
        };
        self.report(diagnostic);
    }

    pub(super) fn dimension_without_size(&mut self, open: Span) -> Failed {
        let span = open.to(self.span());
        self.report(
            Diagnostic::new(Code::BadDeclaration, span, "this dimension has no size")
                .help("a dimension is a name, `A[N]`, or an expression, `A[N + 1]`"),
        )
    }

    /// Behind the comma of a declaration: a type cannot follow.
    pub(super) fn refuse_second_type(&mut self) -> Parsed<()> {
        if !(self.at_name() && self.name_at(1)) {
            return Ok(());
        }
        let comma = self.previous_span();
        let span = self.span();
        Err(self.report(Diagnostic::new(Code::BadDeclaration, span, "a declaration has one type").suggest(
            comma,
            ";",
            "end the declaration before it",
        )))
    }

    /// Behind the comma of a parameter list: a type cannot follow.
    pub(super) fn refuse_second_type_of_list(&mut self, direction: Direction) -> Parsed<()> {
        if !(self.at_name() && self.name_at(1)) {
            return Ok(());
        }
        let comma = self.previous_span();
        let word = match direction {
            Direction::Input => "input",
            Direction::Output => "output",
            Direction::Inout => "inout",
        };
        let span = self.span();
        Err(self.report(Diagnostic::new(Code::BadHeader, span, "a parameter list has one type").suggest(
            comma,
            format!("; {word}"),
            "begin another list",
        )))
    }

    pub(super) fn constant_array(&mut self) -> Failed {
        let span = self.span();
        self.report(
            Diagnostic::new(Code::BadDeclaration, span, "a constant is a scalar or a struct")
                .help("pass arrays of constants as `input`"),
        )
    }

    pub(super) fn array_field(&mut self) -> Failed {
        let span = self.span();
        self.report(
            Diagnostic::new(Code::BadDeclaration, span, "a field cannot be an array")
                .help("write one field for each element, or pass an array of its own"),
        )
    }

    pub(super) fn array_parameter(&mut self) -> Failed {
        let span = self.span();
        self.report(Diagnostic::new(Code::BadHeader, span, "a function of scalars has no array parameters").help(
            "a function over arrays lists them as `input`, `output` and `inout` behind its name, without parentheses",
        ))
    }

    pub(super) fn default_argument(&mut self) -> Failed {
        let span = self.span();
        self.report(Diagnostic::new(Code::BadHeader, span, "a parameter has no default value"))
    }

    // Items

    pub(super) fn struct_without_fields(&mut self, name: Span) -> Failed {
        if self.at_punct(Punct::Semicolon) {
            let name = self.text_of(name);
            let span = self.span();
            return self.report(
                Diagnostic::new(Code::BadDeclaration, span, format!("the struct `{name}` has no fields"))
                    .help(format!("a struct of a C header is declared by `extern struct {name};`")),
            );
        }
        self.expected("`{` and the fields of the struct")
    }

    pub(super) fn extern_with_body(&mut self, what: &str) -> Failed {
        let span = self.span();
        self.report(
            Diagnostic::new(
                Code::BadHeader,
                span,
                format!("`extern` takes {what} from a C++ header, so it has no body here"),
            )
            .help("remove `extern`, or end the declaration with `;`"),
        )
    }

    pub(super) fn extern_array_function(&mut self) -> Failed {
        let span = self.span();
        self.report(
            Diagnostic::new(Code::BadHeader, span, "an extern function names its result and scalar parameters")
                .help("`extern function bool my_less(float a, float b);`"),
        )
    }

    pub(super) fn static_scalar_function(&mut self, word: Span) {
        let through_blank = Span { end: self.previous_span().start, ..word };
        self.report(
            Diagnostic::new(Code::BadHeader, word, "`static` is for functions over arrays")
                .note("a function of scalars never gets a Rust wrapper")
                .suggest(through_blank, "", "remove it"),
        );
    }

    pub(super) fn header_with_parentheses(&mut self, name: &Ident) -> Failed {
        let name_text = &name.name;
        self.report(
            Diagnostic::new(Code::BadHeader, name.span, format!("the function `{name_text}` has no result type"))
                .help(format!("a function of scalars names its result: `function float {name_text}(float x)`"))
                .help(format!(
                    "a function over arrays lists its parameters without parentheses: `function {name_text} input float x[N];`"
                )),
        )
    }

    pub(super) fn header_without_body(&mut self, no_params: bool, name: Span) -> Failed {
        if self.at_eof() || self.at_end_of_items_body() {
            let name = self.text_of(name);
            return self.expected(&format!("the body of `{name}`"));
        }
        self.expected(if no_params { "`input`, `output`, `inout` or `{`" } else { "`{` or another parameter list" })
    }

    /// Behind `function word name` without `(`: perhaps a list's keyword is misspelt.
    pub(super) fn scalar_function_without_parameters(&mut self, first: &TypeName) -> Failed {
        let second = self.previous_span();
        match near::suggest(self.text_of(second), ["input", "output", "inout"]) {
            Some(near) if Scalar::from_name(&first.name).is_none() => self.report(
                Diagnostic::new(
                    Code::BadHeader,
                    second,
                    format!("expected a parameter list, found `{}`", self.text_of(second)),
                )
                .suggest(second, near, format!("did you mean `{near}`?")),
            ),
            _ => self.expected("`(` and the parameters of the function"),
        }
    }

    pub(super) fn scalar_function_without_body(&mut self) -> Failed {
        if self.at_punct(Punct::Semicolon) {
            let span = self.span();
            return self.report(
                Diagnostic::new(Code::BadHeader, span, "this function has no body")
                    .help("a function of a C++ header is declared with `extern`; order of functions does not matter"),
            );
        }
        self.expected("`{` and the body of the function")
    }

    /// Whether an item of a later version begins here.
    pub(super) fn at_later_item(&self) -> bool {
        self.at_name() && matches!(self.current_text(), "recurrence" | "codelet" | "tunable") && self.name_at(1)
    }

    pub(super) fn expected_item(&mut self) -> Failed {
        let (span, word) = (self.span(), self.current_text());
        if self.at_later_item() {
            return self.report(
                Diagnostic::new(Code::NotSupported, span, format!("`{word}` is not supported by this version"))
                    .note("the word is reserved for a later version of the language"),
            );
        }
        let found = self.describe_current();
        let headline = format!("expected a function, struct, constant or import, found {found}");
        let mut diagnostic = Diagnostic::new(Code::ExpectedItem, span, headline);
        let items = ["function", "struct", "const", "import", "extern", "static"];
        if let Some(near) = near::suggest(word, items).filter(|_| self.at_name()) {
            diagnostic = diagnostic.suggest(span, near, format!("did you mean `{near}`?"));
        }
        self.report(diagnostic)
    }
}

/// Whether C builds types from this word.
fn is_type_word(text: &str) -> bool {
    matches!(text, "unsigned" | "signed" | "long" | "int" | "short" | "char" | "double")
}

/// Whether C would read `word` behind `words` as part of the type.
fn continues_type(words: &str, word: &str) -> bool {
    let last = words.rsplit(' ').next().unwrap_or(words);
    match last {
        "unsigned" | "signed" => word != "double",
        "long" => matches!(word, "long" | "int" | "double" | "unsigned"),
        "short" => matches!(word, "int" | "unsigned"),
        _ => false,
    }
}

/// HiDP's name of a C type of several words.
fn own_type(words: &str) -> Option<&'static str> {
    Some(match words {
        "unsigned" | "unsigned int" => "uint",
        "unsigned char" => "uint8",
        "unsigned short" | "unsigned short int" => "ushort",
        "unsigned long" | "unsigned long long" | "unsigned long int" | "unsigned long long int" | "long unsigned" => {
            "ulong"
        }
        "signed" | "signed int" => "int",
        "signed char" => "char",
        "short int" | "signed short" => "short",
        "long long" | "long int" | "signed long" | "long long int" => "long",
        "long double" => "double",
        _ => return None,
    })
}
