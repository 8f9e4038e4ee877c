//! What is found for the recurrences that people write, and for random ones.

mod pinned;
mod programs;
mod random;
mod refused;

use hidp_ir::par::{Block, Iter, Program, StmtKind, VarId, VarKind, read};

use super::model::{Model, Work};
use super::{Order, Recurrence, Refusal, Row};

/// A system under test.
pub(super) struct System {
    program: Program,
    tables: Vec<(VarId, Vec<Iter>, Block)>,
}

impl System {
    /// Inputs as `par` writes variables, `c: uint[N] input;`, and tables: name, ranges, body. Arrays of tables have their rank alone;
    /// dimensions are `N`, `M`, `K`, scalars of type `long` are `p` and `q`, a local is `v`, loop variables are `k` and `l`, an iterator is `r`.
    pub(super) fn new(inputs: &str, tables: &[(&str, &str, &str)]) -> System {
        let mut vars = "N: long dim; M: long dim; K: long dim; p: long input; q: long input; ".to_owned();
        vars += "k: long local; l: long local; r: long iter; v: double local; ";
        vars += inputs;
        let (mut params, mut maps, mut indices) = ("p, q".to_owned(), String::new(), Vec::new());
        for part in inputs.split(';').filter(|part| part.trim().ends_with("input")) {
            params += &format!(", {}", part.split(':').next().unwrap_or_default().trim());
        }
        for (name, ranges, body) in tables {
            let rank = ranges.split("; ").count();
            vars += &format!("{name}: double[{}] output; ", vec!["N"; rank].join(", "));
            params += &format!(", {name}");
            for range in ranges.split("; ") {
                let index = range.split(" =").next().unwrap_or_default().to_owned();
                if !indices.contains(&index) {
                    vars += &format!("{index}: long iter; ");
                    indices.push(index);
                }
            }
            let ranges: Vec<String> = ranges.split("; ").map(|range| format!("{range} by 1")).collect();
            maps += &format!("map ({}) {{ {body} }}\n", ranges.join(", "));
        }
        let text = format!("func f({params}) dims (N, M, K) {{ vars {{ {vars} }}\n{maps} }}\nentries (f)");
        let program = read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let func = &program.funcs[program.entries[0]];
        let array = |name: &str| func.vars.iter().find(|(_, var)| var.name == name).expect("a table").0;
        let maps = func.body.stmts.iter().zip(tables).map(|(stmt, (name, ..))| match &stmt.kind {
            StmtKind::Map(map) => (array(name), map.iters.clone(), map.body.clone()),
            other => panic!("{other:?}"),
        });
        let tables = maps.collect();
        System { program, tables }
    }

    pub(super) fn recurrences(&self) -> Vec<Recurrence<'_>> {
        self.tables.iter().map(|(array, index, body)| Recurrence { array: *array, index, body }).collect()
    }

    pub(super) fn order(&self) -> Result<Order, Refusal> {
        super::order(&self.program.funcs[self.program.entries[0]].vars, &self.recurrences())
    }

    pub(super) fn pinned(&self, rows: &[Vec<Row>]) -> Result<Order, Refusal> {
        super::pinned(&self.program.funcs[self.program.entries[0]].vars, &self.recurrences(), rows)
    }

    /// What the analysis costs.
    pub(super) fn work(&self) -> Work {
        let mut model = Model::read(&self.program.funcs[self.program.entries[0]].vars, &self.recurrences());
        let _ = model.order();
        model.work
    }
}

/// The preferred schedule as `name: row; row | rank | window`, and the nest.
pub(super) fn shown(system: &System) -> String {
    let order = match system.order() {
        Ok(order) => order,
        Err(refusal) => return format!("{refusal:#?}"),
    };
    let func = &system.program.funcs[system.program.entries[0]];
    let mut text = String::new();
    for ((array, index, _), table) in system.tables.iter().zip(&order.schedules[0].tables) {
        let rows: Vec<String> = table.rows.iter().map(|row| row_text(row, index, func)).collect();
        let window = table.window.map_or("table".to_owned(), |window| window.to_string());
        text += &format!("{}: {} rank {} window {window}\n", func.vars[*array].name, rows.join("; "), table.rank);
    }
    for other in &order.schedules[1..] {
        let rows =
            other.tables.iter().zip(&system.tables).map(|(table, (_, index, _))| row_text(&table.rows[0], index, func));
        text += &format!("or {}\n", rows.collect::<Vec<_>>().join(", "));
    }
    if let Some(nest) = order.nest {
        text += &format!("nest {:?}\n", nest.flips);
    }
    text
}

fn row_text(row: &Row, index: &[Iter], func: &hidp_ir::par::Func) -> String {
    let mut text = String::new();
    for (factor, iter) in row.iter().zip(index).filter(|(factor, _)| **factor != 0) {
        let name = &func.vars[iter.var].name;
        assert_eq!(func.vars[iter.var].kind, VarKind::Iter);
        text += match (text.is_empty(), *factor > 0) {
            (true, true) => "",
            (true, false) => "-",
            (false, true) => " + ",
            (false, false) => " - ",
        };
        text += &if factor.abs() == 1 { name.clone() } else { format!("{}{name}", factor.abs()) };
    }
    if text.is_empty() { "0".to_owned() } else { text }
}
