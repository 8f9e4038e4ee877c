//! Memory of `cudarc` as arrays and arrays as memory of `cudarc`, without copies.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtrMut, result};

use super::driver::{Stream, device_address, error};
use crate::device::{Block, Memory, Other, Owner, Queue, Storage};
use crate::rt::element_count;
use crate::{ArrayError, Context, DeviceArray, DeviceError, Error};

/// Memory of `cudarc` that an array uses; freed after all that was asked of the array.
struct Lent<T> {
    /// `None` once it was taken.
    slice: Option<CudaSlice<T>>,
    user: Arc<CudaStream>,
}

impl<T> Lent<T> {
    /// The memory, which its own stream may use only after all that is in the array's.
    fn take(mut self) -> Option<(CudaSlice<T>, Result<(), result::DriverError>)> {
        let mut slice = self.slice.take()?;
        let joined = slice.stream().join(&self.user);
        note_use(&mut slice);
        Some((slice, joined))
    }
}

impl<T> Drop for Lent<T> {
    fn drop(&mut self) {
        let Some(slice) = self.slice.take() else { return };
        if let Err(failure) = slice.stream().join(&self.user) {
            log::debug!("device memory is not freed: {}", error(failure));
            std::mem::forget(slice);
        }
    }
}

/// Lets streams that use the memory later wait for what its own stream holds now.
fn note_use<T>(slice: &mut CudaSlice<T>) {
    let stream = slice.stream().clone();
    drop(slice.device_ptr_mut(&stream).1);
}

fn stream(queue: &Queue) -> Option<&Stream> {
    (queue.driver() as &dyn std::any::Any).downcast_ref()
}

fn failed(doing: &'static str, failure: result::DriverError) -> Error {
    Error::Device(DeviceError::new(doing, &error(failure), false))
}

impl<T: Copy + Send + Sync + 'static, const N: usize> DeviceArray<T, N> {
    /// The memory as an array, without a copy. What is in the memory's own stream happens before what is asked of the array.
    ///
    /// The memory must be in the primary context of the context's device, where `cudarc`'s `CudaContext::new` puts it.
    pub fn from_cuda_slice(cx: &Context, mut slice: CudaSlice<T>, shape: [usize; N]) -> Result<Self, Error> {
        let count = element_count(&shape).ok_or(ArrayError::Size)?;
        if count != slice.len() {
            return Err(ArrayError::Shape { device: shape.into(), other: [slice.len()].into() }.into());
        }
        let Some((queue, ours)) = cx.queue().and_then(|queue| Some((queue, stream(queue)?.cuda_stream()))) else {
            return Err(ArrayError::OtherDevice.into());
        };
        if **slice.context() != **ours.context() {
            return Err(ArrayError::OtherDevice.into());
        }
        queue.enter()?;
        if count == 0 {
            return Ok(Self::from_storage(Storage::Device(Block::new(queue, 0)?), shape));
        }
        ours.join(slice.stream()).map_err(|failure| failed("wait for another stream", failure))?;
        // Also waits for what other streams do with the memory.
        let first = std::ptr::with_exposed_provenance_mut(slice.device_ptr_mut(ours).0 as usize);
        let owner = Owner::Other(Other(Box::new(Lent { slice: Some(slice), user: ours.clone() })));
        // SAFETY: the memory holds as many elements, and is the owner's; our stream waits for the others.
        let block = unsafe { Block::of(Memory::of(queue, first, owner)?) };
        Ok(Self::from_storage(Storage::Device(block), shape))
    }

    /// The array as memory of `cudarc`, without a copy. It belongs to the context's stream, or to the one it was in before.
    ///
    /// An array of the host, or without elements, is refused.
    pub fn into_cuda_slice(self) -> Result<CudaSlice<T>, Error> {
        let count = self.len();
        let Storage::Device(Block { memory, .. }) = self.storage else { return Err(ArrayError::OtherDevice.into()) };
        let queue = memory.queue().clone();
        let Some(ours) = stream(&queue).map(|stream| stream.cuda_stream().clone()) else {
            return Err(ArrayError::OtherDevice.into());
        };
        queue.enter()?;
        let first = device_address(memory.first());
        match memory.give_up()? {
            Owner::Nobody => Err(ArrayError::Size.into()),
            Owner::Pool => {
                // SAFETY: the memory has no other owner, holds as many elements, and is freed as the driver allocated it.
                let mut slice = unsafe { ours.upgrade_device_ptr(first, count) };
                note_use(&mut slice);
                Ok(slice)
            }
            // An array's elements keep their type, so that it is the one that was lent.
            Owner::Other(Other(owner)) => {
                let lent = owner.downcast::<Lent<T>>().map_err(|_| ArrayError::OtherDevice)?;
                let (slice, joined) = lent.take().ok_or(ArrayError::OtherDevice)?;
                joined.map_err(|failure| failed("wait for a stream", failure))?;
                Ok(slice)
            }
        }
    }
}
