//! The static tables that describe entries to the run time.

use super::doc::snippet;
use super::signature::Signature;
use super::text::Text;
use super::{EntryInfo, Options, extent};
use crate::c_like::name;
use hidp_ir::imp::{Site, Unit, UnitTarget};
use hidp_ir::par::{Func, Program, VarId};
use hidp_plan::target::Tunable;
use hidp_plan::{Bound, Bounds, Dispatch, Measure, MeasureOf, Parts, Rule, VersionsSet};
use hidp_syntax::source::SourceMap;
use hidp_syntax::ty::{Scalar, Ty};

/// What `HIDP_ISA` is for a device.
const CUDA: &str = "cuda";

/// A wrapper's table.
pub(super) struct Table<'a> {
    pub(super) program: &'a Program,
    pub(super) sources: &'a SourceMap,
    pub(super) options: &'a Options<'a>,
    pub(super) info: &'a EntryInfo<'a>,
    pub(super) signature: &'a Signature,
    /// `file::function`.
    pub(super) shown: String,
    /// Name of the static.
    pub(super) name: &'a str,
}

impl Table<'_> {
    fn func(&self) -> &Func {
        &self.program.funcs[self.info.func]
    }
    fn units(&self) -> &[Unit] {
        &self.info.entry.units
    }

    /// Declarations of the entry points.
    pub(super) fn declare(&self, text: &mut Text) {
        for unit in self.units() {
            let cpu = self.options.isas.iter().map(|isa| isa.name());
            let suffixes: Vec<&str> = match unit.target {
                UnitTarget::Cpu => cpu.collect(),
                UnitTarget::Device => vec![CUDA],
            };
            for suffix in suffixes {
                text.line(format!("fn {}(call: *mut hidp_call) -> i32;", self.symbol(unit, suffix)));
            }
        }
    }
    fn symbol(&self, unit: &Unit, suffix: &str) -> String {
        format!("{}_{suffix}", name::host(self.info.entry, unit))
    }

    /// The static.
    pub(super) fn define(&self, text: &mut Text) {
        text.nest(format!("pub(super) static {}: Entry = Entry {{", self.name), "};", |text| {
            text.line(format!("name: {:?},", self.shown));
            text.nest("params: &[", "],", |text| self.params(text));
            let func = self.func();
            let dims: Vec<String> = func.dims.iter().map(|&dim| format!("{:?}", func.vars[dim].name)).collect();
            text.list("dims: &[", &dims, "],");
            text.nest("versions: &[", "],", |text| self.versions(text));
            text.nest("dispatch: Dispatch {", "},", |text| self.dispatch(text));
            if self.info.entry.sites.is_empty() {
                text.line("sites: &[],");
            } else {
                text.nest("sites: &[", "],", |text| {
                    self.info.entry.sites.iter().for_each(|(_, site)| self.site(site, text));
                });
            }
        });
    }

    fn params(&self, text: &mut Text) {
        let func = self.func();
        for (parameter, &id) in self.signature.parameters.iter().zip(&func.params) {
            let row = [
                format!("name: {:?}", parameter.name),
                format!("reads: {}", parameter.reads),
                format!("writes: {}", parameter.writes),
                format!("elem: Elem::{}", elem(func.vars[id].ty)),
                format!("positions: {}", self.info.dispatch.positions.contains(&id)),
                format!("shape: &[{}]", self.shape(id).join(", ")),
                format!("shape_text: &{:?}", parameter.extents),
            ];
            text.list("Param { ", &row, " },");
        }
    }
    /// One postfix program a dimension.
    fn shape(&self, param: VarId) -> Vec<String> {
        let func = self.func();
        let extents = func.vars[param].shape.iter().map(|extent| {
            let steps = extent::program(func, extent).unwrap_or_default();
            let steps: Vec<String> = steps.iter().map(|step| format!("Op::{step}")).collect();
            format!("&[{}]", steps.join(", "))
        });
        extents.collect()
    }

    fn versions(&self, text: &mut Text) {
        for (at, unit) in self.units().iter().enumerate() {
            let hash = self.info.dispatch.hashes.get(at).map_or("", String::as_str);
            text.nest("Version {", "},", |text| {
                text.line(format!("plan: {:?},", unit.plan));
                text.line(format!("hash: {hash:?},"));
                match unit.target {
                    UnitTarget::Cpu => text.nest("code: Codes::Cpu(&[", "]),", |text| {
                        for isa in self.options.isas {
                            let symbol = self.symbol(unit, isa.name());
                            text.line(format!("Code {{ isa: Isa::{}, function: {symbol} }},", isa.variant()));
                        }
                    }),
                    UnitTarget::Device => text.line(format!("code: Codes::Device({}),", self.symbol(unit, CUDA))),
                }
            });
        }
    }

    fn dispatch(&self, text: &mut Text) {
        let Dispatch {
            measures,
            rules,
            classes,
            parts,
            positions: _,
            hashes: _,
            source,
            device_source,
            records,
            tunables,
            settings,
        } = self.info.dispatch;
        text.line(format!("source: {source:?},"));
        text.line("toolchain: super::super::TOOLCHAIN,");
        text.line(format!("device_source: {device_source:?},"));
        text.line("device_toolchain: super::super::DEVICE_TOOLCHAIN,");
        text.line("kernels: super::super::NAMES,");
        text.nest("measures: &[", "],", |text| {
            for measure in measures {
                let steps = self.measure(measure).join(", ");
                text.line(format!("Measure {{ name: {:?}, program: &[{steps}] }},", measure.name));
            }
        });
        text.line(format!("classes: &{classes:?},"));
        if let Some(Parts { dim, besides, uneven }) = parts {
            text.line(format!("parts: Some(Parts {{ dim: {dim}, besides: &{besides:?}, uneven: {uneven} }}),"));
        } else {
            text.line("parts: None,");
        }
        text.nest("rules: &[", "],", |text| rules.iter().for_each(|rule| self.rule(rule, text)));
        let tunables = tunables.iter().map(|Tunable { name, stage: _, domain }| {
            let domain: Vec<String> = domain.iter().map(u32::to_string).collect();
            format!("Tunable {{ name: {name:?}, domain: &[{}] }}", domain.join(", "))
        });
        text.list("tunables: &[", &tunables.collect::<Vec<_>>(), "],");
        let settings: Vec<String> = settings.iter().map(|set| self.setting(set)).collect();
        text.list("settings: &[", &settings, "],");
        text.nest("records: &[", "],", |text| {
            for record in records {
                let texts = record.texts.iter().map(|(name, value)| format!("{name}: {value:?}"));
                let row = [format!("source: {:?}", record.source), format!("threads: {}", record.threads)];
                text.list("Record { ", &row.into_iter().chain(texts).collect::<Vec<_>>(), " },");
            }
        });
    }
    fn measure(&self, measure: &Measure) -> Vec<String> {
        let last = match measure.of {
            MeasureOf::Shapes => None,
            MeasureOf::Longest(bounds) => Some(self.of_segments("Longest", bounds)),
            MeasureOf::Balance(bounds) => Some(self.of_segments("Balance", bounds)),
            MeasureOf::Work => Some("Op::Work".into()),
            MeasureOf::Copied => return vec!["Op::Copied".into()],
            MeasureOf::Intensity => Some("Op::PerKib".into()),
        };
        let steps = extent::program(self.func(), &measure.value).unwrap_or_default();
        steps.iter().map(|step| format!("Op::{step}")).chain(last).collect()
    }
    /// The step that looks at the segments that a measure is about.
    fn of_segments(&self, op: &str, bounds: Bounds) -> String {
        let func = self.func();
        let bound = |(array, offset): (VarId, i64)| {
            let param = func.params.iter().position(|&param| param == array).unwrap_or(0);
            format!("SegmentBound {{ param: {param}, elem: Elem::{}, offset: {offset} }}", elem(func.vars[array].ty))
        };
        format!("Op::{op}(&[{}, {}])", bound(bounds.low), bound(bounds.high))
    }
    fn setting(&self, VersionsSet { setting, plans }: &VersionsSet) -> String {
        let changes = |unit: &&Unit| plans.contains(&unit.plan);
        let versions = self.units().iter().enumerate().filter(|(_, unit)| changes(unit));
        let versions: Vec<usize> = versions.map(|(version, _)| version).collect();
        format!("Setting {{ name: {:?}, values: &{:?}, versions: &{versions:?} }}", setting.name, setting.values)
    }
    fn rule(&self, rule: &Rule, text: &mut Text) {
        let conditions = rule.conditions.iter().map(|condition| {
            let bound = match condition.bound {
                Bound::Fixed(value) => format!("Bound::Fixed({value})"),
                Bound::PerThread(value) => format!("Bound::PerThread({value})"),
            };
            let (measure, least) = (condition.measure, condition.least);
            format!("Condition {{ measure: {measure}, least: {least}, bound: {bound} }}")
        });
        let conditions: Vec<String> = conditions.collect();
        let version = match self.units().iter().position(|unit| unit.plan == rule.plan) {
            None if rule.plan == Rule::HOST => "Rule::HOST".to_owned(),
            version => version.unwrap_or(0).to_string(),
        };
        text.line(format!(
            "Rule {{ conditions: &[{}], version: {version}, settings: Settings::USUAL }},",
            conditions.join(", ")
        ));
    }

    fn site(&self, site: &Site, text: &mut Text) {
        let position = self.sources.position(site.span);
        let row = [
            format!("file: {:?}", self.sources.file(site.span.file).name()),
            format!("line: {}", position.line),
            format!("column: {}", position.column),
            format!("text: {:?}", snippet(self.sources, site)),
            format!("kind: {}", site.kind as u32),
            format!("names: &{:?}", site.names),
        ];
        text.list("Site { ", &row, " },");
    }
}

/// The variant of `hidp_std::rt::entry::Elem` for a type.
fn elem(ty: Ty) -> &'static str {
    let Some(scalar) = ty.scalar() else { return "Other" };
    match scalar {
        Scalar::Bool => "Other",
        Scalar::I8 => "I8",
        Scalar::U8 => "U8",
        Scalar::I16 => "I16",
        Scalar::U16 => "U16",
        Scalar::I32 => "I32",
        Scalar::U32 => "U32",
        Scalar::I64 => "I64",
        Scalar::U64 => "U64",
        Scalar::F32 => "F32",
        Scalar::F64 => "F64",
    }
}
