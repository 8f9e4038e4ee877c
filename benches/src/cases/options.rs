//! Prices of options: no loops, so neighbouring iterations are lanes anyhow.

use std::cell::RefCell;
use std::rc::Rc;

use hidp_std::Context;

use super::lanes::beside_rows;
use super::{Recipes, assert_alike, widen};
use crate::buffer::Buffer;
use crate::kernels::lanes;
use crate::peers::lanes::Lanes;
use crate::peers::simulations::Simulations;
use crate::{Case, Contender, Limit};

pub(super) const RECIPES: Recipes = &[
    ("lanes black-scholes f32 2^20", || black_scholes(1 << 20)),
    ("lanes black-scholes f64 2^20", || black_scholes_f64(1 << 20)),
];

fn context() -> Context {
    Context::cpu().expect("a CPU context")
}

fn black_scholes(n: usize) -> Case {
    let price = Rc::new(Buffer::from_fn(n, |i| 80.0 + (i % 41) as f32));
    let strike = Rc::new(Buffer::from_fn(n, |i| 90.0 + (i % 23) as f32));
    let years = Rc::new(Buffer::from_fn(n, |i| 0.25 + (i % 7) as f32));
    let call = Rc::new(RefCell::new(Buffer::from_fn(n, |_| 0.0f32)));
    let put = Rc::new(RefCell::new(Buffer::from_fn(n, |_| 0.0f32)));
    let cx = context();
    let vectors = Lanes::of(cx.isa());
    let hidp = {
        let (p, s, t, c, q) = (price.clone(), strike.clone(), years.clone(), call.clone(), put.clone());
        move |cx: &Context| {
            let (mut c, mut q) = (c.borrow_mut(), q.borrow_mut());
            lanes::black_scholes(cx, &p[..], &s[..], &t[..], 0.02, 0.3, &mut c[..], &mut q[..]).expect("it runs");
        }
    };
    let peer = {
        let (p, s, t, c, q) = (price.clone(), strike.clone(), years.clone(), call.clone(), put.clone());
        move || vectors.black_scholes((&mut c.borrow_mut(), &mut q.borrow_mut()), (&p, &s, &t), 0.02, 0.3)
    };
    let mut peers = vec![Contender::new("OpenMP", peer)];
    if let Some(sleef) = Simulations::of(cx.isa()).options_f32() {
        let c = call.clone();
        let by = move || sleef.run((&mut c.borrow_mut(), &mut put.borrow_mut()), (&price, &strike, &years), 0.02, 0.3);
        peers.push(Contender::new("SLEEF", by));
    }
    let mut contenders = beside_rows(&cx, hidp, peers);
    assert_alike("black-scholes", &mut contenders, 1e-4, || widen(&call.borrow()));
    Case { name: format!("lanes black-scholes f32 2^{}", n.ilog2()), limit: Limit::Cells(n as f64), contenders }
}

fn black_scholes_f64(n: usize) -> Case {
    let price = Rc::new(Buffer::from_fn(n, |i| 80.0 + (i % 41) as f64));
    let strike = Rc::new(Buffer::from_fn(n, |i| 90.0 + (i % 23) as f64));
    let years = Rc::new(Buffer::from_fn(n, |i| 0.25 + (i % 7) as f64));
    let call = Rc::new(RefCell::new(Buffer::from_fn(n, |_| 0.0f64)));
    let put = Rc::new(RefCell::new(Buffer::from_fn(n, |_| 0.0f64)));
    let cx = context();
    let hidp = {
        let (p, s, t, c, q) = (price.clone(), strike.clone(), years.clone(), call.clone(), put.clone());
        move |cx: &Context| {
            let (mut c, mut q) = (c.borrow_mut(), q.borrow_mut());
            lanes::black_scholes_f64(cx, &p[..], &s[..], &t[..], 0.02, 0.3, &mut c[..], &mut q[..]).expect("it runs");
        }
    };
    let sleef = Simulations::of(cx.isa()).options_f64().map(|sleef| {
        let c = call.clone();
        let by = move || sleef.run((&mut c.borrow_mut(), &mut put.borrow_mut()), (&price, &strike, &years), 0.02, 0.3);
        Contender::new("SLEEF", by)
    });
    let mut contenders = beside_rows(&cx, hidp, sleef.into_iter().collect());
    assert_alike("black-scholes", &mut contenders, 1e-12, || call.borrow().to_vec());
    Case { name: format!("lanes black-scholes f64 2^{}", n.ilog2()), limit: Limit::Cells(n as f64), contenders }
}
