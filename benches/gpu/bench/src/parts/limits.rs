//! What the machine can do at most.

use anyhow::Result;

use crate::machine::Machine;
use crate::peers::{peer_copy, peer_fma, peer_fma_threads, peer_memcpy, peer_triad};
use crate::report::{Contender, Work};

pub(super) fn run(machine: &Machine) -> Result<()> {
    if machine.is_tiny() {
        println!("nothing of HiDP is measured here");
        return Ok(());
    }
    let stream = machine.stream();
    let n = 1 << 28;
    let ((_a, a), (_b, b), (_c, c)) =
        (machine.zeros::<f32, 1>([n])?, machine.zeros::<f32, 1>([n])?, machine.zeros::<f32, 1>([n])?);
    let count = n as i64;
    let copies = vec![
        Contender::new("copy kernel", move || peer_copy(stream, a, b, count)),
        Contender::new("cudaMemcpy", move || peer_memcpy(stream, a, b, count)),
    ];
    machine.compare("copy 1 GiB", Work::Bytes(8.0 * n as f64), copies)?;
    let triad = vec![Contender::new("triad kernel", move || peer_triad(stream, a, b, c, 3.0, count))];
    machine.compare("triad of 3 GiB by hand", Work::Bytes(12.0 * n as f64), triad)?;
    let mut threads = 0;
    peer_fma_threads(stream, &mut threads)?;
    let work = Work::Flops(16.0 * 4096.0 * threads as f64);
    machine.compare("fma", work, vec![Contender::new("fma kernel", move || peer_fma(stream, a, 4096))])?;
    Ok(())
}
