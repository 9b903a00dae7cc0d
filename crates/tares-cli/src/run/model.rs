//! `model.json` of a run: everything that `predict` needs besides the weights.

use crate::backbone::described::BackboneRecord;
use crate::files::read_text;
use crate::judges::inputs::new_columns;
use crate::learner::Learner;
use crate::learner::learnt::{Learnt, NETWORK_FILE, PANEL_FILE};
use crate::ui::failure::{Failure, Outcome};
use serde::{Deserialize, Serialize};
use std::path::Path;
use tares::method::RogHead;
use tares::network::AnyNetwork;
use tares::safetensors::from_safetensors;
use tares::{Method, evaluate};
use tares_core::{Dataset, Error, Shape};
use tares_data::{Loaded, TableRules};
use tares_judges::{Panel, stored};

/// `model.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The network, or the model of columns.
    pub network: Learner,
    /// The method that trained it.
    pub method: Method,
    /// Names of the classes, by label.
    pub classes: Vec<String>,
    /// How files become rows.
    pub reading: tares_data::Reading,
    /// How rows become a network's inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<tares::InputTransform>,
    /// The network that turns pictures into the features this one reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backbone: Option<BackboneRecord>,
    /// RoG only: the generative classifier on the network's features, which predicts in place of the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<RogHead>,
}

impl Model {
    /// The model of a finished run.
    pub fn of(
        network: &Learner,
        method: &Method,
        learnt: &Learnt,
        loaded: &Loaded,
        backbone: Option<&BackboneRecord>,
    ) -> Self {
        Self {
            network: network.clone(),
            method: method.clone(),
            classes: loaded.train.class_names().to_vec(),
            reading: loaded.reading.clone(),
            inputs: learnt.inputs.clone(),
            backbone: backbone.cloned(),
            head: learnt.head.clone(),
        }
    }

    /// Reads `model.json` of a run directory.
    ///
    /// # Errors
    /// There is none (the run is unfinished), or it is damaged.
    pub fn read(run: &Path) -> Outcome<Self> {
        let path = run.join("model.json");
        if !path.exists() {
            let failure = Failure::new(format!("{}: no trained model here", run.display()));
            return Err(match run.join("checkpoint.bin").exists() {
                true => failure.way_out(format!("finish the run first: tares train --resume --out {}", run.display())),
                false => failure.way_out("name a directory that `tares train` wrote"),
            });
        }
        let model: Self = serde_json::from_str(&read_text(&path)?)
            .map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
        model.check().map_err(|failure| failure.within(path.display()))?;
        Ok(model)
    }

    /// Refuses parts that don't fit each other, so that a damaged file causes neither a panic nor a wrong prediction.
    ///
    /// # Errors
    /// Which parts.
    pub fn check(&self) -> Outcome<()> {
        self.network.check(&self.method)?;
        self.method.check()?;
        let row = Shape::from(self.reading.row);
        let inputs = self.inputs.as_ref().map(tares::InputTransform::input);
        if inputs.is_some() != self.network.network().is_some() || inputs.is_some_and(|inputs| inputs != row) {
            return Err(Error::value("inputs", format!("rows like {row:?}, as the data is read"), "others").into());
        }
        // Features that replace the rows have a width of their own.
        let width = self.reading.features.or_else(|| self.reading.table.as_ref().map(TableRules::width));
        if width.is_some_and(|width| row != Shape::Flat(width)) {
            return Err(Error::value("columns of the table", format!("{row:?}"), "others").into());
        }
        let classes = self.classes.len();
        if classes < 2 || self.reading.class_names != self.classes {
            return Err(Error::value("classes", "the classes of the data, at least 2", "others").into());
        }
        if let Some(head) = self.head.as_ref().filter(|head| head.classes() != classes) {
            return Err(Error::value("classes of the head", classes.to_string(), head.classes()).into());
        }
        Ok(())
    }

    /// The network with the weights in a run directory.
    ///
    /// # Errors
    /// It is a model of columns; the weights cannot be read or don't fit the network.
    pub fn load_network(&self, run: &Path, device: &str) -> Outcome<AnyNetwork> {
        let path = run.join(NETWORK_FILE);
        let bytes = std::fs::read(&path).map_err(|error| Failure::file(&path, "read", &error))?;
        self.network_of(&bytes, device).map_err(|failure| failure.within(path.display()))
    }

    /// The network with these weights.
    fn network_of(&self, weights: &[u8], device: &str) -> Outcome<AnyNetwork> {
        let device = tares::device::by_name(device)?;
        let (Some(network), Some(inputs)) = (self.network.network(), &self.inputs) else {
            return Err(Failure::new(format!("{} is not a network", self.network)));
        };
        let network = network.init(inputs.shape(), self.classes.len(), 0, &device)?;
        Ok(from_safetensors(network, weights)?)
    }

    /// Class probabilities by a model of columns.
    fn panel_probabilities(&self, weights: &[u8], data: &Dataset) -> Outcome<Vec<f32>> {
        let panel: Panel = stored::read(weights)?;
        if panel.classes() != self.classes.len() {
            return Err(Error::value("classes of the panel", self.classes.len().to_string(), panel.classes()).into());
        }
        let probs = panel.probs(&new_columns(data, &self.reading)?)?;
        Ok(probs.into_iter().map(|p| p as f32).collect())
    }

    /// Class probabilities of every row, `[N][K]`, from the weights in a run directory.
    ///
    /// # Errors
    /// The weights cannot be read or don't fit the network, or the rows are shaped unlike the training rows.
    pub fn probabilities(&self, run: &Path, data: &Dataset, device: &str) -> Outcome<Vec<f32>> {
        let path = run.join(if self.inputs.is_some() { NETWORK_FILE } else { PANEL_FILE });
        let bytes = std::fs::read(&path).map_err(|error| Failure::file(&path, "read", &error))?;
        self.probabilities_of(&bytes, data, device).map_err(|failure| failure.within(path.display()))
    }

    /// The same from weights in memory.
    ///
    /// # Errors
    /// Weights that don't fit the network, or rows shaped unlike the training rows.
    pub fn probabilities_of(&self, weights: &[u8], data: &Dataset, device: &str) -> Outcome<Vec<f32>> {
        let Some(inputs) = &self.inputs else { return self.panel_probabilities(weights, data) };
        let network = self.network_of(weights, device)?;
        let device = tares::device::by_name(device)?;
        let probabilities = match &self.head {
            Some(head) => head.probabilities(&network, inputs, data, &device),
            None => evaluate::probabilities(&network, inputs, data, &device),
        };
        tares::free_memory();
        Ok(probabilities?)
    }
}
