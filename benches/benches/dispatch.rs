//! What it costs to choose a version: calls of a kernel that does nothing, by rules, by rules after a look for tuning records,
//! and with a forced plan.

use criterion::{Criterion, criterion_group, criterion_main};
use hidp_benches::kernels::blas;
use hidp_std::Context;

fn dispatch(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("dispatch");
    let cx = Context::builder().cpu().threads(1).build().expect("a context");
    let tuned = Context::builder().cpu().threads(1).tuning("there is no such file").build().expect("a context");
    let (a, mut y) = ([0.0f32; 0], [0.0f32; 0]);
    for (name, cx) in [("by rules", cx.clone()), ("with records", tuned), ("forced plan", cx.with_plan("rows"))] {
        let mut call = || blas::row_sums(&cx, &(&a[..], [0, 4]), &mut y[..]).expect("row sums run");
        group.bench_function(name, |bencher| bencher.iter(&mut call));
    }
    group.finish();
}

criterion_group!(benches, dispatch);
criterion_main!(benches);
