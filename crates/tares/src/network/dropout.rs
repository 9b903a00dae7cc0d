//! Channel dropout whose masks are a pure function of (seed, step), and [`begin_step`], the one place that sets them.

use burn::module::{Flag, Module, Param};
use burn::tensor::{Device, Tensor, TensorData};
use std::cell::RefCell;
use tares_core::{Stream, stream};

thread_local! {
    /// The masks of the step this thread works on. One per thread: runs side by side don't disturb each other.
    static MASKS: RefCell<Stream> = RefCell::new(stream(0, "dropout"));
}

/// Says which training step comes next on this thread; call it once before each step's first forward pass.
///
/// Everything random inside a network then follows from `(seed, step)` alone, so a run that is resumed at a step draws
/// what the uninterrupted run drew. Masks of our own [`ChannelDropout`] come from a stream of this thread; Burn's
/// dropout in a user's own module draws from the device's generator, which is seeded here too (that generator is
/// shared by all threads, so such modules are reproducible only one run at a time).
pub fn begin_step(seed: u64, step: u64, device: &Device) {
    let mut masks = stream(seed, &format!("dropout {step}"));
    device.seed(masks.bits());
    MASKS.set(masks);
}

/// Sets whole channels to zero with probability `rate` during training and scales the others by `1 / (1 - rate)`.
///
/// Does nothing outside training (after `valid()`, or on a device without autodiff) or when `rate` is 0.
#[derive(Module, Debug)]
pub struct ChannelDropout {
    rate: f64,
    training: Param<Flag>,
}

impl ChannelDropout {
    /// Dropout of channels with probability `rate` in [0, 1).
    ///
    /// # Panics
    /// If `rate` is outside [0, 1).
    pub fn new(rate: f64) -> Self {
        assert!((0.0..1.0).contains(&rate), "dropout rate must be in [0, 1), got {rate}");
        Self { rate, training: Param::from_bool(true) }
    }

    /// `[batch, channels, height, width]` to the same shape.
    pub fn forward(&self, input: Tensor<4>) -> Tensor<4> {
        if self.rate == 0.0 || !self.training.is_enabled() || !input.device().is_autodiff() {
            return input;
        }
        let [batch, channels, _, _] = input.dims();
        let scale = (1.0 / (1.0 - self.rate)) as f32;
        let mask: Vec<f32> = MASKS.with_borrow_mut(|masks| {
            (0..batch * channels).map(|_| if masks.chance(self.rate) { 0.0 } else { scale }).collect()
        });
        let mask = Tensor::<4>::from_data(TensorData::new(mask, [batch, channels, 1, 1]), &input.device());
        input * mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ones(device: &Device) -> Tensor<4> {
        Tensor::ones([40, 50, 2, 3], device)
    }

    #[test]
    fn whole_channels_fall_and_the_rest_is_scaled() {
        let device = Device::flex().autodiff();
        begin_step(1, 0, &device);
        let out = ChannelDropout::new(0.25).forward(ones(&device)).to_data().try_to_vec::<f32>().unwrap();
        let channels: Vec<&[f32]> = out.chunks(6).collect();
        assert!(channels.iter().all(|channel| channel.iter().all(|&x| x == channel[0])));
        assert!(out.iter().all(|&x| x == 0.0 || (x - 4.0 / 3.0).abs() < 1e-6));
        let fallen = channels.iter().filter(|channel| channel[0] == 0.0).count();
        assert!(fallen.abs_diff(500) < 116, "six standard deviations of binomial(2000, 1/4) are 116: {fallen}");
    }

    #[test]
    fn masks_follow_from_seed_and_step_alone() {
        let device = Device::flex().autodiff();
        let dropout = ChannelDropout::new(0.5);
        let draw = |seed, step| {
            begin_step(seed, step, &device);
            dropout.forward(ones(&device)).to_data()
        };
        let first = draw(3, 7);
        assert_ne!(first, draw(3, 8));
        assert_ne!(first, draw(4, 7));
        assert_eq!(first, draw(3, 7));
        // A second forward in the same step (a second network) draws on.
        assert_ne!(first, dropout.forward(ones(&device)).to_data());
    }

    #[test]
    fn does_nothing_outside_training() {
        let (plain, tracked) = (Device::flex(), Device::flex().autodiff());
        let dropout = ChannelDropout::new(0.5);
        assert_eq!(dropout.forward(ones(&plain)).to_data(), ones(&plain).to_data());
        assert_eq!(dropout.clone().freeze().forward(ones(&tracked)).to_data(), ones(&plain).to_data());
        assert_eq!(ChannelDropout::new(0.0).forward(ones(&tracked)).to_data(), ones(&plain).to_data());
    }
}
