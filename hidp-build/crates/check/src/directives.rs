//! `#pragma hidp …`

use hidp_ir::par::{Const, Directives};
use hidp_syntax::ast::{self, DirectiveKind};
use hidp_syntax::diag::{Code, Diagnostic};
use hidp_syntax::source::Span;

use super::cx::{BodyKind, Cx};
use super::fold;
use super::value::{UntypedKind, Val};

impl Cx<'_> {
    /// What the directives before this statement ask for; they count as used from here on.
    pub(super) fn take_directives(&mut self) -> Directives {
        let (result, pins) = self.take_directives_of_map();
        if let Some(first) = pins.first() {
            let word = self.text(first.span);
            let headline = format!("`{word}` applies to maps alone");
            let _: Option<()> = self.error(
                Diagnostic::new(Code::MisplacedDirective, first.span, headline).label("no map with iterators follows"),
            );
        }
        result
    }

    /// The same, and those that pin a mapping: their names have a meaning when the map is known.
    pub(super) fn take_directives_of_map(&mut self) -> (Directives, Vec<ast::Directive>) {
        let mut result = Directives::default();
        let mut pins = Vec::new();
        let directives = std::mem::take(&mut self.pending);
        self.refuse_contradiction(&directives);
        for directive in directives {
            match &directive.kind {
                DirectiveKind::Level(level) => {
                    result.spans.level.get_or_insert(directive.span);
                    if !result.levels.contains(level) {
                        result.levels.push(*level);
                    }
                }
                DirectiveKind::Ordered => result.ordered = true,
                DirectiveKind::Unordered => result.unordered = true,
                DirectiveKind::Unchecked => self.unchecked = true,
                DirectiveKind::NoContract => self.belongs_before(&directive, "a function"),
                DirectiveKind::Schedule(_) => self.belongs_before(&directive, "a recurrence"),
                DirectiveKind::BlockSize(size) => {
                    result.block = self.count(size, "block", 1024);
                    result.spans.block = Some(directive.span);
                }
                DirectiveKind::Unroll(times) => {
                    result.unroll = self.count(times, "unroll", 64);
                    result.spans.unroll = Some(directive.span);
                }
                DirectiveKind::Pin(_) => pins.push(directive),
                // Allowed before the statement was looked at.
                DirectiveKind::Allow(_) => {}
            }
        }
        (result, pins)
    }

    fn refuse_contradiction(&mut self, directives: &[ast::Directive]) {
        let find = |kind: DirectiveKind| directives.iter().find(|d| d.kind == kind).map(|d| d.span);
        if let (Some(ordered), Some(unordered)) = (find(DirectiveKind::Ordered), find(DirectiveKind::Unordered)) {
            let _: Option<()> = self.error(
                Diagnostic::new(Code::DirectiveArgument, unordered, "`ordered` and `unordered` contradict each other")
                    .label("asks for any order")
                    .also(ordered, "asks for iteration order"),
            );
        }
    }

    fn belongs_before(&mut self, directive: &ast::Directive, what: &str) {
        let word = self.text(directive.span);
        let _: Option<()> = self.error(
            Diagnostic::new(Code::MisplacedDirective, directive.span, format!("`{word}` belongs before {what}"))
                .label("not before a statement"),
        );
    }

    pub(super) fn count(&mut self, e: &ast::Expr, word: &str, most: i128) -> Option<u32> {
        match self.whole_number(e)? {
            Some(value) if (1..=most).contains(&value) => u32::try_from(value).ok(),
            _ => self.error(
                Diagnostic::new(Code::DirectiveArgument, e.span, format!("`{word}` takes a constant from 1 to {most}"))
                    .label("not such a number"),
            ),
        }
    }

    /// The constant that an expression has, if it is a whole number.
    pub(super) fn whole_number(&mut self, e: &ast::Expr) -> Option<Option<i128>> {
        Some(match self.expr(e)? {
            Val::Untyped(untyped) => match untyped.kind {
                UntypedKind::Int(value) => Some(value),
                _ => None,
            },
            Val::Typed { expr, .. } => match fold::eval(&expr) {
                Some(Const::Int(value)) => Some(value),
                _ => None,
            },
        })
    }

    /// Leaves out the warnings that directives before the statement or function at `span` allow.
    pub(super) fn allow_warnings(&mut self, directives: &[ast::Directive], span: Span) {
        let codes = directives.iter().filter_map(|directive| match &directive.kind {
            DirectiveKind::Allow(codes) => Some(codes),
            DirectiveKind::Level(_)
            | DirectiveKind::Ordered
            | DirectiveKind::Unordered
            | DirectiveKind::Unchecked
            | DirectiveKind::NoContract
            | DirectiveKind::BlockSize(_)
            | DirectiveKind::Unroll(_)
            | DirectiveKind::Pin(_)
            | DirectiveKind::Schedule(_) => None,
        });
        for written in codes.flatten() {
            match Code::ALL.iter().find(|code| code.info().name == written.name) {
                Some(code) if code.is_about_programs() => self.sink.allow(*code, span),
                Some(_) | None => self.not_allowed(written),
            }
        }
    }

    fn not_allowed(&mut self, written: &ast::Ident) {
        let headline = format!("`{}` is no warning that can be allowed", written.name);
        let _: Option<()> = self.error(
            Diagnostic::new(Code::DirectiveArgument, written.span, headline)
                .label("no code of a warning about programs")
                .help("a warning's code stands before its text: `warning[HD0821]`"),
        );
    }

    /// Reports directives that nothing took. What allows warnings applies to every statement.
    pub(super) fn unused_directives(&mut self, unused: &[ast::Directive]) {
        for directive in unused.iter().filter(|directive| !matches!(directive.kind, DirectiveKind::Allow(_))) {
            let word = self.text(directive.span);
            let _: Option<()> = self.error(
                Diagnostic::new(Code::MisplacedDirective, directive.span, format!("`{word}` applies to nothing"))
                    .label("no map, primitive or data-parallel statement follows")
                    .help("move it directly before the statement that it is meant for"),
            );
        }
    }

    /// Whether atomic sums of floats are allowed here.
    pub(super) fn is_unordered(&self) -> bool {
        self.maps.iter().any(|map| map.unordered)
    }
}

