//! What the search for mappings of nests finds, as lines: how large the space is, what cut it, and the best mappings at some sizes with the parts
//! of their predicted times.

use hidp_ir::par::{Func, Program, shape};
use hidp_plan::search::{Found, Predicted, Searched, search};
use hidp_plan::target::DeviceModel;

/// The lines of all nests.
pub(super) fn lines(program: &Program, func: &Func, model: &DeviceModel) -> Vec<String> {
    let mut lines = Vec::new();
    for map in hidp_plan::nests(func) {
        lines.push(shape::nested(map).print(program, &func.vars).to_string());
        match search(program, func, map, model) {
            Err(why) => lines.push(format!("  not searched: {why}")),
            Ok(searched) => {
                lines.push(format!("  {}", space(&searched)));
                lines.extend(searched.found.iter().filter_map(|found| best(func, &searched, found)));
            }
        }
    }
    lines
}

/// `36 mappings in 356 steps; cut by block-threads 42, dims 70; 4 like others`
fn space(searched: &Searched) -> String {
    let space = &searched.space;
    let cuts: Vec<String> = space.cuts.iter().map(|(id, count)| format!("{id} {count}")).collect();
    let cuts = if cuts.is_empty() { String::new() } else { format!("; cut by {}", cuts.join(", ")) };
    let alike = if space.alike == 0 { String::new() } else { format!("; {} like others", space.alike) };
    format!("{} mappings in {} steps{cuts}{alike}", space.rows.len(), space.steps)
}

/// `R 1024, C 16: r x(256), c span(all)  6.0 us: work 1.0, launches 5.0; next r y(64), c x(4) span(all)  6.5 us: …`
fn best(func: &Func, searched: &Searched, found: &Found) -> Option<String> {
    let sizes = func.dims.iter().zip(&found.sizes).map(|(dim, size)| format!("{} {size}", func.vars[*dim].name));
    let row =
        |(at, predicted): (usize, Predicted)| format!("{}  {predicted}", searched.print(&searched.space.rows[at].0));
    let mut rows = found.best.iter().copied().map(row);
    let first = rows.next()?;
    let next = rows.next().map_or(String::new(), |next| format!("; next {next}"));
    Some(format!("  {}: {first}{next}", sizes.collect::<Vec<_>>().join(", ")))
}
