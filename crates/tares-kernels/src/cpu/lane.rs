//! Sixteen floats on a cache line of their own: one value for each of sixteen channels.

use std::ops::{Index, IndexMut};

/// Channels that travel together: one register with AVX-512, two with AVX2, four with NEON.
pub(crate) const LANES: usize = 16;

/// One value for each of [`LANES`] channels, aligned so that no load crosses a cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(64))]
pub(crate) struct Lane(pub [f32; LANES]);

/// A zero for each channel.
pub(crate) const ZERO: Lane = Lane([0.0; LANES]);

impl Index<usize> for Lane {
    type Output = f32;
    #[inline(always)]
    fn index(&self, channel: usize) -> &f32 {
        &self.0[channel]
    }
}

impl IndexMut<usize> for Lane {
    #[inline(always)]
    fn index_mut(&mut self, channel: usize) -> &mut f32 {
        &mut self.0[channel]
    }
}
