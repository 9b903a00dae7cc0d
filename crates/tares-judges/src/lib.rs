//! Judges of labels: models that we train ourselves to give **out-of-fold** probabilities, and learners for tables and text.
//!
//! 1. [`matrix`]: inputs, columns of numbers, categories and texts; [`text`] turns texts into counts and weights of n-grams.
//! 2. [`fold`]: stratified folds.
//! 3. [`linear`], [`trees`], [`forest`] and [`bayes`]: one judge each, fitted on some rows to predict others.
//! 4. [`calibrate`] and [`panel`]: several judges, each calibrated, blended by how well they predict the given labels.
//! 5. [`one_column`]: a column that tells the label by itself.
//! 6. [`stored`]: every fitted model as bytes, checked when read.
//!
//! N rows, K classes. Probabilities of a judge about the rows it was trained on are useless for finding wrong labels: it has
//! learnt them. [`panel::judge`] never gives any.
//!
//! The same seed gives the same bits on any number of threads. This crate opens no file and prints nothing.

pub mod bayes;
pub mod calibrate;
pub mod caller;
mod cross_fit;
pub mod error;
pub mod fold;
pub mod forest;
pub mod labelled;
pub mod linear;
pub mod matrix;
pub mod one_column;
pub mod panel;
mod softmax;
pub mod stored;
pub mod text;
pub mod trees;

pub use bayes::Bayes;
pub use caller::{Caller, JudgeProgress};
pub use cross_fit::CrossFit;
pub use error::{Error, Result};
pub use forest::Forest;
pub use labelled::Labelled;
pub use linear::{Linear, LinearOptions};
pub use matrix::{InputColumn, Matrix, SparseRows};
pub use one_column::OneColumn;
pub use panel::{Judge, JudgeAnswer, JudgeScore, Judgement, Panel, PanelOptions, Setting};
pub use text::TextOptions;
pub use text::counts::TextCounts;
pub use text::features::TextFeatures;
pub use trees::{Boosting, Scorer, TreeCurriculum, TreeOptions, Trees};

/// The README's example, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
