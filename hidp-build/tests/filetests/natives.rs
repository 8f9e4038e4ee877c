//! The functions and structs of `cases/run/natives/functions.h`: how the interpreter computes them, and what a reader of the header
//! would find there.

use std::path::Path;
use std::rc::Rc;

use hidp_build::compiler::ir::par::interp::{Native, Value};
use hidp_build::compiler::ordered::OrdMap;
use hidp_build::compiler::pipeline::{NativeField, NativeStruct, NativeType, Options};
use hidp_build::compiler::ty::Scalar;

const HEADER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/run/natives/functions.h");

/// Names the header, if the program uses anything of C++.
pub(crate) fn name_header(text: &str, options: &mut Options) {
    if !text.lines().any(|line| line.starts_with("extern ")) {
        return;
    }
    assert!(Path::new(HEADER).is_file(), "{HEADER}");
    options.native_headers = vec![HEADER.to_owned()];
    let field = |name: &str, scalar, offset| NativeField { name: name.into(), ty: NativeType::Scalar(scalar), offset };
    let fields = vec![
        field("id", Scalar::I64, 0),
        field("x", Scalar::F32, 8),
        field("y", Scalar::F32, 12),
        field("seen", Scalar::Bool, 16),
    ];
    options.native_structs = Some(vec![NativeStruct { name: "Point".into(), fields, size: 24, align: 8 }]);
}

/// The functions by name.
pub(crate) fn functions() -> OrdMap<String, Native> {
    let float = |value: &Value| match value {
        Value::F32(value) => *value,
        other => panic!("a float is passed, not {other:?}"),
    };
    let fields = |value: &Value| match value {
        Value::Struct(fields) => fields.to_vec(),
        other => panic!("a struct is passed, not {other:?}"),
    };
    let native = |name: &str, function: Native| (name.to_owned(), function);
    OrdMap::from([
        native("twist", Rc::new(move |args| Value::F32(2.0 * float(&args[0]) + 0.5))),
        native("below", Rc::new(|args| Value::Bool(args[0].as_integer() < args[1].as_integer()))),
        native(
            "nearer",
            Rc::new(move |args| {
                let [a, b] = [fields(&args[0]), fields(&args[1])];
                args[usize::from(float(&b[1]) < float(&a[1]))].clone()
            }),
        ),
        native(
            "moved",
            Rc::new(move |args| {
                let mut point = fields(&args[0]);
                point[1] = Value::F32(float(&point[1]) + float(&args[1]));
                point[3] = Value::Bool(true);
                Value::Struct(point.into())
            }),
        ),
    ])
}
