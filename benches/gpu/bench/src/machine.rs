//! The device that is measured: its context, its stream, and how time passes there.

use std::cell::{OnceCell, RefCell};
use std::ffi::c_void;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use cudarc::driver::{CudaStream, sys};
use hidp_std::{Context, DeviceArray};

use crate::peers::{self, Address};
use crate::report::{Contender, LIMIT_COPY, LIMIT_FMA, Measured, Report, Work};

/// Rounds in which all contenders of a row run once.
const ROUNDS: usize = 9;
/// A contender repeats its work until a round has lasted so long, in seconds, if its input stays as it is.
const SHORTEST: f64 = 0.002;
const MOST_REPEATS: usize = 200;

/// What is copied to find the bandwidth: floats, 1 GiB there and back.
const COPIED: usize = 1 << 27;

/// See the module.
pub struct Machine {
    pub cx: Context,
    /// `None` on the executor.
    stream: Option<Arc<CudaStream>>,
    pub report: RefCell<Report>,
    /// Files that come with the program.
    pub data: PathBuf,
    /// Arrays to copy, and their addresses.
    copied: OnceCell<([DeviceArray<f32, 1>; 2], [Address; 2])>,
}

impl Machine {
    /// The GPU of this number.
    pub fn gpu(ordinal: u32, data: PathBuf) -> Result<Machine> {
        let cx = Context::builder().threads(1).cuda(ordinal).build()?;
        let slice = DeviceArray::<f32, 1>::zeros(&cx, [1])?.into_cuda_slice()?;
        let stream = Some(slice.stream().clone());
        Ok(Machine { cx, stream, report: RefCell::default(), data, copied: OnceCell::new() })
    }

    /// The executor: nothing that is measured there means anything.
    pub fn simulated(data: PathBuf) -> Result<Machine> {
        let cx = Context::builder().threads(1).simulated(0).build()?;
        Ok(Machine { cx, stream: None, report: RefCell::default(), data, copied: OnceCell::new() })
    }

    /// Whether sizes are those of the tests.
    pub fn is_tiny(&self) -> bool {
        self.stream.is_none()
    }

    /// The size on a GPU, and in tests.
    pub fn size(&self, full: usize, tiny: usize) -> usize {
        if self.is_tiny() { tiny } else { full }
    }

    pub fn stream(&self) -> *mut c_void {
        self.stream.as_ref().map_or(std::ptr::null_mut(), |stream| stream.cu_stream().cast())
    }

