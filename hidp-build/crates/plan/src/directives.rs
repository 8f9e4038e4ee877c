//! Directives that cannot be honoured: what keeps them from it, as rows of a table. Looked at in every build, for devices too where
//! none are compiled for, so that a program is right or wrong wherever it is built.

use super::asked::{Clash, Refused, Wrong, wrong};
use super::blame::span_of;
use super::device::unsuited;
use super::refusal::{BLOCK_THREADS, LOOP, OUTERMOST, Refusal};
use super::{Models, inner_maps, nests};
use crate::target::DeviceModel;
use hidp_ir::par::visit;
use hidp_ir::par::{Directives, FoldKind, Func, Map, Program, StmtKind};
use hidp_syntax::ast::Level;
use hidp_syntax::diag::{Code, Diagnostic, Sink};
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::source::Span;

/// Reports directives of entries after the pass pipeline that no plan can honour.
pub fn check_directives(program: &Program, models: Models<'_>, sink: &mut Sink) {
    let mut checker = Checker { model: models.device, sink, reported: OrdSet::new() };
    for &entry in &program.entries {
        let func = &program.funcs[entry];
        checker.function(func);
        for (map, wrong) in wrong(program, entry, models) {
            match wrong {
                Wrong::Clash(clash) => checker.clash(clash),
                Wrong::Refused(refused) => checker.refused(map, refused),
            }
        }
    }
}

struct Checker<'a> {
    model: &'a DeviceModel,
    sink: &'a mut Sink,
    /// One function may be part of several entries.
    reported: OrdSet<Span>,
}

