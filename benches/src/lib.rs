//! Cases that are measured: each a HiDP kernel, its peers and the limit of the machine, over the same data.

#![allow(missing_docs)]

#[path = "../../examples/alignment/src/blosum.rs"]
mod blosum;
pub mod buffer;
pub mod cases;
pub mod idle;
pub mod limits;
pub mod matrices;
#[path = "../../examples/quickstart/src/matrix.rs"]
#[allow(dead_code)] // the example uses all of it
mod matrix;
pub mod missing;
pub mod mkl;
pub mod onednn;
pub mod openblas;
pub mod parasail;
pub mod peers;
pub mod python;
pub mod random;
pub mod shapes;
pub mod tuning;

hidp_std::include_kernels!(pub mod kernels);

/// What bounds a case, and how much of it one run uses.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// Bytes that must move between memory and cores at least, over the bandwidth of reading.
    Read(f64),
    /// Likewise over the bandwidth of a triad with non-temporal stores.
    Stream(f64),
    /// Floating-point operations over the peak of fused multiply-add.
    Flops(f64),
    /// The same of doubles, of which a vector has half as many.
    DoubleFlops(f64),
    /// Cells of tables; what bounds them depends on how they are computed, so no limit is measured.
    Cells(f64),
}

impl Limit {
    /// Bytes or operations of one run.
    pub fn amount(self) -> f64 {
        match self {
            Limit::Read(amount)
            | Limit::Stream(amount)
            | Limit::Flops(amount)
            | Limit::DoubleFlops(amount)
            | Limit::Cells(amount) => amount,
        }
    }

    /// The unit of rates.
    pub fn unit(self) -> &'static str {
        match self {
            Limit::Read(_) | Limit::Stream(_) => "GB/s",
            Limit::Flops(_) | Limit::DoubleFlops(_) => "GFLOP/s",
            Limit::Cells(_) => "GCUPS",
        }
    }
}

/// One way to do the work of a case.
pub struct Contender {
    /// `HiDP`, `OpenMP`, `rayon`, …
    pub name: &'static str,
    /// Does the work once.
    pub run: Box<dyn FnMut()>,
}

impl Contender {
    /// A contender.
    pub fn new(name: &'static str, run: impl FnMut() + 'static) -> Contender {
        Contender { name, run: Box::new(run) }
    }
}

/// One row of the table. The first contender is HiDP.
pub struct Case {
    /// Name with sizes.
    pub name: String,
    /// What bounds it.
    pub limit: Limit,
    /// HiDP first, then its peers.
    pub contenders: Vec<Contender>,
}
