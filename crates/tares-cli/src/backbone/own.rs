//! [`OwnNetwork`]: a network that `tares train` trained on pictures, as a backbone.

use crate::run::model::Model;
use crate::ui::failure::{Failure, Outcome};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use tares::evaluate;
use tares::network::AnyNetwork;
use tares_backbone::PictureNetwork;
use tares_core::{Dataset, Shape};
use tares_data::Picture;

/// The hidden features that the last dense layer of a run's network reads.
pub struct OwnNetwork {
    model: Model,
    /// One picture at a time: the network itself uses all cores.
    network: Mutex<AnyNetwork>,
    name: String,
    width: usize,
}

impl OwnNetwork {
    /// Opens the `model.safetensors` of a run; its `model.json` lies beside it.
    ///
    /// # Errors
    /// Files that cannot be read or don't fit each other; a network of columns; one without hidden features.
    pub fn open(path: &Path) -> Outcome<Self> {
        let run = path.parent().unwrap_or(Path::new(""));
        let fail = |text: &str| Failure::new(format!("{}: {text}", path.display()));
        if path.file_name().is_none_or(|name| name != "model.safetensors") || !run.join("model.json").is_file() {
            return Err(fail("is not the model.safetensors of a run (its model.json must lie beside it)")
                .way_out("other networks are given as .onnx files"));
        }
        let model = Model::read(run)?;
        if !matches!(Shape::from(model.reading.row), Shape::Image { .. }) {
            return Err(fail("was trained on columns or features; a backbone is a network trained on pictures"));
        }
        let bytes = std::fs::read(path).map_err(|error| Failure::file(path, "read", &error))?;
        let mut digest = Sha256::new();
        digest.update(&bytes);
        digest.update(serde_json::to_vec(&model).map_err(Failure::new)?);
        let name = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let network = Mutex::new(model.load_network(run, "cpu")?);
        let mut own = Self { model, network, name, width: 0 };
        let (height, width) = own.size();
        own.width = own.run(&Picture::grey(height, width)).map_err(|why| fail(&why))?.len();
        match own.width {
            0 => Err(fail("has no hidden features")),
            _ => Ok(own),
        }
    }

    fn size(&self) -> (usize, usize) {
        match Shape::from(self.model.reading.row) {
            Shape::Image { height, width, .. } => (height, width),
            Shape::Flat(_) => (1, 1),
        }
    }

    fn run(&self, picture: &Picture) -> Result<Vec<f32>, String> {
        let (height, width) = self.size();
        let shape = Shape::from(self.model.reading.row);
        let mut pixels = vec![0; shape.size()];
        picture.write(height, width, &mut pixels);
        let row = Dataset::new(pixels, shape, vec![0], ["a", "b"]).map_err(|error| error.to_string())?;
        let device = tares::device::by_name("cpu").map_err(|error| error.to_string())?;
        let network = self.network.lock().unwrap_or_else(PoisonError::into_inner);
        let inputs = self.model.inputs.as_ref().ok_or("has no inputs")?;
        evaluate::features(&*network, inputs, &row, &device).map_err(|error| error.to_string())
    }

    /// Describes the network in one sentence.
    pub fn notes(&self) -> Vec<String> {
        let (height, width) = self.size();
        vec![format!(
            "{} sees every picture at {height}x{width}, as when it was trained; features are the {} inputs of its last dense layer",
            self.model.network, self.width
        )]
    }
}

impl PictureNetwork for OwnNetwork {
    fn name(&self) -> &str {
        &self.name
    }

    fn width(&self) -> usize {
        self.width
    }

    fn features(&self, picture: &Picture, out: &mut [f32]) -> Result<(), String> {
        out.copy_from_slice(&self.run(picture)?);
        Ok(())
    }
}
