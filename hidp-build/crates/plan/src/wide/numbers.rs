//! The numbers that structs are made of: lanes have one value for each.

pub use hidp_ir::par::numbers::{Number, numbers, numbers_at};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::optimised;
    use hidp_syntax::ty::{Scalar, Ty};

    #[test]
    fn structs_in_structs_come_apart() {
        let text = "struct Spot { float x, y; } struct Item { int8 kind; Spot at; bool set; }
            function f input Item a[N]; output float y[N]; { map { i := [0:N); y[i] = a[i].at.x; } }";
        let program = optimised(text);
        let (id, _) = program.structs.iter().find(|(_, item)| item.name == "Item").expect("a struct");
        let paths: Vec<_> = numbers(&program, Ty::Struct(id)).into_iter().map(|number| number.path).collect();
        assert_eq!(paths, [vec![0], vec![1, 0], vec![1, 1], vec![2]]);
        assert_eq!(numbers_at(&program, Ty::Struct(id), &[1]), 1..3);
        assert_eq!(numbers_at(&program, Ty::Struct(id), &[1, 1]), 2..3);
        assert_eq!(numbers_at(&program, Scalar::F32.into(), &[]), 0..1);
    }
}
