//! Every contender of every case as a criterion benchmark: `cargo bench -p hidp-benches --features criterion -- "dot"`.
//!
//! `cargo xtask bench` interleaves contenders and is what to quote; this is for following one kernel over time.

use criterion::{Criterion, Throughput};
use hidp_benches::Limit;
use hidp_benches::cases;

fn main() {
    let mut criterion = Criterion::default().sample_size(10).configure_from_args();
    for recipe in cases::all() {
        // Cases allocate up to a gigabyte, so that one is made only if the filter on the command line can select it.
        let wanted =
            std::env::args().skip(1).filter(|word| !word.starts_with('-')).all(|word| recipe.name.contains(&word));
        if !wanted {
            continue;
        }
        let case = recipe.make();
        let mut group = criterion.benchmark_group(&recipe.name);
        group.throughput(match case.limit {
            Limit::Read(bytes) | Limit::Stream(bytes) => Throughput::Bytes(bytes as u64),
            Limit::Flops(amount) | Limit::DoubleFlops(amount) | Limit::Cells(amount) => {
                Throughput::Elements(amount as u64)
            }
        });
        for mut contender in case.contenders {
            group.bench_function(contender.name, |bencher| bencher.iter(&mut contender.run));
        }
        group.finish();
    }
    criterion.final_summary();
}
