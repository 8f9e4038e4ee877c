//! Maps whose iterations are loops.

use std::cell::RefCell;
use std::rc::Rc;

use hidp_std::Context;

use super::{Recipes, assert_close};
use crate::buffer::Buffer;
use crate::kernels::loops;
use crate::{Case, Contender, Limit, peers};

pub(super) const RECIPES: Recipes = &[("lines f64 2000^2", lines)];

/// Values stay as they are in size: each sweep multiplies by a half at most.
fn lines() -> Case {
    const SIDE: usize = 2000;
    let shape = [SIDE; 2];
    let factors = Rc::new(Buffer::from_fn(SIDE * SIDE, |i| ((i * 31) % 101) as f64 / 202.0));
    let start = || Buffer::from_fn(SIDE * SIDE, |i| ((i * 17) % 103) as f64);
    let values = Rc::new(RefCell::new(start()));
    let cx = Context::cpu().expect("a CPU context");
    let hidp = |narrow: bool| {
        let (cx, factors, values) = (cx.clone(), factors.clone(), values.clone());
        move || {
            let mut values = values.borrow_mut();
            let (factors, values) = ((&factors[..], shape), &mut (&mut values[..], shape));
            let done =
                if narrow { loops::lines(&cx, &factors, values) } else { loops::lines_long(&cx, &factors, values) };
            done.expect("lines run");
        }
    };
    let peer = {
        let (factors, values) = (factors.clone(), values.clone());
        move || peers::lines(&mut values.borrow_mut(), &factors, shape)
    };
    let mut expected = start();
    peers::lines(&mut expected, &factors, shape);
    for narrow in [true, false] {
        *values.borrow_mut() = start();
        hidp(narrow)();
        assert_close("lines", &values.borrow(), &expected, 1e-12);
    }
    Case {
        name: "lines f64 2000^2".into(),
        limit: Limit::Stream(6.0 * 8.0 * (SIDE * SIDE) as f64),
        contenders: vec![
            Contender::new("HiDP", hidp(true)),
            Contender::new("HiDP, `long`", hidp(false)),
            Contender::new("OpenMP", peer),
        ],
    }
}
