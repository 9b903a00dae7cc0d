//! Robust training with Burn when labels are partly wrong: the curriculum loss as a plug-in, and every method it is
//! compared with.
//!
//! **Needs Burn 0.22.1 exactly** (`burn = "=0.22.1"` in your `Cargo.toml`): with any other version your tensors and ours
//! are different types. The mathematics without tensors is re-exported as [`core`]; the few of its types that every
//! user needs also stand at the top of this crate.
//!
//! 1. [`loss`]: the curriculum loss and thirteen per-sample losses, for your own training loop.
//! 2. [`Fit`]: data, a [`Network`], a [`Method`] and a [`Plan`] give a trained network.
//! 3. [`evaluate`]: probabilities, answers, and out-of-sample probabilities for an audit of the labels.
//!
//! # The loss in your own training loop
//! Only the two lines with `curriculum` differ from a loop with cross-entropy. `examples/own_loop.rs` is the same with
//! data and an accuracy.
//!
//! ```
//! use burn::module::Module;
//! use burn::nn::{Linear, LinearConfig};
//! use burn::optim::{AdamConfig, GradientsParams};
//! use burn::tensor::{Device, Int, Tensor};
//! use tares::Threshold;
//! use tares::loss::CurriculumLossConfig;
//!
//! #[derive(Module, Debug)]
//! struct Model {
//!     layer: Linear,
//! }
//!
//! fn train(mut model: Model, batches: Vec<(Tensor<2>, Tensor<1, Int>)>) -> tares::Result<Model> {
//!     let curriculum = CurriculumLossConfig::new(Threshold::Npcl { rate: 0.3 }).with_burn_in(5).init()?;
//!     let mut optimiser = AdamConfig::new().init();
//!     for epoch in 0..10 {
//!         for (inputs, targets) in &batches {
//!             let logits = model.layer.forward(inputs.clone());
//!             let loss = curriculum.at_epoch(epoch).forward(logits, targets.clone());
//!             let gradients = GradientsParams::from_grads(loss.backward(), &model);
//!             model = optimiser.step(1e-3, model, gradients);
//!         }
//!     }
//!     Ok(model)
//! }
//!
//! let device = Device::flex().autodiff();
//! let model = Model { layer: LinearConfig::new(4, 3).init(&device) };
//! let batch = (Tensor::ones([8, 4], &device), Tensor::from_ints([0, 1, 2, 0, 1, 2, 0, 1], &device));
//! train(model, vec![batch])?;
//! # Ok::<(), tares::Error>(())
//! ```

pub mod cross_validation;
pub mod device;
pub mod error;
pub mod evaluate;
pub mod fit;
pub mod history;
mod input;
pub mod loss;
pub mod method;
pub mod network;
pub mod optimiser;
pub mod plan;
mod run;
mod state;

// Folders are for readers of the source; users find these modules at the root.
pub use input::{augment, batches, input_transform, normalise};
pub use optimiser::{descent, schedule};
pub use state::{checkpoint, safetensors};
pub(crate) use state::{identity, text_or_table};

pub use augment::Augment;
pub use checkpoint::Checkpoint;
pub use cross_validation::CrossValidation;
pub use error::{Error, Result};
pub use fit::{Control, Fit, Fitted, Progress};
pub use history::{Epoch, History};
pub use input_transform::InputTransform;
pub use method::Method;
pub use network::{Classifier, Network};
pub use normalise::Normalise;
pub use optimiser::Optimiser;
pub use plan::Plan;
pub use schedule::Schedule;
pub use tares_core as core;
pub use tares_core::{Dataset, Label, Noise, Shape, Surrogate, Threshold};
pub use tares_kernels::{free_memory, join_workers};

/// The README's Rust examples, compiled and run with the doc tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// This crate's own README, likewise.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;

/// The tutorial for library users, likewise.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/tutorial-burn.md")]
struct BurnTutorial;
