//! Cells that are structs become a table for each field that is needed, so that each has a window of its own, in its own type.

use hidp_ir::par::visit::{self, Mutator, Role, change};
use hidp_ir::par::{
    Block, Expr, ExprKind, Nest, Order, Place, Program, Stmt, StmtKind, Struct, System, Table, Var, VarId, VarKind,
};
use hidp_syntax::index::Arena;
use hidp_syntax::ordered::OrdSet;
use hidp_syntax::ty::{StructId, Ty};

use super::asked::{Ask, Asks};
use super::build::{self, Builder};
use super::job::Job;
use super::kept::KeptField;

/// A field of a table.
struct Field {
    number: u32,
    /// What a cell has of it in its body.
    value: VarId,
    /// That of all cells.
    array: VarId,
}

/// The fields of a table that are needed.
struct Fields {
    table: VarId,
    each: Vec<Field>,
}

/// The same job for tables that are no structs. `None` where a struct is needed as a whole, or there is none.
pub(super) fn fields(
    job: &Job,
    program: &mut Program,
    system: &System,
    bodies: &[Block],
) -> Option<(Job, System, Vec<Block>)> {
    if job.kept || !job.alone {
        return None;
    }
    let structs = program.structs.clone();
    let mut builder = Builder::new(&mut program.funcs[job.id]);
    let (mut tables, mut steps, mut own, mut all) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut ranks = Vec::new();
    for (at, (table, body)) in system.tables.iter().zip(bodies).enumerate() {
        let (order, rank) = (&system.order.steps[at], system.order.nest.as_ref().map(|nest| nest.ranks[at]));
        let Ty::Struct(id) = builder.vars[table.array].ty else {
            tables.push(table.clone());
            steps.push(order.clone());
            own.push(body.clone());
            ranks.extend(rank);
            continue;
        };
        let needed = needed(job, bodies, table.array)?;
        if !bodies.iter().all(|body| stores_fields(body, table.array)) {
            return None;
        }
        let fields = Fields::new(&mut builder, &structs, (table.array, id), &needed)?;
        for (number, field) in fields.each.iter().enumerate() {
            tables.push(Table { array: field.array, body: Block::default(), ..table.clone() });
            steps.push(order.clone());
            own.push(if number == 0 { fields.stored(&builder, body, table) } else { Block::default() });
            ranks.extend(rank);
        }
        all.push(fields);
    }
    if all.is_empty() {
        return None;
    }
    let mut loads = Loads { all: &all };
    own.iter_mut().for_each(|body| loads.visit_block(body));
    let nest = system.order.nest.clone().map(|nest| Nest { ranks, ..nest });
    let order = Order { steps, nest, ..system.order.clone() };
    let job = Job {
        id: job.id,
        around: job.around,
        asks: asks(&job.asks, &all)?,
        alone: job.alone,
        kept: job.kept,
        locals: Vec::new(),
    };
    Some((job, System { tables, order }, own))
}

/// Which fields of a table are loaded or asked for. `None` where all of a struct is.
fn needed(job: &Job, bodies: &[Block], table: VarId) -> Option<OrdSet<u32>> {
    let (mut needed, mut whole) = (OrdSet::new(), false);
    let mut path = |path: &[u32]| match path {
        [field] => _ = needed.insert(*field),
        _ => whole = true,
    };
    for body in bodies {
        visit::walk_places(body, |place, role| {
            if place.array == table && role == Role::Read {
                path(&place.path);
            }
        });
    }
    job.asks.cells.iter().filter(|ask| ask.table == table).for_each(|ask| path(&ask.path));
    job.asks.kept.iter().filter(|kept| kept.table == table).for_each(|kept| path(&kept.path));
    for fold in job.asks.folds.iter().filter(|fold| fold.table == table) {
        path(&fold.field()?);
    }
    (!whole && !needed.is_empty()).then_some(needed)
}

/// Whether cells of a table are stored as structs that are made there.
fn stores_fields(body: &Block, table: VarId) -> bool {
    let mut fields = true;
    visit::walk_stmts(body, |stmt| {
        if let StmtKind::Store { place, value } = &stmt.kind
            && place.array == table
        {
            fields &= place.path.is_empty() && matches!(value.kind, ExprKind::Struct(..));
        }
    });
    fields
}

