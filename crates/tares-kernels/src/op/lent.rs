//! Floats of the pool as the memory of a tensor. One of the three modules with `unsafe`.
//!
//! Why it is sound: the memory of a [`Lent`] is a vector of floats that it alone owns and never resizes, so it lives at one place until
//! the tensor is dropped, is aligned for floats, and every byte of it is initialised; any bytes are floats. It cannot be taken out of the
//! tensor as a vector (`try_detach` keeps its answer `None`), so nobody but the pool ever frees it.
#![allow(unsafe_code)]

use crate::cpu::pool::Floats;
use burn::tensor::Bytes;
use burn_std::{AccessError, AccessPolicy, AllocationController, AllocationProperty};
use std::mem::MaybeUninit;

/// The bytes of `floats`, which go back to the pool when they are dropped.
pub(crate) fn lent(floats: Floats) -> Bytes {
    let length = size_of_val(&*floats);
    // SAFETY: the controller lends exactly so many bytes, all of them initialised.
    unsafe { Bytes::from_controller(Box::new(Lent(floats)), length) }
}

struct Lent(Floats);

impl AllocationController for Lent {
    fn alloc_align(&self) -> usize {
        align_of::<f32>()
    }

    fn property(&self) -> AllocationProperty {
        AllocationProperty::Other
    }

    fn memory(&self, _: AccessPolicy) -> Result<&[MaybeUninit<u8>], AccessError> {
        let floats: &[f32] = &self.0;
        // SAFETY: the bytes of the slice itself, borrowed as long as it; a byte needs no alignment.
        Ok(unsafe { std::slice::from_raw_parts(floats.as_ptr().cast(), size_of_val(floats)) })
    }

    unsafe fn memory_mut(&mut self, _: AccessPolicy) -> Result<&mut [MaybeUninit<u8>], AccessError> {
        let floats: &mut [f32] = &mut self.0;
        // SAFETY: as above, borrowed mutably; the caller promises to write nothing uninitialised, and any bytes are floats.
        Ok(unsafe { std::slice::from_raw_parts_mut(floats.as_mut_ptr().cast(), size_of_val(floats)) })
    }
}

#[cfg(test)]
mod tests {
    use crate::cpu::pool::Floats;
    use crate::op::host::{Host, floats, host, in_place};
    use burn::backend::TensorMetadata;

    fn counted(len: usize) -> Host {
        host(Floats::from((0..len).map(|v| v as f32).collect::<Vec<_>>()), [len])
    }

    #[test]
    fn a_lent_tensor_is_read_written_copied_and_taken_apart_like_any_other() {
        let mut tensor = counted(5000);
        assert_eq!(floats(&tensor)[4999], 4999.0);
        let copy = tensor.clone();
        assert!(in_place(&mut tensor).is_none(), "two hold it");
        drop(copy);
        in_place(&mut tensor).unwrap()[7] = -1.0;
        assert_eq!(floats(&tensor)[7], -1.0);
        let data = tensor.into_data();
        assert_eq!((data.num_elements(), data.clone().try_to_vec::<f32>().unwrap()[7]), (5000, -1.0));
        assert_eq!(data.try_into_vec_as::<f32>().unwrap()[8], 8.0);
    }

    #[test]
    fn the_memory_is_used_again_once_the_last_tensor_is_dropped() {
        // A length that no other test asks for.
        let (first, len) = (counted(54_321), 54_321);
        let place = floats(&first).as_ptr();
        let second = first.clone();
        drop(first);
        assert_ne!(Floats::unwritten(len).as_ptr(), place, "still held");
        drop(second);
        // The one asked for above waits as well, so both are taken.
        let both = [Floats::unwritten(len), Floats::unwritten(len)];
        assert!(both.iter().any(|floats| floats.as_ptr() == place));
        assert_eq!(counted(len).shape().dims::<1>(), [len]);
    }
}
