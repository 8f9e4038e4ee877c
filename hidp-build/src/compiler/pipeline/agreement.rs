//! Codelets are compared with their functions in every build.

use super::defect;
use hidp_ir::par::agree::{Agreement, BUILD, Difference, agree};
use hidp_ir::par::interp::{Arg, Value};
use hidp_ir::par::{Codelet, Program, Spectrum};
use hidp_syntax::diag::{Code, Diagnostic, Sink};
use hidp_syntax::ordered::OrdSet;

/// Elements of an input that a message shows.
const SHOWN: usize = 12;

/// Reports codelets that differ from their functions, and those that could not be compared.
pub fn compare(program: &Program, sink: &mut Sink) {
    let mut steps = BUILD;
    let mut seen = OrdSet::new();
    for spectrum in &program.spectra {
        let name = &program.funcs[spectrum.meaning].name;
        // Codelets that keep the order are compared where the function does, others once.
        let codelets = spectrum.codelets.iter().filter(|codelet| spectrum.ordered || !codelet.ordered);
        let codelets = codelets.filter(|codelet| seen.insert(codelet.func)).cloned().collect();
        let spectrum = &Spectrum { codelets, ..*spectrum };
        for (codelet, agreement) in spectrum.codelets.iter().zip(agree(program, spectrum, &mut steps)) {
            match agreement {
                Agreement::Agrees => {}
                Agreement::Differs(difference) => sink.push(differs(name, codelet, &difference)),
                Agreement::Unknown(why) => {
                    let headline = format!("codelet \"{}\" was not compared with `{name}`", codelet.tag);
                    sink.push(Diagnostic::new(Code::NotCompared, codelet.span, headline).label(why));
                }
                Agreement::Defect(what) => sink.push(defect(program, &what)),
            }
        }
    }
}

fn differs(name: &str, codelet: &Codelet, difference: &Difference) -> Diagnostic {
    let Difference { sizes, inputs, what } = difference;
    let headline = format!("codelet \"{}\" does not compute what `{name}` does", codelet.tag);
    let mut diagnostic = Diagnostic::new(Code::Disagreeing, codelet.span, headline).label(what.to_string());
    if !sizes.is_empty() {
        let sizes: Vec<String> = sizes.iter().map(|(name, size)| format!("{name} = {size}")).collect();
        diagnostic = diagnostic.note(format!("with {}", sizes.join(", ")));
    }
    if let Some(way) = codelet.tiles {
        diagnostic = diagnostic.note(format!("where its tiles are {}", way.name()));
    }
    for (name, arg) in inputs {
        diagnostic = diagnostic.note(format!("and {name} = {}", shown(arg)));
    }
    diagnostic
}

fn shown(arg: &Arg) -> String {
    match arg {
        Arg::Scalar(value) => of_value(value),
        Arg::Output => String::new(),
        Arg::Array(array) => {
            let values: Vec<String> = array.data.values().iter().take(SHOWN).map(of_value).collect();
            let more = if array.data.len() > SHOWN { " …" } else { "" };
            format!("[{}{more}]", values.join(" "))
        }
    }
}

fn of_value(value: &Value) -> String {
    match (value, value.as_integer(), value.as_float()) {
        (Value::Struct(fields), _, _) => {
            let fields: Vec<String> = fields.iter().map(of_value).collect();
            format!("{{{}}}", fields.join(" "))
        }
        (Value::Bool(value), _, _) => value.to_string(),
        (_, Some(integer), _) => integer.to_string(),
        (_, None, float) => float.map_or_else(String::new, |float| float.to_string()),
    }
}