/// The directives before a function, which stands at `span`: `(nocontract, unchecked)`.
pub(super) fn of_function(cx: &mut Cx<'_>, directives: &[ast::Directive], span: Span) -> (bool, bool) {
    let schedules = |directive: &&ast::Directive| matches!(directive.kind, DirectiveKind::Schedule(_));
    if let Some(schedule) = directives.iter().find(schedules) {
        misplaced(cx, schedule, "a recurrence");
    }
    of_recurrence(cx, directives, span)
}

/// The same before a recurrence, but for its schedule.
pub(super) fn of_recurrence(cx: &mut Cx<'_>, directives: &[ast::Directive], span: Span) -> (bool, bool) {
    cx.allow_warnings(directives, span);
    let (mut no_contract, mut unchecked) = (false, false);
    for directive in directives {
        match directive.kind {
            DirectiveKind::NoContract => no_contract = true,
            DirectiveKind::Unchecked => unchecked = true,
            DirectiveKind::Allow(_) | DirectiveKind::Schedule(_) => {}
            DirectiveKind::Ordered if cx.kind == BodyKind::Func => cx.ordered.whole = Some(directive.span),
            DirectiveKind::Level(_)
            | DirectiveKind::Ordered
            | DirectiveKind::Unordered
            | DirectiveKind::BlockSize(_)
            | DirectiveKind::Pin(_)
            | DirectiveKind::Unroll(_) => misplaced(cx, directive, "a statement"),
        }
    }
    (no_contract, unchecked)
}

fn misplaced(cx: &mut Cx<'_>, directive: &ast::Directive, what: &str) {
    let headline = format!("`{}` belongs before {what}", cx.text(directive.span));
    let diagnostic = Diagnostic::new(Code::MisplacedDirective, directive.span, headline);
    let _: Option<()> = cx.error(diagnostic.label("not before a function"));
}
