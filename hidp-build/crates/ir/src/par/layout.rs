//! Where the fields of a struct lie: as C has it, and `#[repr(C)]` too.

use super::{Program, Struct};
use hidp_syntax::ty::Ty;

/// The layout of a struct, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Size, a multiple of the alignment.
    pub size: usize,
    /// Alignment.
    pub align: usize,
    /// Where each field begins.
    pub offsets: Vec<usize>,
}

/// The layout of a struct of the program.
pub fn layout(program: &Program, item: &Struct) -> Layout {
    let (mut end, mut align, mut offsets) = (0, 1, Vec::new());
    for (_, ty) in &item.fields {
        let (size, field_align) = match *ty {
            Ty::Scalar(scalar) => (scalar.size(), scalar.size()),
            Ty::Struct(id) => {
                let inner = layout(program, &program.structs[id]);
                (inner.size, inner.align)
            }
        };
        let at = usize::next_multiple_of(end, field_align);
        offsets.push(at);
        end = at + size;
        align = align.max(field_align);
    }
    Layout { size: end.next_multiple_of(align), align, offsets }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hidp_syntax::index::Id;
    use hidp_syntax::source::Span;
    use hidp_syntax::ty::Scalar;

    #[test]
    fn fields_are_padded_as_in_c() {
        let mut program = Program::default();
        let item = |fields: &[(&str, Ty)]| Struct {
            name: "S".into(),
            fields: fields.iter().map(|(name, ty)| ((*name).to_owned(), *ty)).collect(),
            native: true,
            doc: Vec::new(),
            span: Span::new(Id::new(0), 0, 0),
        };
        let [byte, long] = [Scalar::I8, Scalar::I64].map(Ty::Scalar);
        let inner = item(&[("a", long), ("b", byte)]);
        assert_eq!(layout(&program, &inner), Layout { size: 16, align: 8, offsets: vec![0, 8] });
        let inner = program.structs.push(inner);
        let outer = item(&[("c", byte), ("inner", Ty::Struct(inner)), ("d", byte)]);
        assert_eq!(layout(&program, &outer), Layout { size: 32, align: 8, offsets: vec![0, 8, 24] });
    }
}
