//! Adam's update on slices: one pass over memory.

use crate::cpu::simd::{Kernel, Register, mul_add, widest};
use crate::cpu::threads::for_each;
use crate::op::adam::AdamStep;

/// Floats per task: below this a second thread costs more than it helps.
const TASK: usize = 1 << 14;

/// Smaller weights and means of gradients become 0. A weight that nothing but decay moves (a pixel that is always black) would shrink
/// until products with it are denormal numbers, which processors compute a hundred times slower: epochs of an mlp took 3.5 times as long.
const TINY: f32 = 1e-30;
/// Smaller means of squares become 0 …
const TINY_SQUARE: f32 = 1e-36;
/// … and so do the squares of smaller gradients, whatever they are multiplied by.
const FAINT: f32 = 1e-17;

#[inline(always)]
fn at_least(least: f32, value: f32) -> f32 {
    if value.abs() < least { 0.0 } else { value }
}

/// Updates weight and moments in place; the formula is that of [`adam`](crate::adam), but for numbers next to 0, which become 0.
pub(crate) fn update([weight, first, second]: [&mut [f32]; 3], gradient: &[f32], step: AdamStep) {
    let moments = first.chunks_mut(TASK).zip(second.chunks_mut(TASK));
    let tasks = weight.chunks_mut(TASK).zip(moments).zip(gradient.chunks(TASK));
    for_each(tasks, |((weight, (first, second)), gradient)| {
        widest(Update { weight, first, second, gradient, step });
    });
}

struct Update<'a> {
    weight: &'a mut [f32],
    first: &'a mut [f32],
    second: &'a mut [f32],
    gradient: &'a [f32],
    step: AdamStep,
}

impl Kernel for Update<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        let Self { weight, first, second, gradient, step } = self;
        let (beta1, beta2) = (step.beta1 as f32, step.beta2 as f32);
        let (rest1, rest2) = ((1.0 - step.beta1) as f32, (1.0 - step.beta2) as f32);
        let (eps, rate, decay) = (step.eps as f32, step.rate as f32, step.weight_decay as f32);
        for (((w, m), v), g) in weight.iter_mut().zip(first).zip(second).zip(gradient) {
            let g = mul_add::<FMA>(decay, *w, *g);
            *m = at_least(TINY, mul_add::<FMA>(beta1, *m, rest1 * g));
            let g = at_least(FAINT, g);
            *v = at_least(TINY_SQUARE, mul_add::<FMA>(beta2, *v, rest2 * g * g));
            *w = at_least(TINY, *w - rate * *m / (v.sqrt() + eps));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_that_only_decay_end_at_zero_and_are_never_denormal() {
        let step = AdamStep { beta1: 0.9, beta2: 0.999, eps: 1e-8, rate: 1e-3, weight_decay: 1e-3 };
        let mut weight: Vec<f32> = (0..40).map(|k| 0.5f32.powi(3 * k) * if k % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let (mut first, mut second, gradient) = (vec![0.0; 40], vec![0.0; 40], vec![0.0; 40]);
        for _ in 0..20_000 {
            update([&mut weight, &mut first, &mut second], &gradient, step);
            let plain = |value: &f32| *value == 0.0 || value.is_normal();
            assert!([&weight, &first, &second].iter().all(|values| values.iter().all(plain)));
        }
        assert!(weight.iter().all(|w| w.abs() < 1e-6), "{weight:?}");
        assert_eq!(weight[39], 0.0);
    }
}
