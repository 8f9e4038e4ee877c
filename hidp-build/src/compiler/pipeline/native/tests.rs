use super::*;
use crate::compiler::pipeline::testing::input;
use crate::compiler::pipeline::{PipelineOutput, compile};

const MOVES: &str = "\
extern struct Position;
extern struct Particle;
function step
input double _dt;
inout Particle p[N];
{ map { i := [0:N); p[i].at.x = p[i].at.x + _dt * p[i].speed; } }
";

fn scalar(name: &str, scalar: Scalar, offset: usize) -> NativeField {
    NativeField { name: name.into(), ty: NativeType::Scalar(scalar), offset }
}

fn position() -> NativeStruct {
    let fields = vec![scalar("x", Scalar::F64, 0), scalar("y", Scalar::F64, 8)];
    NativeStruct { name: "Position".into(), fields, size: 16, align: 8 }
}

fn particle() -> NativeStruct {
    let at = NativeField { name: "at".into(), ty: NativeType::Struct("Position".into()), offset: 8 };
    let fields = vec![scalar("kind", Scalar::I8, 0), at, scalar("speed", Scalar::F64, 24)];
    NativeStruct { name: "Particle".into(), fields, size: 32, align: 8 }
}

fn compiled(text: &str, headers: &[&str], structs: Option<Vec<NativeStruct>>) -> PipelineOutput {
    let native_headers = headers.iter().map(|&header| header.to_owned()).collect();
    let options = Options { native_headers, native_structs: structs, ..Options::default() };
    compile(&input(text, options))
}

fn rejected(text: &str, headers: &[&str], structs: Option<Vec<NativeStruct>>) -> Vec<(Code, String)> {
    let diagnostics = compiled(text, headers, structs).diagnostics;
    diagnostics.into_iter().map(|diagnostic| (diagnostic.code, diagnostic.headline)).collect()
}

#[test]
fn both_sides_have_the_type_of_the_header() {
    let output = compiled(MOVES, &["p.h"], Some(vec![particle(), position()]));
    assert_eq!(output.diagnostics, []);
    let cpp = &output.cpp[0].text;
    assert!(cpp.contains("#include \"p.h\"") && cpp.contains("::Particle"), "{cpp}");
    assert!(cpp.contains("static_assert(sizeof(::Particle) == 32"), "{cpp}");
    assert!(cpp.contains("static_assert(__builtin_offsetof(::Particle, speed) == 24"), "{cpp}");
    assert!(!cpp.contains("struct Particle"), "defined by the header alone: {cpp}");
    let rust = &output.rust;
    assert!(rust.contains("pub struct Particle {") && rust.contains("pub at: Position,"), "{rust}");
    assert!(rust.contains("assert!(size_of::<Particle>() == 32 && align_of::<Particle>() == 8);"), "{rust}");
    assert!(rust.contains("assert!(::core::mem::offset_of!(Particle, speed) == 24);"), "{rust}");
}

#[test]
fn what_is_missing_is_named() {
    let headlines = |headers: &[&str], structs: Option<Vec<NativeStruct>>| -> Vec<String> {
        rejected(MOVES, headers, structs).into_iter().map(|(_, headline)| headline).collect()
    };
    let [first, _] = &rejected(MOVES, &[], None)[..] else { panic!("one for each struct") };
    assert_eq!(*first, (Code::HeaderNotNamed, "no header declares the extern struct `Position`".into()));
    assert!(headlines(&["p.h"], None)[0].contains("needs the feature `bindgen`"));
    assert_eq!(headlines(&["p.h"], Some(vec![position()])), ["the headers define no struct `Particle`"]);
    let alone = MOVES.replace("extern struct Position;\n", "");
    let found = rejected(&alone, &["p.h"], Some(vec![particle(), position()]));
    assert!(found[0].1.contains("field `at` of the extern struct `Particle` is a struct that is not declared"));
}

#[test]
fn what_hidp_has_no_type_for_is_named() {
    let mut odd = particle();
    odd.fields[0].ty = NativeType::Other("a pointer".into());
    let found = rejected(MOVES, &["p.h"], Some(vec![odd, position()]));
    assert_eq!(found, [(Code::NativeStruct, "field `kind` of the extern struct `Particle` is a pointer".into())]);

    let mut packed = position();
    packed.align = 1;
    let found = rejected(MOVES, &["p.h"], Some(vec![particle(), packed]));
    assert_eq!(found[0].1, "the extern struct `Position` is packed or aligned by an attribute");

    let opaque = NativeStruct { fields: Vec::new(), ..position() };
    let found = rejected(MOVES, &["p.h"], Some(vec![particle(), opaque]));
    assert_eq!(found[0].1, "the extern struct `Position` has no fields");
}

#[test]
fn named_structs_are_found() {
    let input = input(MOVES, Options::default());
    assert_eq!(named_structs(&input), ["Particle", "Position"]);
}