impl Checker<'_> {
    fn function(&mut self, func: &Func) {
        for map in nests(func) {
            self.levels(map);
            self.block(map);
            let on_host = map.directives.levels == [Level::Kernel];
            for inner in inner_maps(&map.body) {
                self.inner(inner, map, on_host);
            }
        }
        visit::walk_stmts(&func.body, |stmt| match &stmt.kind {
            StmtKind::Map(map) => self.unroll(map),
            StmtKind::Prim(call) => self.primitive(&call.directives, stmt.span),
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::AssignField { .. }
            | StmtKind::Store { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::If { .. }
            | StmtKind::Loop(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Scope(_)
            | StmtKind::Leave
            | StmtKind::Return(_)
            | StmtKind::Swap(..)
            | StmtKind::Call { .. }
            | StmtKind::Require { .. } => {}
        });
    }

    /// Words for levels before the outermost map of a nest: one of them has to suit.
    fn levels(&mut self, map: &Map) {
        let named = &map.directives.levels;
        let reasons: Option<Vec<Refusal>> = named.iter().map(|level| unsuited(map, *level)).collect();
        let Some(reason) = reasons.and_then(|reasons| reasons.into_iter().next()) else { return };
        let suits = Level::ALL.into_iter().filter(|level| unsuited(map, *level).is_none());
        let suits: Vec<String> = suits.map(|level| format!("`{}`", level.name())).collect();
        let words: Vec<String> = named.iter().map(|level| format!("`{}`", level.name())).collect();
        let help = format!("levels that suit the map: {}", suits.join(", "));
        self.refuse(map.directives.spans.level, span_of(map), &words.join(" "), &reason, &help);
    }

    fn block(&mut self, map: &Map) {
        let Some(threads) = map.directives.block.filter(|threads| !self.model.is_block(*threads)) else { return };
        let (low, high) = self.model.blocks_around(threads);
        let why = format!(
            "{threads} threads are no multiple of {}, or more than {}",
            self.model.warp, self.model.most_threads
        );
        let help = if low == high {
            format!("the nearest size is `block({low})`")
        } else {
            format!("the nearest sizes are `block({low})` and `block({high})`")
        };
        let span = map.directives.spans.block;
        self.refuse(
            span,
            span_of(map),
            &format!("`block({threads})`"),
            &BLOCK_THREADS.refused(span.unwrap_or(span_of(map)), why),
            &help,
        );
    }

    /// A map inside of another: where the host runs the iterations around it, it is launched by itself, and has a block.
    fn inner(&mut self, map: &Map, around: &Map, launched: bool) {
        let Directives { levels, block, spans, .. } = &map.directives;
        let why = OUTERMOST.refused(span_of(map), "this map is inside of another, which is launched as a whole");
        let help =
            "move the directive to the outermost map, or write `kernel` there, so that the maps inside are launched";
        if !levels.is_empty() {
            let words: Vec<String> = levels.iter().map(|level| format!("`{}`", level.name())).collect();
            let help = "move the directive to the outermost map";
            self.refuse(spans.level, span_of(around), &words.join(" "), &why, help);
        }
        match block {
            Some(_) if launched => self.block(map),
            Some(threads) => {
                self.refuse(spans.block, span_of(around), &format!("`block({threads})`"), &why, help);
            }
            None => {}
        }
        for inner in inner_maps(&map.body) {
            self.inner(inner, map, false);
        }
    }

    /// Loops are written out wherever they are; prefixes are made by the library.
    fn unroll(&mut self, map: &Map) {
        let Some(times) = map.directives.unroll else { return };
        if map.folds.iter().any(|fold| fold.kind != FoldKind::Reduce) {
            let (why, help) = (LOOP.refused(span_of(map), "the map makes prefixes"), "leave the directive out");
            let span = map.directives.spans.unroll;
            self.refuse(span, span_of(map), &format!("`unroll({times})`"), &why, help);
        }
    }

    /// A primitive that no pass has made a map of is one call of the library.
    fn primitive(&mut self, directives: &Directives, call: Span) {
        let Directives { levels, block, unroll, spans, .. } = directives;
        let words = [
            (levels.first().map(|level| level.name().to_owned()), spans.level),
            (block.map(|threads| format!("block({threads})")), spans.block),
            (unroll.map(|times| format!("unroll({times})")), spans.unroll),
        ];
        for (word, span) in words {
            if let Some(word) = word {
                let why = LOOP.refused(call, "a primitive is run by the library, which chooses by itself");
                self.refuse(span, call, &format!("`{word}`"), &why, "leave the directive out");
            }
        }
    }

    /// Directives that contradict each other.
    fn clash(&mut self, Clash { at, headline, label, other }: Clash) {
        if !self.reported.insert(at) {
            return;
        }
        let mut diagnostic = Diagnostic::new(Code::DirectiveArgument, at, headline).label(label);
        if let Some((other, what)) = other {
            diagnostic = diagnostic.also(other, what);
        }
        self.sink.push(diagnostic);
    }

    /// Directives that pin what the nest cannot have.
    fn refused(&mut self, map: &Map, Refused { at, refusal, nearest }: Refused) {
        if !self.reported.insert(at) {
            return;
        }
        let label = format!("constraint `{}`", refusal.constraint.id);
        let mut diagnostic =
            Diagnostic::new(Code::UnfitDirective, at, format!("cannot be honoured: {refusal}")).label(label);
        let blamed = if refusal.at == at { span_of(map) } else { refusal.at };
        diagnostic = diagnostic.also(blamed, "what cannot run so");
        diagnostic.notes.push(refusal.note());
        if let Some(nearest) = nearest {
            let lines: Vec<String> = nearest.to_string().lines().map(str::to_owned).collect();
            diagnostic = diagnostic.help(format!("the nearest mapping that fits is\n{}", lines.join("\n")));
        }
        self.sink.push(diagnostic);
    }

    fn refuse(&mut self, at: Option<Span>, map: Span, words: &str, refusal: &Refusal, help: &str) {
        let at = at.unwrap_or(map);
        if !self.reported.insert(at) {
            return;
        }
        let headline = format!("{words} cannot be honoured");
        let mut diagnostic = Diagnostic::new(Code::UnfitDirective, at, headline).label(refusal.to_string());
        if at != map {
            diagnostic = diagnostic.also(map, "the statement that it is for");
        }
        diagnostic.notes.push(refusal.note());
        self.sink.push(diagnostic.help(help.to_owned()));
    }
}
