//! One run on disk: what was asked ([`spec`]), noise put in ([`label_noise`]), the noise rate ([`noise_rate`]), training
//! ([`train`]), and what is left behind ([`model`], [`samples`]). [`runs`] trains many.

pub mod clock;
pub mod label_noise;
pub mod model;
pub mod noise_rate;
pub mod runs;
pub mod samples;
pub mod spec;
pub mod train;
