//! Adam's update on slices: one pass over memory.

use crate::cpu::simd::{Kernel, Register, mul_add, widest};
use crate::cpu::threads::for_each;
use crate::op::adam::AdamStep;

/// Floats per task: below this a second thread costs more than it helps.
const TASK: usize = 1 << 14;

/// Updates weight and moments in place; the formula is that of [`adam`](crate::adam).
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
            *m = mul_add::<FMA>(beta1, *m, rest1 * g);
            *v = mul_add::<FMA>(beta2, *v, rest2 * g * g);
            *w -= rate * *m / (v.sqrt() + eps);
        }
    }
}
