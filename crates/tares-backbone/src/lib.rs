//! A frozen network of the user's choice turns pictures into features, which judges and learners read instead of the pictures.
//!
//! 1. [`OnnxNetwork::open`] reads an ONNX file: its input, the value to use as features, and whether every operator is known.
//! 2. The network sees the middle of a picture, resized with antialiasing and normalised.
//! 3. [`Remembered`] keeps the features on disk, by the content of the picture and the network ([`FeatureCache`]). It is a
//!    [`tares_data::Describer`]: features are computed while pictures are read.
//!
//! The networks of torchvision and timm are run without another runtime: each picture is computed alone, on one thread, in a
//! fixed order, and pictures are spread over the cores. No tensor library, no `unsafe`, no random number.

mod cache;
mod error;
mod layer;
mod network;
mod onnx;
mod op;
mod preprocess;
mod remembered;
mod tensor;

pub use cache::FeatureCache;
pub use error::{BackboneError, Result};
pub use layer::FeatureLayer;
pub use network::OnnxNetwork;
pub use preprocess::{BackboneOptions, DEFAULT_SIDE, IMAGENET_MEAN, IMAGENET_STD};
pub use remembered::{PictureNetwork, Remembered};

/// The README's example, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
