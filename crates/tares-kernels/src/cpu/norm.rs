//! Training batch norm followed by leaky ReLU, on slices: two passes over memory forward, two backward.
//!
//! With `m = n·h·w` values per channel, forward
//!
//! ```text
//! mean = Σ x / m      var = Σ (x − mean)² / m      r = 1 / √(var + eps)
//! z = gamma·r·(x − mean) + beta + kept             y = z where z > 0, slope·z elsewhere
//! ```
//!
//! and backward, with `g = dy` where `z > 0` and `slope·dy` elsewhere (which is also the gradient of `kept`),
//!
//! ```text
//! dbeta = Σ g      dgamma = r·Σ g·(x − mean)      dx = gamma·r·(g − dbeta/m − (x − mean)·r·dgamma/m)
//! ```
//!
//! Each plane is summed on its own, and the planes of a channel are added in double precision in the order of the images, so
//! the result does not depend on the number of threads.

mod passes;

use crate::cpu::pool::Floats;
use crate::cpu::simd::widest;
use crate::cpu::threads::for_each;
use passes::{Apply, ApplyAndAdd, ApplyInPlace, InputGradient, Moments, Pass, Products};
use rayon::prelude::*;

/// Floats per task: a few microseconds of work.
const TASK_FLOATS: usize = 1 << 14;

/// Planes `[n, channels]` of `pixels` values each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planes {
    pub n: usize,
    pub channels: usize,
    pub pixels: usize,
}

/// What training batch norm returns: the output and the batch statistics (biased variance).
pub(crate) struct Normalised {
    pub y: Floats,
    pub mean: Vec<f32>,
    pub var: Vec<f32>,
}

/// Gradients of [`forward`]; that of `kept` is empty without it.
pub(crate) struct Gradient {
    pub dx: Floats,
    pub dgamma: Vec<f32>,
    pub dbeta: Vec<f32>,
    pub dkept: Floats,
}

/// `y = leaky(batch_norm(x) + kept)` with the statistics of this batch; `kept` may be missing.
pub(crate) fn forward(
    p: Planes,
    x: &[f32],
    [gamma, beta]: [&[f32]; 2],
    eps: f32,
    slope: f32,
    kept: Option<&[f32]>,
) -> Normalised {
    let (mean, var) = statistics(p, x);
    let affine = Affine::new(gamma, beta, &mean, &var, eps);
    let y = match kept {
        Some(kept) => apply_and_add(p, x, &affine, slope, kept),
        None => apply(p, x, &affine, slope),
    };
    Normalised { y, mean, var }
}

/// Mean and variance (biased) of every channel.
fn statistics(p: Planes, x: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let planes: Vec<[f32; 2]> = per_plane(p, |task, into| {
        widest(Moments { pixels: p.pixels, x: &x[task], into });
    });
    moments(p, &planes)
}

/// The same bits for the channels from `first` on alone.
pub(crate) fn statistics_from(first: usize, p: Planes, x: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let rest = Planes { channels: p.channels - first, ..p };
    if first == 0 || rest.channels == 0 {
        return statistics(rest, x);
    }
    let mut planes = vec![[0.0; 2]; rest.n * rest.channels];
    let images = planes.chunks_mut(rest.channels).zip(x.chunks((p.channels * p.pixels).max(1)));
    for_each(images, |(into, image)| {
        widest(Moments { pixels: p.pixels, x: &image[first * p.pixels..], into });
    });
    moments(rest, &planes)
}

/// Of every channel, from mean and sum of squared deviations of every plane.
fn moments(p: Planes, planes: &[[f32; 2]]) -> (Vec<f32>, Vec<f32>) {
    let count = (p.n * p.pixels).max(1) as f64;
    (0..p.channels)
        .map(|c| {
            let of_channel = || planes.iter().skip(c).step_by(p.channels);
            let mean = of_channel().map(|v| f64::from(v[0])).sum::<f64>() / p.n.max(1) as f64;
            let within: f64 = of_channel().map(|v| f64::from(v[1])).sum();
            let between: f64 = of_channel().map(|v| (f64::from(v[0]) - mean).powi(2)).sum();
            (mean as f32, ((within + between * p.pixels as f64) / count) as f32)
        })
        .unzip()
}

/// `y = leaky(scale·x + shift + kept)`.
fn apply_and_add(p: Planes, x: &[f32], affine: &Affine, slope: f32, kept: &[f32]) -> Floats {
    let mut y = Floats::unwritten(x.len());
    let per_task = planes_per_task(p);
    let size = (per_task * p.pixels).max(1);
    let inputs = x.par_chunks(size).zip(kept.par_chunks(size));
    y.par_chunks_mut(size).zip(inputs).enumerate().for_each(|(task, (y, (x, kept)))| {
        widest(ApplyAndAdd { pixels: p.pixels, first: task * per_task, affine, slope, x, kept, y });
    });
    y
}

/// `y = leaky(gamma·(x − mean)/√(var + eps) + beta)` for statistics that are given.
pub(crate) fn apply(p: Planes, x: &[f32], affine: &Affine, slope: f32) -> Floats {
    let mut y = Floats::unwritten(x.len());
    let per_task = planes_per_task(p);
    if y.is_empty() {
        return y;
    }
    y.par_chunks_mut(per_task * p.pixels).zip(x.par_chunks(per_task * p.pixels)).enumerate().for_each(
        |(task, (y, x))| {
            widest(Apply { pixels: p.pixels, first: task * per_task, affine, slope, x, y });
        },
    );
    y
}

/// [`apply`] onto its own input.
pub(crate) fn apply_in_place(p: Planes, x: &mut [f32], affine: &Affine, slope: f32) {
    let per_task = planes_per_task(p);
    x.par_chunks_mut((per_task * p.pixels).max(1)).enumerate().for_each(|(task, x)| {
        widest(ApplyInPlace { pixels: p.pixels, first: task * per_task, affine, slope, x });
    });
}

