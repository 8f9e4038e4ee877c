use super::*;
use crate::compiler::ir::par::{print, read};

fn through(text: &str) -> String {
    let mut program = read(text).unwrap_or_else(|error| panic!("{error}"));
    run(&mut program, PIPELINE).unwrap_or_else(|error| panic!("{error}\n{}", print(&program)));
    print(&program)
}

#[test]
fn show() {
    let text = r#"
func gemm(alpha, beta, A, B, C) dims (M, K, N) contract {
  vars { M: long dim; K: long dim; N: long dim; alpha: float input; beta: float input; A: float[M, K] input; B: float[K, N] input; C: float[M, N] inout;
    C1: float[M, N] local; m: long iter; n: long iter; k: long iter; c0: float local; i: long iter; j: long iter; }
  declare C1 zero;
  map (m = 0 .. M by 1, n = 0 .. N by 1, k = 0 .. K by 1) { declare c0 zero; c0 = (A[m?, k?] * B[k?, n?]); }
  fold reduce "+" float neutral 0.0:float value c0 over (k) into C1[m?, n?];
  map (i = 0 .. M by 1, j = 0 .. N by 1) { C[i?, j?] = ((alpha * C1[i?, j?]) + (beta * C[i?, j?])); }
}
entries (gemm)
"#;
    println!("{}", through(text));
}
