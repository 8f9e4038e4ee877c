//! An entry: its plans, its versions as lowered, and the versions that a defect leaves out.

use hidp_emit::rust::EntryInfo;
use hidp_ir::imp;
use hidp_ir::par::{FuncId, Program};
use hidp_lower::{Defect, lower, lower_also, lower_device};
use hidp_plan::target::{DeviceModel, Model};
use hidp_plan::{
    Dispatch, Models, Plan, Predictions, Record, add_device_rules, check_directives, check_pins, dispatch, explore,
};
use hidp_syntax::diag::{Code, Diagnostic, Sink};
use hidp_syntax::ordered::OrdMap;
use hidp_syntax::source::FileId;

use super::{PipelineInput, alternatives, defect, stamp, stem_of, symbol};

/// An entry, and how a call finds its version.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The function.
    pub func: FuncId,
    /// Its versions.
    pub entry: imp::Entry,
    /// How a call finds its version.
    pub dispatch: Dispatch,
    /// Why versions are left out, which is never the program's fault.
    pub defects: Vec<Defect>,
}

impl Lowered {
    pub(super) fn info(&self) -> EntryInfo<'_> {
        EntryInfo { func: self.func, entry: &self.entry, dispatch: &self.dispatch }
    }
}

/// Plans and lowers an entry. Versions with defects are left out, and nothing chooses them.
pub fn lower_entry(input: &PipelineInput, program: &Program, func: FuncId, model: &Model) -> Lowered {
    let item = &program.funcs[func];
    let symbol = symbol(&input.options.namespace, stem_of(input, item.span), &item.name);
    let (mut entry, mut defects) = lower(program, func, &symbol, &[], model);
    let alternatives::OnProcessors { plans: of_processors, rules, .. } = alternatives::all(input, program, func, model);
    for (form, of_form) in &of_processors {
        defects.extend(lower_also(program, *form, of_form, model, &mut entry));
    }
    let device = DeviceModel::cuda();
    let (mut of_devices, mut predictions) = (Vec::new(), Predictions::default());
    if input.options.cuda {
        let models = Models { cpu: model, device: &device };
        (of_devices, predictions) = alternatives::all_of_devices_with_times(input, program, func, models);
        for (form, of_form) in &of_devices {
            defects.extend(lower_device(program, *form, of_form, (model, &device), &mut entry));
        }
    }
    defects.extend(leave_out_unsound(program, &mut entry));
    let classes = alternatives::classes_of(program, &entry, of_processors.iter().chain(&of_devices));
    let parts = hidp_plan::parts(item, alternatives::may_fault(&entry));
    let settings = alternatives::settings_of(program, func, of_processors.iter().chain(&of_devices));
    let (mut plans, mut explored) = (of_entry(of_processors, func), of_entry(of_devices, func));
    for plans in [&mut plans, &mut explored] {
        plans.retain(|plan| entry.units.iter().any(|unit| unit.plan == plan.name));
    }
    if entry.units_for(imp::UnitTarget::Cpu).next().is_none() {
        return Lowered { func, entry, dispatch: Dispatch::default(), defects };
    }
    // Where compositions alone are pinned, sizes are measured as for the entry as it is written.
    let usual =
        plans.first().cloned().or_else(|| explore(program, func, model, input.options.limits).plans.into_iter().next());
    let mut dispatch = dispatch(program, item, &plans, model);
    alternatives::add_rules(&mut dispatch, (program, func), &entry, rules);
    if let Some(usual) = usual {
        add_device_rules(&mut dispatch, program, item, (&usual, &explored), (model, &device), predictions);
    }
    let shown = format!("{}::{}", stem_of(input, item.span), item.name);
    let hashes = stamp::hashes(input, program, &entry);
    let [source, device_source] =
        [imp::UnitTarget::Cpu, imp::UnitTarget::Device].map(|target| stamp::of(&entry, &hashes, target));
    let stamp = |record: &Record| if record.is_for_devices() { &device_source } else { &source };
    let versions: Vec<String> =
        entry.units.iter().zip(&hashes).map(|(unit, hash)| format!("{} {hash}", unit.plan)).collect();
    let holds = |record: &&Record| record.entry == shown && record.holds(stamp(record), &versions);
    let records = input.options.records.iter().filter(holds).cloned().collect();
    Lowered {
        func,
        entry,
        dispatch: Dispatch { classes, parts, hashes, source, device_source, records, settings, ..dispatch },
        defects,
    }
}

