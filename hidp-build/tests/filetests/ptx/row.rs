//! A row of the table: sums over the launches of a call.

use hidp_build::compiler::target::DeviceModel;
use hidp_ptx::{Class, Counts, Needs};

use super::called::Launched;
use super::time::{Bound, busy};

pub(super) const HEAD: &str = "\
| program, sizes | version | launches | instructions | float, integer, memory, control, meeting % | issue slots | requests | sectors | different: blocks | launches | turns | without conflicts | barriers | idle lanes | registers | spilled | shared | time us | without launching | longest | of by hand |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|";

/// What a program's call comes to.
pub(super) struct Row {
    plan: String,
    sum: Counts,
    launches: u64,
    needs: Needs,
    /// Nanoseconds in kernels, and with launching.
    busy: f64,
    time: f64,
    longest: Bound,
}

type Column = (&'static str, fn(&Row) -> f64);

/// What is compared with programs by hand.
pub(super) const COLUMNS: [Column; 9] = [
    ("time", Row::time),
    ("launches", |row| row.launches as f64),
    ("issue slots", |row| row.sum.slots as f64),
    ("requests", |row| row.sum.requests as f64),
    ("sectors", |row| row.sum.sectors as f64),
    ("different sectors of blocks", |row| row.sum.block_sectors as f64),
    ("turns", |row| row.sum.turns as f64),
    ("updates of one place", |row| row.sum.hottest as f64),
    ("spilled", |row| f64::from(row.needs.spilled)),
];

impl Row {
    pub(super) fn new(plan: String, launches: Vec<Launched>, model: &DeviceModel) -> Row {
        let times: Vec<(f64, Bound)> = launches.iter().map(|(needs, counts)| busy(counts, *needs, model)).collect();
        let longest = times.iter().max_by(|a, b| a.0.total_cmp(&b.0)).map_or(Bound::Latency, |(_, bound)| *bound);
        let busy: f64 = times.iter().map(|(time, _)| time).sum();
        let most = |of: fn(&Needs) -> u32| launches.iter().map(|(needs, _)| of(needs)).max().unwrap_or(0);
        let needs =
            Needs { registers: most(|n| n.registers), spilled: most(|n| n.spilled), shared: most(|n| n.shared) };
        let (count, barriers) =
            launches.iter().fold((0, 0), |(launches, barriers), (_, counts)| match counts.goes_on {
                true => (launches, barriers + 1),
                false => (launches + 1, barriers),
            });
        let sum = launches.into_iter().fold(Counts::default(), |sum, (_, counts)| sum.plus(&counts));
        let meeting = f64::from(barriers) * f64::from(model.machine.barrier);
        let time = busy + meeting + count as f64 * f64::from(model.machine.launch);
        Row { plan, sum, launches: count, needs, busy, time, longest }
    }

    pub(super) fn time(&self) -> f64 {
        self.time
    }

    pub(super) fn text(&self, title: &str, version: &str, hand: &Row) -> String {
        let Row { plan, sum, launches, needs, busy, time, longest } = self;
        let plan = if plan.is_empty() { String::new() } else { format!(": `{plan}`") };
        let share = |part: u64, all: u64| 100.0 * part as f64 / all.max(1) as f64;
        let classes = [Class::Float, Class::Integer, Class::Memory, Class::Control, Class::Meeting];
        let kinds =
            classes.map(|class| format!("{:.0}", share(sum.by_class[class as usize], sum.instructions))).join(" ");
        let [slots, requests, sectors, blocks] = [sum.slots, sum.requests, sum.sectors, sum.block_sectors].map(short);
        let [launch, turns, least, barriers] =
            [sum.launch_sectors, sum.turns, sum.least_turns, sum.barriers].map(short);
        let (instructions, idle) = (short(sum.instructions), share(sum.idle, sum.idle + sum.lanes));
        let Needs { registers, spilled, shared } = needs;
        let (time, busy) = (time / 1000.0, busy / 1000.0);
        let ratio = self.time / hand.time;
        format!(
            "| {title} | {version}{plan} | {launches} | {instructions} | {kinds} | {slots} | {requests} | {sectors} | {blocks} | {launch} | {turns} | {least} \
             | {barriers} | {idle:.0} % | {registers} | {spilled} | {shared} | {time:.1} | {busy:.1} | {} | {ratio:.2} |",
            longest.name()
        )
    }
}

/// With four digits at least.
fn short(count: u64) -> String {
    match count {
        0..100_000 => count.to_string(),
        100_000..10_000_000 => format!("{}k", count / 1000),
        _ => format!("{}M", count / 1_000_000),
    }
}
