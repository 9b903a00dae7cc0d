//! One run, from its settings to its files.
//!
//! In this order: the settings ([`spec`], [`experiment`], [`contender`], [`spec_file`], [`load`]), noise put into labels
//! ([`label_noise`]), the noise rate ([`noise_rate`]), training ([`train`]) in a locked directory ([`directory`]), the
//! accuracy on true labels ([`noisy_test`]), the files for later commands ([`model`], [`samples`]). [`runs`] trains many runs.

pub mod clock;
pub mod contender;
pub mod directory;
pub mod experiment;
pub mod label_noise;
pub mod load;
pub mod model;
pub mod noise_rate;
pub mod noisy_test;
pub mod runs;
pub mod samples;
pub mod semantic_noise;
pub mod spec;
pub mod spec_file;
pub mod train;