fn asks(asks: &Asks, all: &[Fields]) -> Option<Asks> {
    let field = |table: VarId, path: &[u32]| {
        let [number] = path else { return None };
        all.iter().find(|fields| fields.table == table)?.array(*number)
    };
    let mut own = asks.clone();
    for Ask { table, path, .. } in &mut own.cells {
        if let Some(array) = field(*table, path) {
            (*table, *path) = (array, Vec::new());
        }
    }
    for KeptField { table, path, .. } in &mut own.kept {
        if let Some(array) = field(*table, path) {
            (*table, *path) = (array, Vec::new());
        }
    }
    for fold in &mut own.folds {
        if let Some(path) = fold.field()
            && let Some(array) = field(fold.table, &path)
        {
            fold.take_field(array);
        }
    }
    Some(own)
}

impl Fields {
    fn new(
        builder: &mut Builder<'_>,
        structs: &Arena<StructId, Struct>,
        (table, id): (VarId, StructId),
        needed: &OrdSet<u32>,
    ) -> Option<Fields> {
        let known = builder.vars[table].clone();
        let mut each = Vec::new();
        for &number in needed {
            let (field, ty) = structs[id].fields.get(number as usize)?;
            ty.scalar()?;
            let name = format!("{}.{field}", known.name);
            let value = builder.local(&name, *ty, known.span);
            let array = builder.vars.push(Var { name, ty: *ty, kind: VarKind::Local, ..known.clone() });
            each.push(Field { number, value, array });
        }
        Some(Fields { table, each })
    }

    fn array(&self, number: u32) -> Option<VarId> {
        self.each.iter().find(|field| field.number == number).map(|field| field.array)
    }

    /// A body whose cells are stored field by field behind all else, whichever branch has found them.
    fn stored(&self, builder: &Builder<'_>, body: &Block, table: &Table) -> Block {
        let span = table.span;
        let mut body = body.clone();
        let mut found = None;
        Values { fields: self, place: &mut found }.visit_block(&mut body);
        let mut stmts: Vec<Stmt> = self.each.iter().map(|field| build::declare(field.value, span)).collect();
        stmts.extend(body.stmts);
        let Some(place) = found else { return Block { stmts } };
        stmts.extend(self.each.iter().map(|field| {
            let value = Expr::read(field.value, builder.vars[field.value].ty, span);
            build::store(Place { array: field.array, ..place.clone() }, value)
        }));
        Block { stmts }
    }
}

/// Assigns the fields of a cell where it is stored.
struct Values<'a> {
    fields: &'a Fields,
    /// Where it is.
    place: &'a mut Option<Place>,
}

impl Mutator for Values<'_> {
    fn visit_block(&mut self, block: &mut Block) {
        let mut out = Vec::with_capacity(block.stmts.len());
        for mut stmt in std::mem::take(&mut block.stmts) {
            match stmt.kind {
                StmtKind::Store { place, value: Expr { kind: ExprKind::Struct(_, values), .. } }
                    if place.array == self.fields.table =>
                {
                    let each = self.fields.each.iter();
                    out.extend(each.map(|field| build::assign(field.value, values[field.number as usize].clone())));
                    *self.place = Some(place);
                }
                kind => {
                    stmt.kind = kind;
                    change::walk_stmt(self, &mut stmt);
                    out.push(stmt);
                }
            }
        }
        block.stmts = out;
    }
    fn visit_expr(&mut self, _: &mut Expr) {}
}

/// Makes bodies load from the tables of fields.
struct Loads<'a> {
    all: &'a [Fields],
}

impl Mutator for Loads<'_> {
    fn visit_expr(&mut self, expr: &mut Expr) {
        change::walk_expr(self, expr);
        if let ExprKind::Load(place) = &mut expr.kind
            && let [number] = place.path[..]
            && let Some(fields) = self.all.iter().find(|fields| fields.table == place.array)
            && let Some(array) = fields.array(number)
        {
            (place.array, place.path) = (array, Vec::new());
        }
    }
}