/// Gradients with respect to `x`, `gamma`, `beta` and, where `y` is the output of a sum with `kept`, to that.
#[allow(clippy::too_many_arguments)] // the operands of one formula
pub(crate) fn backward(
    p: Planes,
    x: &[f32],
    dy: &[f32],
    [gamma, beta]: [&[f32]; 2],
    mean: &[f32],
    var: &[f32],
    eps: f32,
    slope: f32,
    y: Option<&[f32]>,
) -> Gradient {
    let Some(y) = y else { return through_norm(p, x, dy, [gamma, beta], mean, var, eps, slope) };
    // `y > 0` says the same as `z > 0`. What passed the activation is the gradient of both sides of the sum.
    let mut passed = Floats::unwritten(dy.len());
    let tasks = y.par_chunks(TASK_FLOATS).zip(dy.par_chunks(TASK_FLOATS));
    passed.par_chunks_mut(TASK_FLOATS).zip(tasks).for_each(|(passed, (y, dy))| {
        widest(Pass { slope, y, dy, passed });
    });
    let gradient = through_norm(p, x, &passed, [gamma, beta], mean, var, eps, 1.0);
    Gradient { dkept: passed, ..gradient }
}

/// [`backward`] without `kept`.
#[allow(clippy::too_many_arguments)] // the operands of one formula
fn through_norm(
    p: Planes,
    x: &[f32],
    dy: &[f32],
    [gamma, beta]: [&[f32]; 2],
    mean: &[f32],
    var: &[f32],
    eps: f32,
    slope: f32,
) -> Gradient {
    let affine = Affine::new(gamma, beta, mean, var, eps);
    let planes: Vec<[f32; 2]> = per_plane(p, |task, into| {
        let first = task.start / p.pixels.max(1);
        widest(Products {
            pixels: p.pixels,
            first,
            affine: &affine,
            mean,
            slope,
            x: &x[task.clone()],
            dy: &dy[task],
            into,
        });
    });
    let PerChannel { dgamma, dbeta, corrections } = per_channel(p, &planes, var, eps);
    let mut dx = Floats::unwritten(x.len());
    let per_task = planes_per_task(p);
    if !dx.is_empty() {
        let size = per_task * p.pixels;
        dx.par_chunks_mut(size).zip(x.par_chunks(size).zip(dy.par_chunks(size))).enumerate().for_each(
            |(task, (dx, (x, dy)))| {
                let first = task * per_task;
                widest(InputGradient {
                    pixels: p.pixels,
                    first,
                    affine: &affine,
                    mean,
                    corrections: &corrections,
                    slope,
                    x,
                    dy,
                    dx,
                });
            },
        );
    }
    Gradient { dx, dgamma, dbeta, dkept: Floats::default() }
}

/// The gradients of gamma and beta, and what is taken off every gradient of the input, from `Σ g` and `Σ g·(x − mean)` of every plane.
pub(crate) fn per_channel(p: Planes, planes: &[[f32; 2]], var: &[f32], eps: f32) -> PerChannel {
    let count = (p.n * p.pixels).max(1) as f64;
    let mut found = PerChannel {
        dgamma: vec![0.0; p.channels],
        dbeta: vec![0.0; p.channels],
        corrections: vec![[0.0; 2]; p.channels],
    };
    for (c, var) in var.iter().enumerate() {
        let of_channel = || planes.iter().skip(c).step_by(p.channels);
        let r = 1.0 / (f64::from(*var) + f64::from(eps)).sqrt();
        let g: f64 = of_channel().map(|v| f64::from(v[0])).sum();
        let gx: f64 = of_channel().map(|v| f64::from(v[1])).sum();
        (found.dgamma[c], found.dbeta[c]) = ((gx * r) as f32, g as f32);
        found.corrections[c] = [(g / count) as f32, (gx * r * r / count) as f32];
    }
    found
}

/// What [`per_channel`] finds.
pub(crate) struct PerChannel {
    pub dgamma: Vec<f32>,
    pub dbeta: Vec<f32>,
    pub corrections: Vec<[f32; 2]>,
}

/// Batch norm as `z = scale·x + shift`, per channel.
pub(crate) struct Affine {
    pub scale: Vec<f32>,
    pub shift: Vec<f32>,
}

impl Affine {
    /// The map for these parameters and statistics.
    pub fn new(gamma: &[f32], beta: &[f32], mean: &[f32], var: &[f32], eps: f32) -> Self {
        let scale: Vec<f32> = gamma
            .iter()
            .zip(var)
            .map(|(g, v)| (f64::from(*g) / (f64::from(*v) + f64::from(eps)).sqrt()) as f32)
            .collect();
        let shift = scale
            .iter()
            .zip(mean)
            .zip(beta)
            .map(|((a, m), b)| (f64::from(*b) - f64::from(*a) * f64::from(*m)) as f32)
            .collect();
        Self { scale, shift }
    }
}

fn planes_per_task(p: Planes) -> usize {
    (TASK_FLOATS / p.pixels.max(1)).max(1)
}

/// Runs `work(range of floats, its planes' results)` over tasks of whole planes.
fn per_plane(p: Planes, work: impl Fn(std::ops::Range<usize>, &mut [[f32; 2]]) + Sync) -> Vec<[f32; 2]> {
    let per_task = planes_per_task(p);
    let mut results = vec![[0.0; 2]; p.n * p.channels];
    results.par_chunks_mut(per_task).enumerate().for_each(|(task, into)| {
        let first = task * per_task;
        work(first * p.pixels..(first + into.len()) * p.pixels, into);
    });
    results
}
