//! A transform on rayon. Its loops are compiled for AVX-512 too, as `target-cpu=native` has it where the processor has it.

use rayon::prelude::*;

/// Butterflies of a task.
const TASK: usize = 4096;

/// The transform of a power of two of complex numbers; `s` is for what is between.
pub fn fft([re, im]: [&mut [f64]; 2], [sr, si]: [&mut [f64]; 2], [wr, wi]: [&[f64]; 2]) {
    let n = re.len();
    assert!(n.is_power_of_two() && [im.len(), sr.len(), si.len()] == [n; 3] && [wr.len(), wi.len()] == [n / 2; 2]);
    let (mut from, mut to) = ([re, im], [sr, si]);
    let mut width = 1;
    while width < n {
        let [re, im] = &mut to;
        step(Step { re: from[0], im: from[1], wr, wi, width }, re, im);
        std::mem::swap(&mut from, &mut to);
        width *= 2;
    }
    if n.ilog2() % 2 == 1 {
        to.into_iter().zip(from).for_each(|(to, from)| to.copy_from_slice(from));
    }
}

/// What one step reads, and the width of what is transformed already.
#[derive(Clone, Copy)]
struct Step<'a> {
    re: &'a [f64],
    im: &'a [f64],
    wr: &'a [f64],
    wi: &'a [f64],
    width: usize,
}

/// Tasks are many blocks of two widths each, or pieces of a block.
fn step(step: Step<'_>, re: &mut [f64], im: &mut [f64]) {
    let (width, task) = (step.width, TASK.max(step.width));
    re.par_chunks_mut(2 * task).zip(im.par_chunks_mut(2 * task)).enumerate().for_each(|(number, (re, im))| {
        let first = number * task;
        if width < TASK {
            return for_this_machine(|| blocks(step, first, re, im));
        }
        let ((lr, hr), (li, hi)) = (re.split_at_mut(width), im.split_at_mut(width));
        let low = lr.par_chunks_mut(TASK).zip(li.par_chunks_mut(TASK));
        let high = hr.par_chunks_mut(TASK).zip(hi.par_chunks_mut(TASK));
        low.zip(high).enumerate().for_each(|(piece, ((lr, li), (hr, hi)))| {
            for_this_machine(|| of_one_turn(step, first, first + piece * TASK, [lr, li, hr, hi]));
        });
    });
}

fn for_this_machine(run: impl FnOnce()) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512vl")]
        fn wide(run: impl FnOnce()) {
            run();
        }
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
            // SAFETY: the processor has the instructions.
            return unsafe { wide(run) };
        }
    }
    run();
}

/// The blocks from butterfly `first` on.
#[inline(always)]
fn blocks(step: Step<'_>, first: usize, re: &mut [f64], im: &mut [f64]) {
    let width = step.width;
    for (block, (re, im)) in re.chunks_exact_mut(2 * width).zip(im.chunks_exact_mut(2 * width)).enumerate() {
        let ((lr, hr), (li, hi)) = (re.split_at_mut(width), im.split_at_mut(width));
        let turn = first + block * width;
        of_one_turn(step, turn, turn, [lr, li, hr, hi]);
    }
}

/// The butterflies from `at` on, which are all of one turn.
#[inline(always)]
fn of_one_turn(step: Step<'_>, turn: usize, at: usize, [lr, li, hr, hi]: [&mut [f64]; 4]) {
    let (count, half) = (lr.len(), step.re.len() / 2);
    let (c, s) = (step.wr[turn], step.wi[turn]);
    let [ar, br, ai, bi] =
        [&step.re[at..], &step.re[at + half..], &step.im[at..], &step.im[at + half..]].map(|part| &part[..count]);
    let [li, hr, hi] = [li, hr, hi].map(|part| &mut part[..count]);
    for k in 0..count {
        let (dr, di) = (ar[k] - br[k], ai[k] - bi[k]);
        lr[k] = ar[k] + br[k];
        li[k] = ai[k] + bi[k];
        hr[k] = dr * c - di * s;
        hi[k] = dr * s + di * c;
    }
}