/// Takes the versions out of an entry that do not verify, and says what is wrong with them.
pub(super) fn leave_out_unsound(program: &Program, entry: &mut imp::Entry) -> Vec<Defect> {
    let (mut sound, mut defects) = (Vec::new(), Vec::new());
    for unit in std::mem::take(&mut entry.units) {
        let plan = unit.plan.clone();
        let again = sound.iter().any(|other: &imp::Unit| other.plan == plan);
        entry.units = vec![unit];
        match imp::verify(program, entry) {
            Ok(()) if again => {
                defects.push(Defect { plan, expected: "plans have different names".to_owned(), span: None });
            }
            Ok(()) => sound.append(&mut entry.units),
            Err(errors) => {
                let listed: Vec<String> = errors.iter().map(ToString::to_string).collect();
                defects.push(Defect { plan, expected: listed.join("\n"), span: None });
            }
        }
    }
    entry.units = sound;
    defects
}

/// The plans of an entry as it is written: pinned ones, else those that the planner finds.
pub fn plans_of(input: &PipelineInput, program: &Program, func: FuncId, model: &Model) -> Vec<Plan> {
    of_entry(alternatives::all(input, program, func, model).plans, func)
}

/// The same for devices.
pub fn device_plans_of(input: &PipelineInput, program: &Program, func: FuncId, models: Models<'_>) -> Vec<Plan> {
    of_entry(alternatives::all_of_devices(input, program, func, models), func)
}

fn of_entry(all: Vec<(FuncId, Vec<Plan>)>, func: FuncId) -> Vec<Plan> {
    all.into_iter().filter(|(form, _)| *form == func).flat_map(|(_, plans)| plans).collect()
}

/// The entries of each file, lowered.
pub(super) fn lower_all(input: &PipelineInput, program: &Program, sink: &mut Sink) -> OrdMap<FileId, Vec<Lowered>> {
    let model = Model::cpu();
    let mut files: OrdMap<FileId, Vec<Lowered>> = OrdMap::new();
    let models = Models { cpu: &model, device: &DeviceModel::cuda() };
    check_pins(program, &input.sources, &input.options.pins, models, sink);
    check_directives(program, models, sink);
    if sink.has_errors() {
        return files;
    }
    for &func in &program.entries {
        let lowered = lower_entry(input, program, func, &model);
        report_defects(program, &lowered, input.options.strict, sink);
        files.entry(program.funcs[func].span.file).or_default().push(lowered);
    }
    files
}

/// A build goes on without versions that have a defect, if one is left that can always run: any of the processor.
pub(super) fn report_defects(program: &Program, lowered: &Lowered, strict: bool, sink: &mut Sink) {
    let (item, entry) = (&program.funcs[lowered.func], &lowered.entry);
    let some = entry.units_for(imp::UnitTarget::Cpu).next().is_some();
    for Defect { plan, expected, span } in &lowered.defects {
        let span = span.unwrap_or(item.span);
        let mut diagnostic = if some && !strict {
            let headline = format!("`{}` has no version `{plan}`: a defect of hidp-build", item.name);
            Diagnostic::new(Code::VersionLeftOut, span, headline).label("its other versions run instead")
        } else {
            let headline = format!("the version `{plan}` of `{}` meets a defect of hidp-build", item.name);
            Diagnostic::new(Code::Internal, span, headline)
        };
        diagnostic.notes.extend(expected.lines().map(str::to_owned));
        sink.push(diagnostic);
    }
    if !some && lowered.defects.is_empty() {
        sink.push(defect(program, &format!("`{}` has no version", item.name)));
    }
}
