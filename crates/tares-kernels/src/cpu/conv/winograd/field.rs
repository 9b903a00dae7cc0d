//! Planes of an image ↔ sixteen channels side by side.

use crate::cpu::lane::{LANES, Lane, ZERO};

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
    pub fn read(&self, planes: &[f32], field: &mut [Lane]) {
        let size = self.h * self.w;
        let channels = (planes.len() / size).min(LANES);
        for (y, row) in field.chunks_exact_mut(self.columns).take(self.rows).enumerate() {
            let from = y.wrapping_sub(self.top);
            if from >= self.h {
                row.fill(ZERO);
                continue;
            }
            let (before, rest) = row.split_at_mut(self.left);
            let (inside, after) = rest.split_at_mut(self.w.min(rest.len()));
            before.fill(ZERO);
            after.fill(ZERO);
            if channels == LANES {
                let rows: [&[f32]; LANES] =
                    std::array::from_fn(|c| &planes[c * size + from * self.w..][..inside.len()]);
                for (x, pixel) in inside.iter_mut().enumerate() {
                    for c in 0..LANES {
                        pixel[c] = rows[c][x];
                    }
                }
            } else {
                inside.fill(ZERO);
                for c in 0..channels {
                    for (pixel, v) in inside.iter_mut().zip(&planes[c * size + from * self.w..]) {
                        pixel[c] = *v;
                    }
                }
            }
        }
    }

    /// Writes up to sixteen planes from `field`, adding `offset` to each channel.
    #[inline(always)]
    pub fn write(&self, field: &[Lane], offset: &Lane, planes: &mut [f32]) {
        let size = self.h * self.w;
        for (c, plane) in planes.chunks_exact_mut(size).take(LANES).enumerate() {
            for (y, row) in plane.chunks_exact_mut(self.w).enumerate() {
                let from = &field[(y + self.top) * self.columns + self.left..][..self.w];
                for (v, pixel) in row.iter_mut().zip(from) {
                    *v = pixel[c] + offset[c];
                }
            }
        }
    }
}
