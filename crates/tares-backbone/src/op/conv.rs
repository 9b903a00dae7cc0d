//! Convolution: depthwise ones plane by plane, all others as a matrix product of filters and patches.

use super::product::product;
use super::window::{Window, plane_size};
use super::{Inputs, OpResult, one};
use crate::onnx::Node;
use crate::tensor::{Tensor, elements};
use tares_core::widest::{Work, widest};

/// `Conv` over pictures: input `[1, C, H, W]`, filters `[M, C / groups, h, w]`.
pub(super) fn conv(node: &Node, inputs: &Inputs<'_>) -> OpResult {
    let (input, filters) = (inputs.tensor(0)?, inputs.tensor(1)?);
    let &[1, channels, height, width] = &input.shape[..] else {
        return Err(format!("needs one picture [1, C, H, W], got {:?}", input.shape));
    };
    let &[maps, per_group, fh, fw] = &filters.shape[..] else {
        return Err(format!("needs filters [M, C, h, w], got {:?}", filters.shape));
    };
    let groups = usize::try_from(node.integer("group").unwrap_or(1)).unwrap_or(0);
    if groups == 0 || per_group * groups != channels || !maps.is_multiple_of(groups) || maps == 0 {
        return Err(format!("filters {:?} in {groups} groups don't fit an input of {:?}", filters.shape, input.shape));
    }
    let window = Window::of(node, (height, width), (fh, fw))?;
    let (rows, columns) = window.out;
    let plane = plane_size(rows, columns)?;
    let mut out = vec![0f32; elements(&[maps, plane])?];
    let (pixels, weights) = (input.as_floats()?, filters.as_floats()?);
    let map_size = per_group * fh * fw;
    let of_group = maps / groups;
    for group in 0..groups {
        let pixels = &pixels[group * per_group * height * width..][..per_group * height * width];
        let weights = &weights[group * of_group * map_size..][..of_group * map_size];
        let out = &mut out[group * of_group * plane..][..of_group * plane];
        if per_group == 1 {
            for (weights, out) in weights.chunks_exact(fh * fw).zip(out.chunks_exact_mut(plane)) {
                depthwise(pixels, weights, &window, out);
            }
            continue;
        }
        let patches = |k: usize, first: usize, into: &mut [f32]| {
            let (channel, ky, kx) = (k / (fh * fw), k / fw % fh, k % fw);
            window.patch(&pixels[channel * height * width..][..height * width], (ky, kx), first, into);
        };
        product((of_group, plane, map_size), |map| &weights[map * map_size..][..map_size], patches, out);
    }
    if let Some(bias) = inputs.optional(2) {
        let bias = bias.as_floats()?;
        if bias.len() != maps {
            return Err(format!("needs {maps} biases, got {}", bias.len()));
        }
        for (out, bias) in out.chunks_exact_mut(plane).zip(bias) {
            out.iter_mut().for_each(|value| *value += bias);
        }
    }
    one(Tensor::floats(vec![1, maps, rows, columns], out))
}

/// One plane with one filter.
fn depthwise(pixels: &[f32], weights: &[f32], window: &Window, out: &mut [f32]) {
    widest(Depthwise { pixels, weights, window, out });
}

struct Depthwise<'a> {
    pixels: &'a [f32],
    weights: &'a [f32],
    window: &'a Window,
    out: &'a mut [f32],
}

impl Work for Depthwise<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Window { size, filter, strides, dilations, out: (_, columns), .. } = *self.window;
        for (row, out) in self.out.chunks_exact_mut(columns).enumerate() {
            for ky in 0..filter.0 {
                let Some(line) = self.window.line(self.pixels, row * strides.0 + ky * dilations.0) else { continue };
                for kx in 0..filter.1 {
                    let weight = self.weights[ky * filter.1 + kx];
                    // Output x reads input x · stride + shift, if that is inside the line.
                    let (from, to) = self.window.inside(kx);
                    let start = (from * strides.1 + kx * dilations.1).saturating_sub(self.window.pads.1);
                    let out = &mut out[from..to];
                    let line = &line[start.min(size.1)..];
                    if strides.1 == 1 {
                        for (sum, value) in out.iter_mut().zip(line) {
                            *sum = weight.mul_add(*value, *sum);
                        }
                    } else {
                        for (sum, value) in out.iter_mut().zip(line.iter().step_by(strides.1)) {
                            *sum = weight.mul_add(*value, *sum);
                        }
                    }
                }
            }
        }
    }
}
