//! Where lanes that went different ways meet again: at the first instruction that all ways from a branch come to. Ways to a call are left out, since none is run: they lead to
//! reports of faults, for which machine code has lanes that stay meet at the end of a loop all the same.

use crate::instr::{Instr, Op};

/// Behind the last instruction.
pub(crate) const END: usize = usize::MAX;

#[derive(Debug, Default)]
pub(crate) struct Flow {
    /// Of each instruction: whether others may branch to it, or it is behind a branch.
    pub(crate) is_first: Vec<bool>,
    /// Of branches.
    pub(crate) meets: Vec<usize>,
}

pub(crate) fn of(code: &[Instr]) -> Flow {
    let mut is_first = vec![false; code.len()];
    if let Some(first) = is_first.first_mut() {
        *first = true;
    }
    for (at, instr) in code.iter().enumerate() {
        let ends = matches!(instr.op, Op::Branch | Op::Return);
        if instr.op == Op::Branch && instr.to < code.len() {
            is_first[instr.to] = true;
        }
        if ends && at + 1 < code.len() {
            is_first[at + 1] = true;
        }
    }
    let starts: Vec<usize> = (0..code.len()).filter(|at| is_first[*at]).collect();
    let block_of =
        |at: usize| if at < code.len() { starts.partition_point(|start| *start <= at) - 1 } else { starts.len() };
    let next: Vec<Vec<usize>> = (0..starts.len())
        .map(|block| {
            let last = starts.get(block + 1).map_or(code.len(), |start| *start) - 1;
            let instr = &code[last];
            let behind = block_of(last + 1);
            match instr.op {
                Op::Branch if instr.guard.is_none() => vec![block_of(instr.to)],
                Op::Branch => vec![block_of(instr.to), behind],
                Op::Return if instr.guard.is_none() => vec![starts.len()],
                Op::Return => vec![starts.len(), behind],
                _ => vec![behind],
            }
        })
        .collect();
    let calls = |block: usize| {
        let end = starts.get(block + 1).map_or(code.len(), |start| *start);
        code[starts[block]..end].iter().any(|instr| instr.op == Op::Call)
    };
    let after = post_dominators(&without_calls(next, calls));
    let mut meets = vec![END; code.len()];
    for at in (0..code.len()).filter(|at| code[*at].op == Op::Branch) {
        let meeting = after[block_of(at)];
        meets[at] = starts.get(meeting).copied().unwrap_or(END);
    }
    Flow { is_first, meets }
}

/// Ways out of blocks but those that end in a call, unless all do.
fn without_calls(next: Vec<Vec<usize>>, calls: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
    let mut is_cold: Vec<bool> = (0..next.len()).map(calls).collect();
    loop {
        let cold = |block: usize| !is_cold[block] && next[block].iter().all(|way| is_cold.get(*way) == Some(&true));
        let more: Vec<usize> = (0..next.len()).filter(|block| cold(*block)).collect();
        if more.is_empty() {
            break;
        }
        more.into_iter().for_each(|block| is_cold[block] = true);
    }
    let warm = |ways: Vec<usize>| {
        let kept: Vec<usize> = ways.iter().copied().filter(|way| is_cold.get(*way) != Some(&true)).collect();
        if kept.is_empty() { ways } else { kept }
    };
    next.into_iter().map(warm).collect()
}

/// The nearest block through which all ways from each go, by the ways out of each; the one behind all others stands for the end.
fn post_dominators(next: &[Vec<usize>]) -> Vec<usize> {
    let end = next.len();
    let mut before = vec![Vec::new(); end + 1];
    for (block, ways) in next.iter().enumerate() {
        ways.iter().for_each(|way| before[*way].push(block));
    }
    let order = backwards(&before, end);
    let mut rank = vec![usize::MAX; end + 1];
    order.iter().enumerate().for_each(|(at, block)| rank[*block] = at);
    let mut found = vec![usize::MAX; end + 1];
    found[end] = end;
    loop {
        let mut changed = false;
        for &block in &order[1..] {
            let known = next[block].iter().copied().filter(|way| found[*way] != usize::MAX);
            let meeting = known.reduce(|mut a, mut b| {
                while a != b {
                    if rank[a] > rank[b] { a = found[a] } else { b = found[b] }
                }
                a
            });
            let meeting = meeting.unwrap_or(end);
            changed |= found[block] != meeting;
            found[block] = meeting;
        }
        if !changed {
            break;
        }
    }
    found.truncate(end);
    // From a loop without an end no way leads anywhere.
    found.into_iter().map(|block| if block == usize::MAX { end } else { block }).collect()
}

/// Blocks from the end on, each behind one of those that it leads to.
fn backwards(before: &[Vec<usize>], end: usize) -> Vec<usize> {
    let mut seen = vec![false; before.len()];
    let (mut left, mut stack) = (Vec::new(), vec![(end, 0)]);
    seen[end] = true;
    while let Some((block, at)) = stack.pop() {
        match before[block].get(at) {
            Some(&way) => {
                stack.push((block, at + 1));
                if !seen[way] {
                    seen[way] = true;
                    stack.push((way, 0));
                }
            }
            None => left.push(block),
        }
    }
    left.reverse();
    left
}
