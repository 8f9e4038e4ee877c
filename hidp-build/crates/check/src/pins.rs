//! Directives that pin a mapping: their names are iterators and arrays, their numbers constants.

use hidp_ir::par::visit::{self, Mutator, change};
use hidp_ir::par::{Map, Pin, PinArg, PinValue, VarId};
use hidp_syntax::ast::{self, PinAbout, PinTarget, PinWord};
use hidp_syntax::diag::{Code, Diagnostic, near};
use hidp_syntax::place::Place;
use hidp_syntax::source::Span;

use super::cx::{Cx, Named};
use super::pin_words::{Inside, Shape, Word, shape, targets};

/// A number of a directive is no larger.
const MOST: i128 = 1 << 30;

impl Cx<'_> {
    /// What directives before a map pin of its nest.
    pub(super) fn pins(&mut self, written: &[ast::Directive], map: &mut Map) -> Vec<Pin> {
        let pins = self.all_pins(written, map);
        let (loops, pins): (Vec<Pin>, Vec<Pin>) = pins.into_iter().partition(|pin| pin.word == PinWord::Unroll);
        for arg in loops.into_iter().flat_map(|pin| pin.args) {
            self.write_out(map, &arg);
        }
        pins
    }

    /// `unroll(k: 4)` is `unroll(4)` before the map whose last iterator is `k`.
    fn write_out(&mut self, map: &mut Map, arg: &PinArg) {
        let times = arg.values.first().and_then(|value| value.size);
        let mut found = WriteOut { vars: &arg.vars, times, span: arg.span, done: 0, before: None };
        found.visit_map(map);
        let (done, before) = (found.done, found.before);
        let name = self.vars[arg.vars[0]].name.clone();
        let diagnostic = match (before, times) {
            (Some(before), _) => {
                let headline = format!("two directives say how often the loop over `{name}` is written out");
                Diagnostic::new(Code::DirectiveArgument, arg.span, headline)
                    .label("again")
                    .also(before, "the first one")
            }
            (None, Some(times)) if times > MOST_WRITTEN => {
                let headline = format!("`unroll` takes a constant from 1 to {MOST_WRITTEN}");
                Diagnostic::new(Code::DirectiveArgument, arg.span, headline).label("not such a number")
            }
            (None, _) if done < arg.vars.len() => {
                let headline = format!("`{name}` is not the last iterator of its map, whose loop is written out");
                Diagnostic::new(Code::DirectiveArgument, arg.span, headline).label("an iterator before others")
            }
            (None, _) => return,
        };
        let _: Option<()> = self.error(diagnostic);
    }

    fn all_pins(&mut self, written: &[ast::Directive], map: &Map) -> Vec<Pin> {
        let pin = |directive: &ast::Directive| match &directive.kind {
            ast::DirectiveKind::Pin(pin) => self.pin(pin, directive.span, map),
            ast::DirectiveKind::Level(_)
            | ast::DirectiveKind::Ordered
            | ast::DirectiveKind::Unordered
            | ast::DirectiveKind::Unchecked
            | ast::DirectiveKind::NoContract
            | ast::DirectiveKind::BlockSize(_)
            | ast::DirectiveKind::Unroll(_)
            | ast::DirectiveKind::Schedule(_)
            | ast::DirectiveKind::Allow(_) => None,
        };
        written.iter().filter_map(pin).collect()
    }

    fn pin(&mut self, pin: &ast::Pin, span: Span, map: &Map) -> Option<Pin> {
        let (shape, example) = shape(pin.word);
        let name = pin.word.name();
        let known = targets(pin.word);
        if let Some(target) = pin.target.filter(|target| !known.contains(target)) {
            let headline = format!("`{name}` means nothing for `{}`", target.name());
            return self.error(Diagnostic::new(Code::DirectiveArgument, span, headline).label("for another target"));
        }
        if let (Shape::Alone, Some(arg)) = (&shape, pin.args.first()) {
            let headline = format!("`{name}` takes no argument");
            return self.error(Diagnostic::new(Code::BadDirective, arg.span, headline));
        }
        if pin.args.is_empty() && !matches!(shape, Shape::Alone) {
            let headline = format!("`{name}` needs arguments: `{example}`");
            return self.error(Diagnostic::new(Code::BadDirective, span, headline));
        }
        if let (Shape::Iterators, [only]) = (&shape, &pin.args[..]) {
            let headline = format!("`{name}` takes two iterators or more: `{example}`");
            return self.error(Diagnostic::new(Code::BadDirective, only.span, headline));
        }
        if let Shape::Numbers(most) = shape
            && pin.args.len() > most
        {
            let headline = match most {
                1 => format!("`{name}` takes one number"),
                _ => format!("`{name}` takes {most} numbers at most"),
            };
            return self.error(Diagnostic::new(Code::DirectiveArgument, pin.args[most].span, headline));
        }
        let args: Vec<Option<PinArg>> =
            pin.args.iter().map(|arg| self.pin_arg(arg, &shape, (name, example), map)).collect();
        let args: Vec<PinArg> = args.into_iter().collect::<Option<_>>()?;
        for (at, arg) in args.iter().enumerate() {
            let again = args[..at].iter().find(|other| !arg.vars.is_empty() && other.vars == arg.vars);
            if let Some(first) = again {
                let headline = format!("`{name}` names `{}` twice", self.vars[arg.vars[0]].name);
                return self.error(
                    Diagnostic::new(Code::DirectiveArgument, arg.span, headline)
                        .label("again")
                        .also(first.span, "the first time"),
                );
            }
        }
        let target = match (pin.target, known) {
            (Some(target), _) => Some(target),
            (None, [only]) => Some(*only),
            (None, _) if pin.word == PinWord::On => self.target_of(&args, span)?,
            (None, _) => None,
        };
        Some(Pin { target, word: pin.word, args, span })
    }

    /// The kind of processor that places belong to; both, if all of them belong to both.
    fn target_of(&mut self, args: &[PinArg], span: Span) -> Option<Option<PinTarget>> {
        let values = || args.iter().flat_map(|arg| &arg.values).filter_map(|value| Place::called(&value.word));
        let cuda = values().find(|place| matches!(place, Place::Grid(_) | Place::Thread(_)));
        let cpu = values().find(|place| matches!(place, Place::Threads | Place::Lanes));
        match (cuda, cpu) {
            (Some(cuda), Some(cpu)) => self.error(
                Diagnostic::new(
                    Code::DirectiveArgument,
                    span,
                    format!("`{cuda}` is of graphics processors, and `{cpu}` of others"),
                )
                .label("places of both")
                .help("write one directive for each: `cuda: on(…)` and `cpu: on(…)`"),
            ),
            (Some(_), None) => Some(Some(PinTarget::Cuda)),
            (None, Some(_)) => Some(Some(PinTarget::Cpu)),
            (None, None) => Some(None),
        }
    }

    fn pin_arg(
        &mut self,
        arg: &ast::PinArg,
        shape: &Shape,
        (word, example): (&str, &str),
        map: &Map,
    ) -> Option<PinArg> {
        let malformed = |this: &mut Self, at: Span, what: &str| {
            let headline = format!("`{word}` takes {what}");
            this.error(Diagnostic::new(Code::BadDirective, at, headline).help(format!("it looks like `{example}`")))
        };
        let mut dims = Vec::new();
        let (vars, values) = match (shape, &arg.about) {
            (Shape::Words(words), PinAbout::Name { name, section, colon: true }) if section.is_empty() => {
                let vars = self.named_iterators(name, map)?;
                let words: Option<Vec<PinValue>> =
                    arg.values.iter().map(|value| self.pin_word(value, words, word)).collect();
                if arg.values.is_empty() {
                    return malformed(self, arg.span, "words behind the colon");
                }
                (vars, words?)
            }
            (Shape::Sizes, PinAbout::Name { name, section, colon: true }) if section.is_empty() => {
                let vars = self.named_iterators(name, map)?;
                let [value] = &arg.values[..] else {
                    return malformed(self, arg.span, "one number for each iterator");
                };
                (vars, vec![self.pin_number(value, word)?])
            }
            (Shape::Iterators, PinAbout::Name { name, section, colon: false })
                if section.is_empty() && arg.values.is_empty() =>
            {
                (self.named_iterators(name, map)?, Vec::new())
            }
            (Shape::Iterators, _) => return malformed(self, arg.span, "names of iterators"),
            (Shape::SizeOr(other), PinAbout::Name { name, section, colon: true }) if section.is_empty() => {
                let vars = self.named_iterators(name, map)?;
                let [value] = &arg.values[..] else {
                    return malformed(self, arg.span, &format!("one number for each iterator, or `{other}`"));
                };
                let is_other = value.word.as_deref() == Some(*other) && value.size.is_none();
                let without = || Some(PinValue { word: (*other).to_owned(), size: None, how: None });
                (vars, vec![if is_other { without() } else { self.pin_number(value, word) }?])
            }
            (Shape::Words(_) | Shape::Sizes | Shape::SizeOr(_), _) => {
                return malformed(self, arg.span, "iterators, each with a colon behind it");
            }
            (Shape::Numbers(_), PinAbout::Number(number)) => {
                let size = Some(self.constant_of(number, word)?);
                (Vec::new(), vec![PinValue { word: String::new(), size, how: None }])
            }
            (Shape::Numbers(_), PinAbout::Name { name, section, colon: false })
                if section.is_empty() && arg.values.is_empty() =>
            {
                let number = ast::Expr { kind: ast::ExprKind::Name(name.name.clone()), span: name.span };
                let size = Some(self.constant_of(&number, word)?);
                (Vec::new(), vec![PinValue { word: String::new(), size, how: None }])
            }
            (Shape::Numbers(_), PinAbout::Name { .. }) => return malformed(self, arg.span, "numbers"),
            (Shape::Arrays { sections: false, .. }, PinAbout::Name { name, section, .. }) if !section.is_empty() => {
                let headline = format!("`{word}` is about all of an array");
                return self.error(
                    Diagnostic::new(Code::DirectiveArgument, arg.span, headline)
                        .label("a section of one")
                        .help(format!("name the array alone: `{word}({})`", name.name)),
                );
            }
            (Shape::Arrays { options, .. }, PinAbout::Name { name, section, colon: false }) => {
                let array = self.named_array(name)?;
                dims = self.pin_section(array, section, arg.span, map)?;
                let words: Option<Vec<PinValue>> =
                    arg.values.iter().map(|value| self.pin_word(value, options, word)).collect();
                (vec![array], words?)
            }
            (Shape::Arrays { .. }, _) => return malformed(self, arg.span, "names of arrays"),
            (Shape::Alone, _) => return malformed(self, arg.span, "no argument"),
        };
        Some(PinArg { vars, section: dims, values, span: arg.span })
    }

    fn pin_word(&mut self, value: &ast::PinValue, words: &[Word], directive: &str) -> Option<PinValue> {
        let found = value.word.as_ref().and_then(|text| words.iter().find(|word| word.name == text));
        let Some(word) = found else {
            let text = self.text(value.span);
            let headline = format!("`{text}` is no word of `{directive}`");
            let names = words.iter().map(|word| word.name);
            let listed: Vec<String> = names.clone().map(|name| format!("`{name}`")).collect();
            let diagnostic =
                Diagnostic::new(Code::DirectiveArgument, value.span, headline).label("not one of its words");
            let near = value.word.as_ref().and_then(|text| near::suggest(text, names));
            return self.error(match near {
                Some(near) => diagnostic.suggest(value.span, near, "a similar word exists"),
                None if listed.is_empty() => diagnostic.help("only names stand there"),
                None => diagnostic.help(format!("its words are {}", listed.join(", "))),
            });
        };
        let none = PinValue { word: word.name.to_owned(), size: None, how: None };
        match (&value.size, word.inside) {
            (None, Inside::Number) => {
                let headline = format!("`{0}` needs a number: `{0}(4)`", word.name);
                self.error(Diagnostic::new(Code::DirectiveArgument, value.span, headline))
            }
            (None, Inside::MaybeNumber | Inside::MaybeWord(_)) => Some(none),
            (Some(size), Inside::Number | Inside::MaybeNumber) => {
                Some(PinValue { size: Some(self.constant_of(size, word.name)?), ..none })
            }
            (Some(size), Inside::MaybeWord(allowed)) => {
                let how = self.text(size.span);
                if allowed.contains(&how) {
                    return Some(PinValue { how: Some(how.to_owned()), ..none });
                }
                let headline = format!("`{}` shares iterations out in runs or in turn, not by `{how}`", word.name);
                let listed: Vec<String> = allowed.iter().map(|word| format!("`{word}`")).collect();
                let help = format!("it is one of {}", listed.join(", "));
                self.error(Diagnostic::new(Code::DirectiveArgument, size.span, headline).help(help))
            }
        }
    }

    /// A number behind a colon, which may be the name of one.
    fn pin_number(&mut self, value: &ast::PinValue, directive: &str) -> Option<PinValue> {
        let size = match (&value.word, &value.size) {
            (None, Some(size)) => self.constant_of(size, directive)?,
            (Some(name), None) => {
                let number = ast::Expr { kind: ast::ExprKind::Name(name.clone()), span: value.span };
                self.constant_of(&number, directive)?
            }
            (Some(_) | None, _) => {
                let headline = format!("`{directive}` takes one number for each iterator");
                return self.error(Diagnostic::new(Code::BadDirective, value.span, headline));
            }
        };
        Some(PinValue { word: String::new(), size: Some(size), how: None })
    }

    fn constant_of(&mut self, e: &ast::Expr, word: &str) -> Option<u32> {
        self.count(e, word, MOST)
    }

    /// The iterators of this name: of the map, or of maps inside.
    fn named_iterators(&mut self, name: &ast::Ident, map: &Map) -> Option<Vec<VarId>> {
        let found = self.iterators_called(&name.name, map);
        if !found.is_empty() {
            return Some(found);
        }
        let all = self.iterators_of(map);
        let names: Vec<&str> = all.iter().map(|var| self.vars[*var].name.as_str()).collect();
        let headline = format!("the map has no iterator `{}`", name.name);
        let diagnostic = Diagnostic::new(Code::DirectiveArgument, name.span, headline).label("no iterator of the nest");
        let listed: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let diagnostic = match near::suggest(&name.name, names.iter().copied()) {
            Some(near) => diagnostic.suggest(name.span, near, "a similar name exists"),
            None => diagnostic.help(format!("iterators of the map, and inside of it: {}", listed.join(", "))),
        };
        self.error(diagnostic)
    }

    /// The map's iterator of this name, else all of maps inside.
    pub(super) fn iterators_called(&self, name: &str, map: &Map) -> Vec<VarId> {
        let is_called = |var: &VarId| self.vars[*var].name == name;
        if let Some(own) = map.iters.iter().map(|iter| iter.var).find(is_called) {
            return vec![own];
        }
        self.iterators_of(map).into_iter().filter(is_called).collect()
    }

    /// The iterators of a map, and of maps inside.
    fn iterators_of(&self, map: &Map) -> Vec<VarId> {
        let mut all: Vec<VarId> = map.iters.iter().map(|iter| iter.var).collect();
        visit::walk_vars(&map.body, |var, role| {
            if role == visit::Role::Iterate {
                all.push(var);
            }
        });
        all
    }

    fn named_array(&mut self, name: &ast::Ident) -> Option<VarId> {
        match self.lookup(&name.name) {
            Some(Named::Array(var)) => Some(var),
            Some(_) => {
                let headline = format!("`{}` is no array", name.name);
                self.error(Diagnostic::new(Code::DirectiveArgument, name.span, headline).label("not an array"))
            }
            None => self.unknown_name(&name.name, name.span),
        }
    }
}

/// Most iterations that are written out.
const MOST_WRITTEN: u32 = 64;

/// Writes out the loops over the last iterators of maps.
struct WriteOut<'a> {
    vars: &'a [VarId],
    times: Option<u32>,
    span: Span,
    /// How many loops that are.
    done: usize,
    /// A directive that said so before.
    before: Option<Span>,
}

impl Mutator for WriteOut<'_> {
    fn visit_map(&mut self, map: &mut Map) {
        if map.iters.last().is_some_and(|last| self.vars.contains(&last.var)) {
            self.done += 1;
            if map.directives.unroll.is_some() {
                self.before = self.before.or(map.directives.spans.unroll);
            } else {
                map.directives.unroll = self.times;
                map.directives.spans.unroll = Some(self.span);
            }
        }
        change::walk_map(self, map);
    }
}
