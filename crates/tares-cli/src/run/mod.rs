//! One run on disk: what was asked ([`spec`]), noise put in ([`label_noise`]), the noise rate ([`noise_rate`]), training
//! ([`train`]), the accuracy behind noisy test labels ([`noisy_test`]), and what is left behind ([`model`], [`samples`]). [`runs`] trains many.

pub mod clock;
pub mod label_noise;
pub mod model;
pub mod noise_rate;
pub mod noisy_test;
pub mod runs;
pub mod samples;
pub mod spec;
pub mod train;