    /// An array on the device with these elements, and its address for peers.
    pub fn array<T: Copy + Send + Sync + 'static, const N: usize>(
        &self,
        elements: &[T],
        shape: [usize; N],
    ) -> Result<(DeviceArray<T, N>, Address)> {
        let flat: DeviceArray<T, 1> = DeviceArray::from_host(&self.cx, elements)?;
        self.addressed(flat.into_shape(shape)?)
    }

    /// A vector.
    pub fn vector<T: Copy + Send + Sync + 'static>(&self, elements: &[T]) -> Result<(DeviceArray<T, 1>, Address)> {
        self.array(elements, [elements.len()])
    }

    /// An array of zeros.
    pub fn zeros<T: hidp_std::Zeroed + Copy + Send + Sync + 'static, const N: usize>(
        &self,
        shape: [usize; N],
    ) -> Result<(DeviceArray<T, N>, Address)> {
        self.addressed(DeviceArray::zeros(&self.cx, shape)?)
    }

    /// The array and where it is; on the executor there are no peers that would ask.
    fn addressed<T: Copy + Send + Sync + 'static, const N: usize>(
        &self,
        array: DeviceArray<T, N>,
    ) -> Result<(DeviceArray<T, N>, Address)> {
        let Some(stream) = &self.stream else { return Ok((array, 0)) };
        if array.is_empty() {
            return Ok((array, 0));
        }
        let shape = array.shape();
        let slice = array.into_cuda_slice()?;
        let address = {
            use cudarc::driver::DevicePtr;
            slice.device_ptr(stream).0
        };
        Ok((DeviceArray::from_cuda_slice(&self.cx, slice, shape)?, address))
    }

    /// Seconds that the device needs for the work; the preparation is done before.
    fn time(&self, contender: &mut Contender<'_>, repeats: usize) -> Result<f64> {
        if let Some(before) = &mut contender.before {
            before()?;
        }
        let mut work = || (0..repeats).try_for_each(|_| (contender.run)());
        let Some(stream) = &self.stream else {
            let start = Instant::now();
            work()?;
            self.cx.synchronize()?;
            return Ok(start.elapsed().as_secs_f64() / repeats as f64);
        };
        let flags = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
        let start = stream.record_event(flags)?;
        work()?;
        let end = stream.record_event(flags)?;
        Ok(f64::from(start.elapsed_ms(&end)?) / 1e3 / repeats as f64)
    }

    /// Does a row; what goes wrong in it is said, and ends neither the part nor its goals.
    pub fn row<T>(&self, title: &str, row: impl FnOnce() -> Result<T>) -> Option<T> {
        row()
            .map_err(|error| {
                println!("FAILED: {title}: {error:#}");
                self.report.borrow_mut().failed(title, &format!("{error:#}"));
            })
            .ok()
    }

    /// Measures the contenders of a row in rotated, interleaved rounds, beside the limit, and reports. The first is HiDP; others that
    /// cannot do the work are left out.
    pub fn compare(&self, title: &str, work: Work, contenders: Vec<Contender<'_>>) -> Result<Measured> {
        let (mut able, mut repeats) = (Vec::new(), Vec::new());
        for mut contender in contenders.into_iter().chain(self.limit(work)?) {
            match self.repeats(&mut contender) {
                Ok(wanted) => {
                    able.push(contender);
                    repeats.push(wanted);
                }
                Err(error) if able.is_empty() => return Err(error),
                Err(error) => println!("{title}: {} LEFT OUT: {error:#}", contender.name),
            }
        }
        let mut contenders = able;
        let count = contenders.len();
        let mut seconds = vec![Vec::new(); count];
        for round in 0..if self.is_tiny() { 1 } else { ROUNDS } {
            for turn in 0..count {
                let which = (round + turn) % count;
                seconds[which].push(self.time(&mut contenders[which], repeats[which])?);
            }
        }
        let rates = contenders.iter().zip(seconds).map(|(contender, seconds)| {
            let amount = contender.amount.unwrap_or(work.amount());
            (contender.name, seconds.into_iter().map(|seconds| amount / seconds).collect())
        });
        let measured = Measured::new(title, work, rates.collect());
        println!("{measured}");
        Ok(measured)
    }

    /// How often a contender does its work in a round, after it did it for the first times.
    fn repeats(&self, contender: &mut Contender<'_>) -> Result<usize> {
        let warm = self.time(contender, 1)?;
        if contender.before.is_some() || self.is_tiny() {
            return Ok(1);
        }
        let once = self.time(contender, 1)?.min(warm);
        Ok(((SHORTEST / once.max(1e-7)).ceil() as usize).clamp(1, MOST_REPEATS))
    }

    /// What the row is compared with at the end of each round: copying, or multiplying and adding.
    fn limit(&self, work: Work) -> Result<Option<Contender<'_>>> {
        if self.is_tiny() || matches!(work, Work::Items(_)) {
            return Ok(None);
        }
        let (arrays, [to, from]) = match self.copied.get() {
            Some(copied) => copied,
            None => {
                let ((to, a), (from, b)) = (self.zeros([COPIED])?, self.zeros([COPIED])?);
                self.copied.get_or_init(|| ([to, from], [a, b]))
            }
        };
        let (to, from, stream) = (*to, *from, self.stream());
        let copied = arrays[0].len() as i64;
        let contender = match work {
            Work::Bytes(_) | Work::Items(_) => {
                let copy = Contender::new(LIMIT_COPY, move || peers::peer_copy(stream, to, from, copied));
                Contender { amount: Some(8.0 * copied as f64), ..copy }
            }
            Work::Flops(_) => {
                const TURNS: i32 = 4096;
                let mut threads = 0;
                peers::peer_fma_threads(stream, &mut threads)?;
                let amount = 16.0 * f64::from(TURNS) * threads as f64;
                let fma = Contender::new(LIMIT_FMA, move || peers::peer_fma(stream, to, TURNS));
                Contender { amount: Some(amount), ..fma }
            }
        };
        Ok(Some(contender))
    }
}
