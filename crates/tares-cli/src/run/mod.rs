//! One run on disk, in the order of its making.
//!
//! What was asked ([`spec`], [`experiment`], [`spec_file`], [`load`]), noise put in ([`label_noise`]), the noise rate
//! ([`noise_rate`], [`folds`]), training ([`train`]) in a directory of its own ([`directory`]), the accuracy behind
//! noisy test labels ([`noisy_test`]), and what is left behind ([`model`], [`samples`]). [`runs`] trains many.

pub mod clock;
pub mod directory;
pub mod experiment;
pub mod folds;
pub mod label_noise;
pub mod load;
pub mod model;
pub mod noise_rate;
pub mod noisy_test;
pub mod runs;
pub mod samples;
pub mod spec;
pub mod spec_file;
pub mod train;
