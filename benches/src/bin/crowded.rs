//! How calls fare where other processes want the processors: `crowded [PROCESSES] [SECONDS]`, 8 and 3 per row if nothing is said.
//!
//! For each kernel the time of a call on one thread, on all that the machine has, and on as many of OpenMP's or rayon's where there is a peer,
//! interleaved: first while nobody else runs, then beside processes that compute all the time. What to look at is the last column: a team
//! must not be much slower than one thread, whatever else runs.

use std::process::{Child, Command};
use std::time::Instant;

use hidp_benches::buffer::Buffer;
use hidp_benches::kernels::{blas, prims, stencil};
use hidp_benches::peers;
use hidp_benches::random::Random;
use hidp_std::Context;

/// The same work by another library.
type Peer = (&'static str, Box<dyn FnMut()>);

/// A call on `one`, on `all`, and by a peer.
struct Row {
    name: &'static str,
    call: Box<dyn FnMut(&Context)>,
    peer: Option<Peer>,
}

fn rows() -> Vec<Row> {
    let n = 1 << 24;
    let b = Buffer::from_fn(n, |i| i as f32);
    let (mut a, mut a2) = (Buffer::from_fn(n, |_| 0.0f32), Buffer::from_fn(n, |_| 0.0f32));
    let c = Buffer::from_fn(n, |i| i as f32);
    let (b2, c2) = (Buffer::from_fn(n, |i| i as f32), Buffer::from_fn(n, |i| i as f32));
    let x = Buffer::from_fn(n, |i| (i % 7) as i32);
    let (mut y, mut z) = (Buffer::from_fn(n, |_| 0i32), Buffer::from_fn(n, |i| (i % 7) as i32));
    let mut random = Random::new(1);
    let keys = Buffer::from_fn(1 << 21, |_| random.bits() as u32);
    let mut sorted = Buffer::from_fn(keys.len(), |_| 0u32);
    let grid = Buffer::from_fn(192 * 192 * 192, |i| (i % 11) as f64);
    let mut next = Buffer::from_fn(grid.len(), |_| 0.0f64);
    let extents = [192, 192, 192];
    vec![
        Row {
            name: "triad f32 2^24",
            call: Box::new(move |cx| blas::triad(cx, &b[..], &c[..], 3.0, &mut a[..]).expect("triad runs")),
            peer: Some(("OpenMP", Box::new(move || peers::triad(&mut a2, &b2, &c2, 3.0)))),
        },
        Row {
            name: "jacobi7 f64 192^3",
            call: Box::new(move |cx| {
                stencil::jacobi7(cx, &(&grid[..], extents), 0.4, 0.1, &mut (&mut next[..], extents))
                    .expect("jacobi7 runs");
            }),
            peer: None,
        },
        Row {
            name: "scan i32 2^24",
            call: Box::new(move |cx| prims::scan_i32(cx, &x[..], &mut y[..]).expect("scan runs")),
            peer: None,
        },
        Row {
            name: "sort u32 2^21",
            call: Box::new(move |cx| {
                sorted.copy_from_slice(&keys);
                prims::sort_u32(cx, &mut sorted[..]).expect("sort runs");
            }),
            peer: None,
        },
        Row {
            name: "max i32 2^24",
            call: Box::new(move |cx| {
                z[0] += 1;
                std::hint::black_box(prims::max_i32(cx, &z[..]).expect("max runs"));
            }),
            peer: None,
        },
    ]
}

/// Median, lower and upper quartile, in milliseconds.
fn quartiles(mut times: Vec<f64>) -> [f64; 3] {
    times.sort_by(f64::total_cmp);
    [2, 1, 3].map(|quarter| times[(times.len() - 1) * quarter / 4] * 1e3)
}

fn time(call: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    call();
    start.elapsed().as_secs_f64()
}

fn measure(seconds: f64) {
    let contexts =
        [Context::builder().cpu().threads(1), Context::builder().cpu()].map(|b| b.build().expect("a context"));
    println!(
        "  {:<18} | {:>22} | {:>22} | {:>22} | all / one",
        "median [quartiles]", "one thread", "all threads", "peer"
    );
    for mut row in rows() {
        let mut times: [Vec<f64>; 3] = Default::default();
        let start = Instant::now();
        while start.elapsed().as_secs_f64() < seconds || times[0].len() < 7 {
            for (cx, times) in contexts.iter().zip(&mut times) {
                times.push(time(&mut || (row.call)(cx)));
            }
            if let Some((_, peer)) = &mut row.peer {
                times[2].push(time(peer));
            }
        }
        let text = |[median, low, high]: [f64; 3]| format!("{median:.1} [{low:.1}, {high:.1}] ms");
        let [one, all, peer] = times;
        let peer = match &row.peer {
            Some((name, _)) => format!("{name} {}", text(quartiles(peer))),
            None => String::new(),
        };
        let (one, all) = (quartiles(one), quartiles(all));
        println!("  {:<18} | {:>22} | {:>22} | {:>22} | {:.2}", row.name, text(one), text(all), peer, all[0] / one[0]);
    }
}

/// Others that want the processors, until they are dropped.
struct Crowd(Vec<Child>);

impl Crowd {
    fn new(processes: usize) -> Crowd {
        let program = std::env::current_exe().expect("this program has a name");
        Crowd((0..processes).map(|_| Command::new(&program).arg("compute").spawn().expect("a process")).collect())
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What the others do: they end by themselves, should nobody end them.
fn compute() {
    let start = Instant::now();
    let mut sum = 1u64;
    while start.elapsed().as_secs() < 120 {
        for i in 0..1_000_000 {
            sum = std::hint::black_box(sum.wrapping_mul(i | 1));
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == "compute") {
        return compute();
    }
    let number = |at: usize, usual: f64| args.get(at).map_or(usual, |arg| arg.parse().expect("a number"));
    let (processes, seconds) = (number(0, 8.0) as usize, number(1, 3.0));
    println!("alone:");
    measure(seconds);
    let crowd = Crowd::new(processes);
    println!("beside {processes} processes:");
    measure(seconds);
    drop(crowd);
}
