//! Groups of lanes as text.

use super::print::{Printer, fields, infix, prefix};
use super::{Group, InTurn, Lanes, SetLanes, Taken, Wide, WideCall, WideElement, WideIndex, WideKind, WideStmt};
use crate::par::FoldFn;

impl Printer<'_> {
    pub(super) fn group_head(&self, group: &Group) -> String {
        let Lanes { bits, groups } = group.lanes;
        let (first, here) = (self.name(group.first), self.name(group.here));
        let whole = if group.is_whole { "whole " } else { "" };
        format!(
            "{whole}lanes({bits} bits) x {groups} {first}, {here} in {}..{}",
            self.expr(&group.lo),
            self.expr(&group.hi)
        )
    }

    pub(super) fn turn_head(&self, turn: &InTurn) -> String {
        let taken = |taken: &Taken| format!(", {} = {}", self.name(taken.scalar), self.name(taken.wide));
        let taken: String = turn.taken.iter().map(taken).collect();
        format!("in turn {}: {}{taken}", self.name(turn.mask), self.name(turn.lane))
    }

    pub(super) fn wide_stmt(&self, stmt: &WideStmt) -> String {
        match stmt {
            WideStmt::Let { var, init: Some(init) } => format!("let {} = {}", self.typed(*var), self.wide(init)),
            WideStmt::Let { var, init: None } => format!("let {}", self.typed(*var)),
            WideStmt::Here(mask) => format!("here {}", self.name(*mask)),
            WideStmt::Anew(var) => format!("anew {}", self.name(*var)),
            WideStmt::Set { var, value, lanes: SetLanes::All } => {
                format!("all: {} = {}", self.name(*var), self.wide(value))
            }
            WideStmt::Set { var, value, lanes: SetLanes::Here } => {
                format!("{} = {}", self.name(*var), self.wide(value))
            }
            WideStmt::Set { var, value, lanes: SetLanes::Only(mask) } => {
                format!("{}: {} = {}", self.name(*mask), self.name(*var), self.wide(value))
            }
            WideStmt::Store { target, value } => format!("{} = {}", self.wide_element(target), self.wide(value)),
            WideStmt::Update { target, op, value } => {
                format!("update {} by {} {}", self.wide_element(target), self.fold(*op), self.wide(value))
            }
            WideStmt::AddUp { sum, mask, value } => {
                format!("add up {}: {} + {}", self.name(*mask), self.name(*sum), self.name(*value))
            }
        }
    }

    fn wide_element(&self, element: &WideElement) -> String {
        let mask = element.mask.map_or(String::new(), |mask| format!("{}: ", self.name(mask)));
        let index = match &element.index {
            WideIndex::Own(index) => format!("own {}", self.expr(index)),
            WideIndex::Every { first, stride } => format!("{} by {}", self.expr(first), self.expr(stride)),
            WideIndex::Each(index) => format!("each {}", self.wide(index)),
        };
        let relaxed = if element.relaxed { "relaxed " } else { "" };
        format!("{mask}{relaxed}{}[{index}]{}", self.name(element.base), fields(&element.path))
    }

    fn wides(&self, items: &[Wide]) -> String {
        items.iter().map(|item| self.wide(item)).collect::<Vec<_>>().join(", ")
    }

    fn wide(&self, wide: &Wide) -> String {
        match &wide.kind {
            WideKind::Splat(of) => self.expr(of),
            WideKind::Iota(first) => format!("iota({})", self.expr(first)),
            WideKind::Var(var) => self.name(*var),
            WideKind::Load(element) => format!("({})", self.wide_element(element)),
            WideKind::Unary(op, a) => format!("{}{}", prefix(*op), self.wide(a)),
            WideKind::Binary(op, a, b) => format!("({} {} {})", self.wide(a), infix(*op), self.wide(b)),
            WideKind::MulAdd(a, b, c) => format!("mul_add({}, {}, {})", self.wide(a), self.wide(b), self.wide(c)),
            WideKind::Select(c, a, b) => format!("({} ? {} : {})", self.wide(c), self.wide(a), self.wide(b)),
            WideKind::Cast(a) => format!("{}({})", wide.ty, self.wide(a)),
            WideKind::Math(function, args) => format!("{}({})", function.name(), self.wides(args)),
            WideKind::Call(WideCall { function, args, mask, path }) => {
                let number: String = path.iter().map(|field| format!(".{field}")).collect();
                format!("{}: {}({}){number}", self.name(*mask), self.fold(FoldFn::Fn(*function)), self.wides(args))
            }
        }
    }
}
