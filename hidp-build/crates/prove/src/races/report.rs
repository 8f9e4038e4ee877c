//! Tells the user about conflicts.

use crate::context::Context;
use hidp_syntax::diag::{Code, Diagnostic, Sink};

use super::pair::{Conflict, Findings, Problem, Witness};
use super::record::{Accessed, Doing, Frame};

/// Reports what `findings` holds.
pub(super) fn report(cx: &Context<'_>, findings: &Findings<'_>, sink: &mut Sink) {
    for conflict in &findings.conflicts {
        sink.push(diagnostic(cx, conflict));
    }
}

fn diagnostic(cx: &Context<'_>, conflict: &Conflict<'_>) -> Diagnostic {
    let array = cx.vars[conflict.first.array].name.as_str();
    match &conflict.problem {
        Problem::BothWrite(witness) => both_write(cx, conflict, array, witness),
        Problem::ReadWrite(witness) => read_write(cx, conflict, array, witness),
        Problem::AtomicAndPlain => atomic_and_plain(conflict, array),
        Problem::Primitive => primitive(conflict, array),
    }
}

fn both_write(cx: &Context<'_>, conflict: &Conflict<'_>, array: &str, witness: &Witness) -> Diagnostic {
    let frame = &conflict.first.chain[witness.level];
    let headline = format!("iterations of this map write the same element of `{array}`");
    let mut diagnostic = Diagnostic::new(Code::SameElementWritten, conflict.first.span, headline);
    let changing: Vec<usize> = (0..witness.distance.len()).filter(|&at| witness.distance[at] != 0).collect();
    let names: Vec<String> = changing.iter().map(|&at| format!("`{}`", name(cx, frame, at))).collect();
    if std::ptr::eq(conflict.first, conflict.second) {
        if let ([_], Some(&at)) = (names.as_slice(), changing.first()) {
            diagnostic = diagnostic
                .label(format!("iterations that differ only in {} write this element", names[0]))
                .also(frame.iter_spans[at], "does not select the element");
        } else {
            diagnostic = diagnostic.label("different iterations write this element");
        }
    } else {
        diagnostic = diagnostic
            .label(format!("written by iteration {}", iteration(cx, frame, None)))
            .also(conflict.second.span, format!("and by {}", other_iteration(cx, frame, witness)));
    }
    let over: Vec<String> = changing.iter().map(|&at| format!("{} := [*]", name(cx, frame, at))).collect();
    diagnostic
        .note("iterations run in any order and at the same time, so the value that stays would be arbitrary")
        .help(format!(
            "to combine the values, give them to a scalar `_v` of the map and add a suffix such as \
             `reduce(\"+\", {array}…, _v, {})`",
            over.join(", ")
        ))
        .help("to count or to keep an extreme, update the element with `atomic`")
}

fn read_write(cx: &Context<'_>, conflict: &Conflict<'_>, array: &str, witness: &Witness) -> Diagnostic {
    let frame = &conflict.first.chain[witness.level];
    let headline = format!("an iteration of this map reads an element of `{array}` that another one writes");
    Diagnostic::new(Code::OthersElementRead, conflict.first.span, headline)
        .label(format!("read by iteration {}", iteration(cx, frame, None)))
        .also(conflict.second.span, format!("written by {}", other_iteration(cx, frame, witness)))
        .note("iterations run in any order and at the same time, so either value might be read")
        .help(format!("write to a second array and exchange it with `{array}` after the map (`swap`)"))
        .help("if one iteration needs the result of another, use a `for` loop, or `scan` for running sums")
}

fn atomic_and_plain(conflict: &Conflict<'_>, array: &str) -> Diagnostic {
    let (plain, atomic) = match conflict.first.doing {
        Doing::Atomic => (conflict.second, conflict.first),
        Doing::Read | Doing::Write => (conflict.first, conflict.second),
    };
    let headline = format!("`{array}` is updated by `atomic` and accessed otherwise in one map");
    Diagnostic::new(Code::AtomicAndPlain, plain.span, headline)
        .label(match plain.doing {
            Doing::Read => "read here without `atomic`",
            Doing::Write | Doing::Atomic => "written here without `atomic`",
        })
        .also(atomic.span, "updated atomically here")
        .help("read or write the array in a map of its own, before or after this one")
}

fn primitive(conflict: &Conflict<'_>, array: &str) -> Diagnostic {
    let headline = format!("other iterations may touch elements of `{array}` while a primitive works on them");
    let (prim, other) = if conflict.first.prim.is_some() {
        (conflict.first, conflict.second)
    } else {
        (conflict.second, conflict.first)
    };
    Diagnostic::new(Code::PrimitiveDisturbed, prim.span, headline)
        .label(what(prim, "by the primitive"))
        .also(other.span, format!("{}, perhaps by another iteration", what(other, "here")))
        .help("use another array for one of them, or split the map in two")
}

fn what(access: &Accessed, place: &str) -> String {
    match access.doing {
        Doing::Read => format!("read {place}"),
        Doing::Write => format!("written {place}"),
        Doing::Atomic => format!("updated {place}"),
    }
}

fn name<'c>(cx: &Context<'c>, frame: &Frame, at: usize) -> &'c str {
    &cx.vars[frame.positions[at].var].name
}

/// `i`, `i - 1` or `(i, j + 1)`.
fn iteration(cx: &Context<'_>, frame: &Frame, distance: Option<&[i128]>) -> String {
    let one = |at: usize| {
        let stride = frame.positions[at].stride.unwrap_or(1);
        let shift = distance.map_or(0, |distance| distance[at]).saturating_mul(stride);
        let name = name(cx, frame, at);
        match shift {
            0 => name.to_owned(),
            shift if shift > 0 => format!("{name} + {shift}"),
            shift => format!("{name} - {}", shift.unsigned_abs()),
        }
    };
    let all: Vec<String> = (0..frame.positions.len()).map(one).collect();
    if all.len() == 1 { format!("`{}`", all[0]) } else { format!("`({})`", all.join(", ")) }
}

fn other_iteration(cx: &Context<'_>, frame: &Frame, witness: &Witness) -> String {
    if witness.uniform {
        format!("iteration {}", iteration(cx, frame, Some(&witness.distance)))
    } else {
        "another iteration".to_owned()
    }
}
