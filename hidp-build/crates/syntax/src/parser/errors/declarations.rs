//! Errors of types and declarations.

use super::super::{Failed, Parsed, Parser, Punct};
use crate::ast::{Direction, Ident, TypeName};
use crate::diag::{Code, Diagnostic};
use crate::source::Span;

/// Words of C's types that are no types here.
const FOREIGN_TYPE_WORDS: [&str; 2] = ["unsigned", "signed"];

impl Parser<'_> {
    /// A type's name.
    pub(in super::super) fn type_name(&mut self) -> Parsed<TypeName> {
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

    pub(in super::super) fn is_foreign_type_word(text: &str) -> bool {
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

    pub(super) fn pointer_declaration(&mut self) -> Failed {
        let span = self.span();
        self.report(
            Diagnostic::new(Code::NotHidp, span, "HiDP has no pointers")
                .help("an array is declared with its dimensions: `a[N]`"),
        )
    }

    /// At the bracket or brace that opens a list of values.
    pub(in super::super) fn listed_array(&mut self, name: &Ident, equals: Span) -> Failed {
        let name = &name.name;
        let failed = self.report(
            Diagnostic::new(Code::ArrayInitialiser, equals, format!("the array `{name}` cannot have an initial value"))
                .note("HiDP has no lists of values")
                .help(format!("assign each element, as in `{name}[0] = …;`, or make the array an input")),
        );
        // The statement goes on behind the list, which may hold a `;`, as in `[0; 8]`.
        if self.at_punct(Punct::OpenBrace) {
            self.skip_braces();
        } else {
            while !self.at_eof() && !self.at_punct(Punct::CloseBrace) && self.eat(Punct::CloseBracket).is_none() {
                self.bump();
            }
        }
        failed
    }

    /// Behind the initial value of an array.
    pub(in super::super) fn initialised_array(&mut self, name: &Ident, equals: Span) {
        let name = &name.name;
        let mut diagnostic =
            Diagnostic::new(Code::ArrayInitialiser, equals, format!("the array `{name}` cannot have an initial value"))
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

    pub(in super::super) fn dimension_without_size(&mut self, open: Span) -> Failed {
        let span = open.to(self.span());
        self.report(
            Diagnostic::new(Code::BadDeclaration, span, "this dimension has no size")
                .help("a dimension is a name, `A[N]`, or an expression, `A[N + 1]`"),
        )
    }

    /// Behind the comma of a declaration: a type cannot follow.
    pub(in super::super) fn refuse_second_type(&mut self) -> Parsed<()> {
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
    pub(in super::super) fn refuse_second_type_of_list(&mut self, direction: Direction) -> Parsed<()> {
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

    pub(in super::super) fn constant_array(&mut self) -> Failed {
        let span = self.span();
        self.report(
            Diagnostic::new(Code::BadDeclaration, span, "a constant is a scalar or a struct")
                .help("pass arrays of constants as `input`"),
        )
    }

    pub(in super::super) fn array_field(&mut self) -> Failed {
        let span = self.span();
        self.report(
            Diagnostic::new(Code::BadDeclaration, span, "a field cannot be an array")
                .help("write one field for each element, or pass an array of its own"),
        )
    }

    pub(in super::super) fn array_parameter(&mut self) -> Failed {
        let span = self.span();
        self.report(Diagnostic::new(Code::BadHeader, span, "a function of scalars has no array parameters").help(
            "a function over arrays lists them as `input`, `output` and `inout` behind its name, without parentheses",
        ))
    }

    pub(in super::super) fn default_argument(&mut self) -> Failed {
        let span = self.span();
        self.report(Diagnostic::new(Code::BadHeader, span, "a parameter has no default value"))
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
