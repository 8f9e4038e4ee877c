//! Random folds over intervals, by tiles of several sizes, beside plain recursion: other ends, operands, conditions and operators.

use super::*;
use hidp_build::compiler::ir::par::{Course, PinnedCourse};
use hidp_build::compiler::pass::recurrences::recurrences;

/// A cell `(i, j)` with `j >= i + least` is folded over `k` in `[i + begin, j + end)` from `f(i, k + left)` and `f(k + right, j)`.
struct Shape {
    begin: i64,
    end: i64,
    left: i64,
    right: i64,
    least: i64,
    op: &'static str,
    /// Whether a split adds data.
    data: bool,
    /// Whether a cell adds the one below and to the left of it.
    corner: bool,
}

impl Shape {
    fn random(numbers: &mut Numbers) -> Shape {
        let ends = [(0, 0), (1, 0), (1, 1), (2, 1), (0, -1), (2, 0)];
        let (begin, end) = ends[numbers.next(0, 6) as usize];
        Shape {
            begin,
            end,
            left: numbers.next(-begin, 1 - end),
            right: numbers.next(1 - begin, 2 - end),
            least: numbers.next(1, 4),
            op: ["+", "min", "max"][numbers.next(0, 3) as usize],
            data: numbers.next(0, 2) == 0,
            corner: numbers.next(0, 2) == 0,
        }
    }

    /// Whether tiles can compute it.
    fn fits(&self) -> bool {
        self.end + 1 >= self.begin && (self.least == 1 || !self.data)
    }

    fn text(&self) -> String {
        let Shape { begin, end, left, right, least, op, .. } = self;
        let data = if self.data { " + x[k]" } else { "" };
        let corner = if self.corner { "if (j > i + 1) more += f(i+1, j-1) * 7;" } else { "" };
        format!(
            "recurrence int f(i := [0:N), j := [i:N)) input int x[N];
            {{
              if (j < i + {least}) return x[i] - int(j) * 5;
              int more = x[j], sum;
              {corner}
              map {{ k := [i + {begin}:j + {end}); _v = f(i, k + {left}) * 3 + f(k + {right}, j){data}; }}
              reduce(\"{op}\", sum, _v, k := [*]);
              return sum + more;
            }}
            function g input int x[N]; output int T[N][N]; {{ T = f; }}"
        )
    }

    /// All cells; 0 where there are none.
    fn cells(&self, x: &[i64]) -> Vec<i64> {
        let n = x.len() as i64;
        let x = |at: i64| x[at as usize] as i32;
        let cell = |memo: &Memo<'_, (i64, i64), i32>, (i, j): (i64, i64)| {
            if j < i + self.least {
                return x(i).wrapping_sub((j as i32).wrapping_mul(5));
            }
            let corner = if self.corner && j > i + 1 { memo.at((i + 1, j - 1)).wrapping_mul(7) } else { 0 };
            let splits = (i + self.begin..j + self.end).map(|k| {
                let both = memo.at((i, k + self.left)).wrapping_mul(3).wrapping_add(memo.at((k + self.right, j)));
                both.wrapping_add(if self.data { x(k) } else { 0 })
            });
            let sum = match self.op {
                "+" => splits.fold(0, i32::wrapping_add),
                "min" => splits.min().unwrap_or(i32::MAX),
                _ => splits.max().unwrap_or(i32::MIN),
            };
            sum.wrapping_add(x(j)).wrapping_add(corner)
        };
        let memo = Memo::new(&cell);
        cells(n, n).map(|(i, j)| if i <= j { memo.at((i, j)).into() } else { 0 }).collect()
    }
}

#[test]
fn folds_over_intervals_by_tiles() {
    let mut numbers = Numbers(31);
    let (mut tiled, mut refused) = (0, 0);
    for _ in 0..24 {
        let shape = Shape::random(&mut numbers);
        let text = shape.text();
        let program = compiled(&text);
        for side in [1, 2, 3] {
            let mut program = program.clone();
            let user = program.funcs[program.entries[0]].span;
            let course = Course::Intervals { side };
            program.courses.push(PinnedCourse { user, tables: vec!["f".to_owned()], course, span: user });
            let fits = recurrences(&program)[0].unmet.is_none();
            assert_eq!(fits, shape.fits(), "{text}");
            let count = if fits { &mut tiled } else { &mut refused };
            *count += 1;
            let program = ways::computed(program);
            for n in [0, 1, 4, 9] {
                let x = numbers.list(n, -9, 9);
                let found = call(&program, "g", vec![ints(vec![n], &x), no_ints(n, n)]).expect("no fault");
                assert_eq!(table(found), shape.cells(&x), "{x:?} in tiles of {side}: {text}");
            }
        }
    }
    assert!(tiled >= 24 && refused > 0, "{tiled} tiled, {refused} refused");
}
