//! L-BFGS: minimises a smooth function from its values and gradients (Nocedal & Wright 2006, algorithms 7.4 and 7.5).
//!
//! The step length satisfies the weak Wolfe conditions, found by doubling and bisection (Lewis & Overton 2013), so every
//! pair that is remembered has positive curvature. Sums run in a fixed order: the same input gives the same bits.

use crate::error::Result;
use rayon::prelude::*;
use std::collections::VecDeque;

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stop {
    /// Stop when the next step is expected to gain less than this fraction of the value.
    pub(crate) tolerance: f64,
    /// Iterations at most.
    pub(crate) iterations: usize,
}

/// How many pairs of steps and changes of the gradient are remembered.
const MEMORY: usize = 10;
/// The curvature estimate is trusted once it holds this many pairs.
const TRUSTED: usize = 4;
/// Weak Wolfe conditions: a step must reach this fraction of the decrease that the slope promises,
const DECREASE: f64 = 1e-4;
/// and leave at most this fraction of the slope.
const SLOPE: f64 = 0.9;

/// Moves `x` to a minimum of `f`, which writes its gradient and returns its value. Returns the value there.
///
/// # Errors
/// Whatever `f` returns.
pub(crate) fn minimise(
    mut f: impl FnMut(&[f64], &mut [f64]) -> Result<f64>,
    x: &mut Vec<f64>,
    stop: Stop,
) -> Result<f64> {
    let mut gradient = vec![0.0; x.len()];
    let mut value = f(x, &mut gradient)?;
    let mut memory: VecDeque<Pair> = VecDeque::with_capacity(MEMORY);
    // With a million parameters, allocating memory costs as much as the arithmetic, so every vector is reused.
    let (mut next, mut next_gradient, mut direction) = (x.clone(), gradient.clone(), gradient.clone());
    for _ in 0..stop.iterations {
        towards_minimum(&memory, &gradient, &mut direction);
        let mut slope = dot(&direction, &gradient);
        if slope >= 0.0 {
            // Rounding has spoilt the curvature estimate: restart with steepest descent.
            memory.clear();
            towards_minimum(&memory, &gradient, &mut direction);
            slope = dot(&direction, &gradient);
        }
        // −slope/2 is what the quadratic model gains. The largest entry of the gradient would say little: with many columns
        // that few rows have, every entry is small from the start.
        if slope == 0.0 || memory.len() >= TRUSTED && -0.5 * slope <= stop.tolerance * value.abs() {
            break;
        }
        let mut step = if memory.is_empty() { 1.0 / slope.abs().sqrt().max(1.0) } else { 1.0 };
        let (mut low, mut high) = (0.0, f64::INFINITY);
        let mut try_step = |step: f64, next: &mut [f64], next_gradient: &mut [f64]| {
            for ((to, from), towards) in next.iter_mut().zip(&*x).zip(&direction) {
                *to = from + step * towards;
            }
            f(next, next_gradient)
        };
        let mut found = None;
        for _ in 0..40 {
            let next_value = try_step(step, &mut next, &mut next_gradient)?;
            let enough = next_value <= value + DECREASE * step * slope; // false also for a value that is not a number
            if enough && dot(&direction, &next_gradient) >= SLOPE * slope {
                found = Some(next_value);
                break;
            }
            if enough {
                low = step
            } else {
                high = step
            }
            step = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * step };
        }
        let next_value = match found {
            Some(found) => found,
            None if low > 0.0 => try_step(low, &mut next, &mut next_gradient)?, // downhill, if not far enough
            None => break,                                                      // rounding hides any further decrease
        };
        let oldest = if memory.len() == MEMORY { memory.pop_front() } else { None };
        memory.extend(Pair::between(x, &next, &gradient, &next_gradient, oldest.unwrap_or_default()));
        std::mem::swap(x, &mut next);
        std::mem::swap(&mut gradient, &mut next_gradient);
        value = next_value;
    }
    Ok(value)
}

/// A step, the change of the gradient over it, and 1 / (their product).
#[derive(Default)]
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
    inverse: f64,
}

