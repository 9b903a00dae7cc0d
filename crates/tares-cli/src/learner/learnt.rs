//! [`Learnt`]: what training leaves behind, whatever was trained.

use crate::record::EpochRecord;
use crate::run::train::epoch_record;
use crate::ui::failure::Outcome;
use tares::loss::Doubt;
use tares::method::RogHead;
use tares::network::AnyNetwork;
use tares::{Fitted, InputTransform};
use tares_core::Dataset;
use tares_core::audit::Audited;
use tares_data::npy;

/// The file with the weights of a network.
pub const NETWORK_FILE: &str = "model.safetensors";
/// The file with a model of columns.
pub const PANEL_FILE: &str = "panel.json";

/// The file with what judges of columns answered about the training rows, each judging rows it was not trained on: N × K, 64-bit numbers.
pub const HELD_OUT_FILE: &str = "out-of-fold.npy";

/// What judges that were not trained on a row say about it.
#[derive(Debug)]
pub struct HeldOut {
    /// Their blended probabilities, `[N][K]`.
    pub probs: Vec<f64>,
    /// The audit of the labels by them.
    pub audited: Audited,
}

impl HeldOut {
    /// The probabilities as an NPY file.
    pub fn to_npy(&self, classes: usize) -> Vec<u8> {
        let bytes: Vec<u8> = self.probs.iter().flat_map(|p| p.to_le_bytes()).collect();
        npy::encode("'<f8'", &[self.probs.len() / classes, classes], &bytes)
    }
}

/// A trained model and its history.
#[derive(Debug)]
pub struct Learnt {
    /// One record per epoch of a network, or per round of trees; one for models that are fitted in one go.
    pub epochs: Vec<EpochRecord>,
    /// Probabilities of the training rows, `[N][K]`: by the network that was trained on them, or by judges that were not.
    pub train: Vec<f32>,
    /// What the method itself believes about the true class of every training row, `[N][K]`; `None` for methods that don't say.
    pub soft_labels: Option<Vec<f32>>,
    /// Why the method `tares` corrected no label, if it corrected none.
    pub doubt: Option<Doubt>,
    /// What judges of columns said about rows that they were not trained on; `None` for networks.
    pub held_out: Option<HeldOut>,
    /// Probabilities of the test rows.
    pub test: Option<Vec<f32>>,
    /// Per training row: the mean margin of its label.
    pub mean_margins: Vec<f64>,
    /// Per training row: how often it was seen.
    pub times_seen: Vec<u32>,
    /// Per training row: how often it was kept.
    pub times_kept: Vec<u32>,
    /// Per training row: its last loss.
    pub last_losses: Vec<f32>,
    /// Numbers that were fitted.
    pub parameters: u64,
    /// The model's own file: name and bytes.
    pub weights: (&'static str, Vec<u8>),
    /// How rows become a network's inputs.
    pub inputs: Option<InputTransform>,
    /// RoG only: the head.
    pub head: Option<RogHead>,
}

impl Learnt {
    /// Of a trained network.
    ///
    /// # Errors
    /// Rows that do not fit the network.
    pub fn of(fitted: &Fitted<AnyNetwork>, train: &Dataset, test: Option<&Dataset>, parameters: u64) -> Outcome<Self> {
        let history = &fitted.history;
        Ok(Self {
            epochs: fitted.epochs.iter().map(epoch_record).collect(),
            train: fitted.probabilities(train)?,
            soft_labels: history.soft_labels().map(<[f32]>::to_vec),
            doubt: history.why_uncorrected(),
            held_out: None,
            test: test.map(|test| fitted.probabilities(test)).transpose()?,
            mean_margins: history.mean_margins(),
            times_seen: history.times_seen().to_vec(),
            times_kept: history.times_kept().to_vec(),
            last_losses: history.last_losses().to_vec(),
            parameters,
            weights: (NETWORK_FILE, fitted.safetensors()?),
            inputs: Some(fitted.transform.clone()),
            head: fitted.head.clone(),
        })
    }
}
