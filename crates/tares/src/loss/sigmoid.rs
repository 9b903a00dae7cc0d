//! Smooth base losses of the margin: logistic, sigmoid, Savage; scaled so that they lie above the 0–1 loss.

use super::margin::margin;
use burn::tensor::activation::{sigmoid, softplus};
use burn::tensor::{Int, Tensor};
use std::f64::consts::LN_2;

/// `log₂(1 + e^{−u})`, per sample.
pub fn logistic(logits: Tensor<2>, targets: Tensor<1, Int>) -> Tensor<1> {
    logistic_of(margin(logits, targets))
}

/// `2 / (1 + e^u)`, per sample: bounded by 2.
pub fn sigmoid_loss(logits: Tensor<2>, targets: Tensor<1, Int>) -> Tensor<1> {
    sigmoid_of(margin(logits, targets))
}

/// `4 / (1 + e^u)²`, per sample: bounded by 4.
pub fn savage(logits: Tensor<2>, targets: Tensor<1, Int>) -> Tensor<1> {
    savage_of(margin(logits, targets))
}

pub(crate) fn logistic_of(margin: Tensor<1>) -> Tensor<1> {
    softplus(-margin, 1.0) / LN_2
}

pub(crate) fn sigmoid_of(margin: Tensor<1>) -> Tensor<1> {
    sigmoid(-margin) * 2.0
}

pub(crate) fn savage_of(margin: Tensor<1>) -> Tensor<1> {
    let root = sigmoid_of(margin);
    root.clone() * root
}
