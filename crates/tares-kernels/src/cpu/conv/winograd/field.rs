//! Planes of an image ↔ sixteen channels side by side.

use crate::cpu::lane::{LANES, Lane, ZERO};
use crate::cpu::simd::Register;

/// A field of `rows × columns` pixels with sixteen channels each, of which a plane `h × w` lies at `(top, left)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub rows: usize,
    pub columns: usize,
    pub top: usize,
    pub left: usize,
    pub h: usize,
    pub w: usize,
}

impl Field {
    /// Reads up to sixteen planes into `field`; what lies around them and missing channels become 0.
    #[inline(always)]
    pub fn read<R: Register>(&self, planes: &[f32], field: &mut [Lane]) {
        let size = self.h * self.w;
        let channels = (planes.len() / size).min(LANES);
        self.clear_around(field);
        if size < LANES {
            for pixel in 0..size {
                let lane = &mut field[self.place(pixel)];
                *lane = ZERO;
                (0..channels).for_each(|c| lane[c] = planes[c * size + pixel]);
            }
            return;
        }
        for first in groups(size) {
            let mut rows = [R::load(&ZERO); LANES];
            #[allow(clippy::needless_range_loop)] // a constant number of turns keeps the rows in registers
            for c in 0..LANES {
                if c < channels {
                    rows[c] = R::read(planes[c * size + first..].first_chunk().expect("sixteen pixels"));
                }
            }
            let pixels = R::transpose(rows);
            let mut walk = self.walk(first);
            for pixel in pixels {
                pixel.store(&mut field[walk.next(self)]);
            }
        }
    }

    /// Writes up to sixteen planes from `field`, adding `offset` to each channel.
    #[inline(always)]
    pub fn write<R: Register>(&self, field: &[Lane], offset: &Lane, planes: &mut [f32]) {
        let size = self.h * self.w;
        let channels = (planes.len() / size).min(LANES);
        if size < LANES {
            for pixel in 0..size {
                let lane = &field[self.place(pixel)];
                (0..channels).for_each(|c| planes[c * size + pixel] = lane[c] + offset[c]);
            }
            return;
        }
        let offset = R::load(offset);
        for first in groups(size) {
            let mut pixels = [offset; LANES];
            let mut walk = self.walk(first);
            for pixel in &mut pixels {
                *pixel = R::load(&field[walk.next(self)]).add(offset);
            }
            let rows = R::transpose(pixels);
            #[allow(clippy::needless_range_loop)] // a constant number of turns keeps the rows in registers
            for c in 0..LANES {
                if c < channels {
                    rows[c].write(planes[c * size + first..].first_chunk_mut().expect("sixteen pixels"));
                }
            }
        }
    }

    /// Everything but the plane becomes 0.
    #[inline(always)]
    fn clear_around(&self, field: &mut [Lane]) {
        for (y, row) in field.chunks_exact_mut(self.columns).take(self.rows).enumerate() {
            if y < self.top || y >= self.top + self.h {
                row.fill(ZERO);
            } else {
                row[..self.left].fill(ZERO);
                row[self.left + self.w..].fill(ZERO);
            }
        }
    }

    /// Where a pixel of the plane lies.
    #[inline(always)]
    fn place(&self, pixel: usize) -> usize {
        (pixel / self.w + self.top) * self.columns + pixel % self.w + self.left
    }

    #[inline(always)]
    fn walk(&self, pixel: usize) -> Walk {
        Walk { at: self.place(pixel), x: pixel % self.w }
    }
}

/// The places of pixels one after the other.
struct Walk {
    at: usize,
    x: usize,
}

impl Walk {
    #[inline(always)]
    fn next(&mut self, field: &Field) -> usize {
        let here = self.at;
        (self.at, self.x) = (self.at + 1, self.x + 1);
        if self.x == field.w {
            (self.at, self.x) = (self.at + field.columns - field.w, 0);
        }
        here
    }
}

/// The first of each sixteen pixels; the last sixteen overlap those before.
#[inline(always)]
fn groups(size: usize) -> impl Iterator<Item = usize> {
    (0..size.div_ceil(LANES)).map(move |group| (group * LANES).min(size - LANES))
}