impl Pair {
    /// The pair of two points, stored in the memory of a pair that is no longer needed.
    fn between(x: &[f64], next: &[f64], gradient: &[f64], next_gradient: &[f64], mut old: Self) -> Option<Self> {
        let fill = |to: &mut Vec<f64>, a: &[f64], b: &[f64]| {
            to.clear();
            to.extend(a.iter().zip(b).map(|(a, b)| a - b));
        };
        fill(&mut old.step, next, x);
        fill(&mut old.change, next_gradient, gradient);
        let product = dot(&old.step, &old.change);
        old.inverse = 1.0 / product;
        (product > f64::EPSILON * dot(&old.change, &old.change)).then_some(old)
    }
}

/// −H⁻¹ g by the two-loop recursion, into `direction`.
fn towards_minimum(memory: &VecDeque<Pair>, gradient: &[f64], direction: &mut [f64]) {
    direction.iter_mut().zip(gradient).for_each(|(towards, slope)| *towards = -slope);
    let mut shares = Vec::with_capacity(memory.len());
    for pair in memory.iter().rev() {
        let share = pair.inverse * dot(&pair.step, direction);
        add(direction, -share, &pair.change);
        shares.push(share);
    }
    if let Some(last) = memory.back() {
        let scale = 1.0 / (last.inverse * dot(&last.change, &last.change));
        direction.iter_mut().for_each(|entry| *entry *= scale);
    }
    for (pair, share) in memory.iter().zip(shares.into_iter().rev()) {
        let back = pair.inverse * dot(&pair.change, direction);
        add(direction, share - back, &pair.step);
    }
}

/// Entries that one thread takes at a time; a constant, so that sums don't depend on the number of threads.
const PIECE: usize = 1 << 15;

fn add(to: &mut [f64], times: f64, what: &[f64]) {
    to.par_chunks_mut(PIECE).zip(what.par_chunks(PIECE)).for_each(|(to, what)| {
        to.iter_mut().zip(what).for_each(|(to, what)| *to += times * what);
    });
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    let pieces: Vec<f64> = a.par_chunks(PIECE).zip(b.par_chunks(PIECE)).map(|(a, b)| dot_piece(a, b)).collect();
    pieces.iter().sum()
}

/// Eight sums side by side, so that the loop is compiled to vector instructions.
fn dot_piece(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (wide_a, rest_a) = a.as_chunks::<8>();
    let (wide_b, rest_b) = b.as_chunks::<8>();
    for (a, b) in wide_a.iter().zip(wide_b) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f64>() + rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_bottom_of_the_banana_valley() {
        // Rosenbrock's function: its minimum lies at (1, 1) at the end of a curved valley.
        let mut x = vec![-1.2, 1.0];
        let value = minimise(
            |x, gradient| {
                let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
                gradient[0] = -2.0 * a - 400.0 * x[0] * b;
                gradient[1] = 200.0 * b;
                Ok(a * a + 100.0 * b * b)
            },
            &mut x,
            Stop { tolerance: 1e-12, iterations: 200 },
        )
        .unwrap();
        assert!(value < 1e-15 && (x[0] - 1.0).abs() < 1e-7 && (x[1] - 1.0).abs() < 1e-7, "{value} at {x:?}");
    }

    #[test]
    fn a_badly_scaled_quadratic_is_solved() {
        let scale = |i: usize| 10f64.powi(i as i32 % 5 - 2);
        let mut x = vec![5.0; 50];
        minimise(
            |x, gradient| {
                let mut value = 0.0;
                for (i, (x, slope)) in x.iter().zip(gradient).enumerate() {
                    let away = x - i as f64;
                    *slope = scale(i) * away;
                    value += 0.5 * scale(i) * away * away;
                }
                Ok(value)
            },
            &mut x,
            Stop { tolerance: 1e-12, iterations: 1000 },
        )
        .unwrap();
        assert!(x.iter().enumerate().all(|(i, x)| (x - i as f64).abs() < 1e-6), "{x:?}");
    }

    #[test]
    fn an_error_of_the_function_ends_the_search() {
        let stopped =
            minimise(|_, _| Err(crate::Error::Interrupted), &mut vec![0.0], Stop { tolerance: 0.0, iterations: 9 });
        assert_eq!(stopped, Err(crate::Error::Interrupted));
    }
}
