//! The kernel in plain Rust.

use ndarray::Array2;
use rayon::prelude::*;

const FAR: f32 = 40.0;
const LAMP: [f32; 3] = [0.48, 0.64, -0.6];

type Vector = [f32; 3];

pub(crate) fn brightness(turn: f32, light: &mut Array2<f32>) {
    let (height, width) = light.dim();
    let rows = light.as_slice_mut().expect("pictures are contiguous").par_chunks_mut(width).enumerate();
    rows.for_each(|(i, row)| {
        for (j, light) in row.iter_mut().enumerate() {
            let u = (2.0 * j as f32 + 1.0 - width as f32) / height as f32;
            let v = (height as f32 - 2.0 * i as f32 - 1.0) / height as f32;
            *light = pixel(turn, u, v).clamp(0.0, 1.0).sqrt();
        }
    });
}

fn pixel(turn: f32, u: f32, v: f32) -> f32 {
    let (s, c) = turn.sin_cos();
    let toward = [0.5 * u, 0.5 * v - 0.35, 1.0];
    let length = dot(toward, toward).sqrt();
    let ray = [c * toward[0] + s * toward[2], toward[1], c * toward[2] - s * toward[0]].map(|v| v / length);
    let eye = [-5.5 * s, 2.0, -5.5 * c];
    let sky = 0.55 + 0.45 * v;
    let t = march(eye, ray);
    if t >= FAR {
        return sky;
    }
    let place = along(eye, t, ray);
    let normal = normal(place);
    let facing = dot(normal, LAMP).max(0.0);
    let direct = if facing > 0.0 { lit(place, LAMP) } else { 0.0 };
    let fog = (-0.004 * t * t).exp();
    fog * (0.85 * facing * direct + 0.15 * (0.5 + 0.5 * normal[1])) + (1.0 - fog) * sky
}

fn march(eye: Vector, ray: Vector) -> f32 {
    let mut t = 0.01;
    for _ in 0..160 {
        let d = distance(along(eye, t, ray));
        if d < 0.0005 * t {
            break;
        }
        t += d;
        if t > FAR {
            break;
        }
    }
    t.min(FAR)
}

fn lit(place: Vector, lamp: Vector) -> f32 {
    let (mut seen, mut t) = (1.0f32, 0.03);
    for _ in 0..64 {
        let d = distance(along(place, t, lamp));
        seen = seen.min(9.0 * d / t);
        if seen < 0.005 {
            break;
        }
        t += d.max(0.02);
        if t > 12.0 {
            break;
        }
    }
    seen.max(0.0)
}

fn normal([x, y, z]: Vector) -> Vector {
    let e = 0.001;
    let normal = [
        distance([x + e, y, z]) - distance([x - e, y, z]),
        distance([x, y + e, z]) - distance([x, y - e, z]),
        distance([x, y, z + e]) - distance([x, y, z - e]),
    ];
    let length = dot(normal, normal).sqrt();
    normal.map(|v| v / length)
}

fn distance([x, y, z]: Vector) -> f32 {
    let ball = (x * x + y * y + z * z).sqrt() - 1.0;
    let (out, height) = ((x * x + z * z).sqrt() - 1.5, y + 0.35 * x);
    let ring = (out * out + height * height).sqrt() - 0.22;
    blend(ball, ring, 0.5).min(y + 1.1)
}

fn blend(a: f32, b: f32, soft: f32) -> f32 {
    let h = (soft - (a - b).abs()).max(0.0) / soft;
    a.min(b) - 0.25 * h * h * soft
}

fn along(place: Vector, t: f32, ray: Vector) -> Vector {
    std::array::from_fn(|axis| place[axis] + t * ray[axis])
}

fn dot(a: Vector, b: Vector) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}
