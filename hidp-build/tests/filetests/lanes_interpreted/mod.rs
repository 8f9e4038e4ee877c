//! Groups of lanes without a C++ compiler: units that have them are interpreted as they stand, and compared with the language's interpreter.
//!
//! Three lanes and four. Nothing is known of what masks should be: lanes that are not here get values that show up.

mod machine;
mod value;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use hidp_build::compiler::ir::imp::{self, VarKind};
use hidp_build::compiler::ir::par::interp::{Arg, Array, Fault, Value};
use hidp_build::compiler::ir::par::print;
use hidp_build::compiler::plan::Strategy;

use crate::case::{self, Case};
use crate::maker::{Maker, fillings, typed};
use crate::random::Writer;
use crate::subject::{Entry, Outcome, Request, Subject};
use machine::{Flow, Machine, Memory, Run, Slot, Stop};

/// Sizes of dimensions in turn.
const SIZES: [&[i64]; 3] = [&[7, 5, 6], &[1, 3, 2], &[9]];
/// Programs that are made up.
const SEEDS: std::ops::Range<u64> = 1000..1024;
const MADE: &str = "random";

/// What a unit leaves of its arguments, with so many lanes.
fn called(subject: &Subject, entry: &Entry, unit: &imp::Unit, request: &Request, count: usize) -> Run<Outcome> {
    let func = subject.func(entry);
    let mut slots = BTreeMap::new();
    let mut memories: Vec<Memory> = Vec::new();
    let params = unit.host.params.iter();
    for ((param, arg), var) in params.clone().zip(&request.args).zip(&func.params) {
        let values = match arg {
            Arg::Scalar(value) => vec![value.clone()],
            Arg::Array(array) => array.data.values(),
            Arg::Output => vec![Value::zero(subject.original(), func.vars[*var].ty)],
        };
        let memory: Memory = Rc::new(RefCell::new(values));
        memories.push(memory.clone());
        slots.insert(*param, Slot::Buffer(memory, 0));
    }
    let dims = params.filter(|param| matches!(unit.host.vars[**param].kind, VarKind::Value(_)));
    for (param, value) in dims.zip(&request.dims) {
        slots.insert(*param, Slot::Value(Value::I64(*value)));
    }
    let program = subject.program();
    let mut machine = Machine { program, unit, function: &unit.host, slots, count, here: None, has_run: false };
    if let Flow::Fault(site, values) = machine.block(&unit.host.body)? {
        let site = &entry.code.sites[site];
        return Ok(Outcome::Fault(Fault { kind: site.kind, span: site.span, values }));
    }
    let after = request.args.iter().zip(&memories).zip(&func.params).map(|((arg, memory), var)| {
        let values = memory.borrow().clone();
        match arg {
            Arg::Array(array) => Arg::Array(Array::new(array.shape.clone(), typed(func.vars[*var].ty, values))),
            Arg::Scalar(_) | Arg::Output => Arg::Scalar(values[0].clone()),
        }
    });
    Ok(Outcome::Results(after.collect()))
}

/// Compares the calls of a program. How many there were.
fn compared(name: &str, text: &str) -> Result<usize, String> {
    let Some(subject) = Subject::forced(name, text, Strategy::Wide)? else { return Ok(0) };
    // What iterations race for is one of several values.
    if name.starts_with(MADE) && print(subject.original()).contains("~[") {
        return Ok(0);
    }
    let fillings = fillings(text)?;
    let mut calls = 0;
    for entry in &subject.entries {
        let func = subject.func(entry);
        for (seed, sizes) in SIZES.iter().enumerate() {
            let mut maker = Maker::new(subject.original(), func, sizes, seed as u64, &fillings);
            let Some(args) = maker.args() else { continue };
            let Ok(request) = subject.request(entry, args, maker.dims()) else { continue };
            for unit in subject.units(entry, imp::UnitTarget::Cpu) {
                for count in [3, 4] {
                    let told = |why: String| format!("`{}` with {sizes:?} in {count} lanes: {why}", func.name);
                    match called(&subject, entry, unit, &request, count) {
                        Ok(found) => subject.agree(entry, &request, &found, false).map_err(told)?,
                        Err(Stop::Wrong(why)) => return Err(told(why)),
                        Err(Stop::Unknown(what)) => {
                            println!("not interpreted: {name}: `{}` has {what}", func.name);
                            break;
                        }
                    }
                    calls += 1;
                }
            }
        }
    }
    Ok(calls)
}

#[test]
fn units_with_lanes_are_interpreted() {
    let written =
        case::of_kind("run").into_iter().filter(|case| case.name.starts_with("wide_") && case.name != "wide_calls");
    let written: Vec<(String, String)> = written.map(|Case { name, text, .. }| (name, text)).collect();
    let made = SEEDS.map(|seed| (format!("{MADE}{seed}"), Writer::new(seed).function()));
    let (mut calls, mut failures) = (0, Vec::new());
    for (name, text) in written.into_iter().chain(made) {
        match compared(&name, &text) {
            Ok(more) => calls += more,
            // Not every program that is made up is accepted.
            Err(why) if name.starts_with(MADE) && why.starts_with("does not compile") => {}
            Err(why) => failures.push(format!("{name}: {why}\n{text}")),
        }
    }
    println!("{calls} calls");
    assert!(failures.is_empty(), "{} failures\n\n{}", failures.len(), failures[0]);
    assert!(calls > 250, "only {calls} calls were interpreted");
}
