//! Data whose rows are features: pictures go through a backbone while they are read, or features come from a file.

use super::options::FeatureSource;
use super::own::OwnNetwork;
use crate::command::source::{load, reading_failure, watched};
use crate::ui::failure::{Failure, Outcome};
use crate::ui::interrupt;
use crate::ui::terminal::{Screen, plain};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tares_backbone::{FeatureCache, OnnxNetwork, PictureNetwork, Remembered};
use tares_core::Shape;
use tares_data::Picture;
use tares_data::npy::Stored;
use tares_data::{Describer, LoadOptions, Loaded, NewRows, Reading, SharedDescriber};

/// The backbone of a model: its file, how pictures are prepared for it, and the digest of both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackboneRecord {
    /// Its file and options.
    pub given: FeatureSource,
    /// The digest of network and preparation. The model can only read features of this backbone.
    pub digest: String,
}

/// Either kind of backbone.
enum Backbone {
    Onnx(Box<OnnxNetwork>),
    Own(Box<OwnNetwork>),
}

impl Backbone {
    fn open(path: &Path, given: &FeatureSource) -> Outcome<Self> {
        if path.extension().is_some_and(|end| end == "safetensors") {
            if let Some(name) = given.typed().get(1) {
                return Err(Failure::new(format!(
                    "{name} has no effect on a network that tares trained: it prepares pictures as in training"
                ))
                .way_out("leave it out"));
            }
            return Ok(Self::Own(Box::new(OwnNetwork::open(path)?)));
        }
        let network = OnnxNetwork::open(path, &given.network()).map_err(|error| {
            Failure::new(error).way_out("a backbone is an .onnx file, or the model.safetensors of a run on pictures")
        })?;
        Ok(Self::Onnx(Box::new(network)))
    }

    fn notes(&self) -> Vec<String> {
        match self {
            Self::Onnx(network) => network.notes(),
            Self::Own(network) => network.notes(),
        }
    }
}

impl PictureNetwork for Backbone {
    fn name(&self) -> &str {
        match self {
            Self::Onnx(network) => network.name(),
            Self::Own(network) => network.name(),
        }
    }

    fn width(&self) -> usize {
        match self {
            Self::Onnx(network) => network.width(),
            Self::Own(network) => network.width(),
        }
    }

    fn features(&self, picture: &Picture, out: &mut [f32]) -> Result<(), String> {
        match self {
            Self::Onnx(network) => network.features(picture, out),
            Self::Own(network) => network.features(picture, out),
        }
    }
}

/// Opens a backbone with its cache, and prints how it reads pictures. Returns what was printed, too.
fn open(path: &Path, given: &FeatureSource, screen: &Screen) -> Outcome<(Arc<Remembered<Backbone>>, Vec<String>)> {
    let network = Backbone::open(path, given)?;
    let notes = network.notes();
    notes.iter().for_each(|note| screen.note(plain(note)));
    let folder = tares_data::cache_dir().map(|folder| folder.join("features"));
    let cache = folder.map(|folder| FeatureCache::open(&folder, network.name(), network.width()));
    // From here on, Ctrl-C stores the features computed so far.
    interrupt::watch();
    Ok((Arc::new(Remembered::new(network, cache, interrupt::asked)), notes))
}

/// Reads data for training or an audit. If a backbone or a file of features is given, features replace the rows.
///
/// # Errors
/// Data, backbone or features that cannot be read or don't fit each other; Ctrl-C.
pub fn load_described(
    source: &str,
    options: &LoadOptions,
    given: &FeatureSource,
    screen: &Screen,
) -> Outcome<(Loaded, Option<BackboneRecord>)> {
    if let Some(path) = &given.features {
        let loaded = load(source, options, screen)?;
        let (values, width) = read_features(path)?;
        let mut loaded =
            loaded.with_features(values, width).map_err(|error| Failure::from(error).within(path.display()))?;
        loaded.found.column_notes.push(format!("{width} features from {} stand for every row", path.display()));
        return Ok((loaded, None));
    }
    let Some(path) = &given.backbone else { return Ok((load(source, options, screen)?, None)) };
    let (describer, notes) = open(path, given, screen)?;
    let shared = SharedDescriber(describer.clone());
    let loaded = load(source, &options.clone().with(|options| options.describer = Some(shared)), screen);
    let mut loaded = kept(loaded, &describer)?;
    // Files of a run say what its rows were, not only the terminal.
    loaded.found.column_notes.push(format!("features of pictures are those of the backbone {}", path.display()));
    loaded.found.column_notes.extend(notes);
    if loaded.reading.features.is_none() {
        return Err(Failure::new(format!("{}: holds columns, and a backbone is for pictures", plain(source)))
            .way_out("leave --backbone out; --features FILE takes features that another program made"));
    }
    let (computed, all) = (describer.computed(), loaded.train.stored_rows());
    screen.note(format!(
        "{computed} pictures went through the backbone, the features of {} were stored already",
        all.saturating_sub(computed)
    ));
    let given =
        FeatureSource { backbone: Some(std::path::absolute(path).unwrap_or_else(|_| path.clone())), ..given.clone() };
    Ok((loaded, Some(BackboneRecord { given, digest: Describer::name(describer.as_ref()).to_owned() })))
}

/// Stores the computed features, even after a failure. Ctrl-C has an error of its own.
fn kept<T>(outcome: Outcome<T>, describer: &Remembered<Backbone>) -> Outcome<T> {
    let written = describer.keep();
    match outcome {
        Err(_) if interrupt::asked() => Err(Failure::Interrupted {
            way_out: "the features so far are kept; repeat the command to continue".to_owned(),
        }),
        Err(failure) => Err(failure),
        Ok(value) => written.map(|()| value).map_err(Failure::from),
    }
}

/// Reads new rows for a model, through its backbone if it has one.
///
/// # Errors
/// As [`load_described`]; a backbone or features other than those the model was trained with.
pub fn load_new(
    source: &str,
    reading: &Reading,
    record: Option<&BackboneRecord>,
    elsewhere: &FeatureSource,
    options: &LoadOptions,
    screen: &Screen,
) -> Outcome<NewRows> {
    let read = |options: &LoadOptions| {
        let rows = watched(source, screen, |hear| tares_data::load_with(source, reading, options, hear));
        rows.map_err(|error| reading_failure(source, error))
    };
    match (record, reading.features) {
        (Some(record), _) => {
            let moved: Option<PathBuf> = elsewhere.backbone.clone().or_else(|| record.given.backbone.clone());
            let path = moved.ok_or_else(|| Failure::new("the model does not say which backbone it needs"))?;
            if !path.is_file() {
                return Err(Failure::new(format!("{}: the model's backbone is not there", path.display()))
                    .way_out("say where it is now: --backbone FILE"));
            }
            let (describer, _) = open(&path, &record.given, screen)?;
            if Describer::name(describer.as_ref()) != record.digest {
                return Err(Failure::new(format!(
                    "{}: is not the network that the model was trained with",
                    path.display()
                ))
                .way_out("say where that one is: --backbone FILE"));
            }
            let shared = SharedDescriber(describer.clone());
            let rows = read(&options.clone().with(|options| options.describer = Some(shared)));
            kept(rows, &describer)
        }
        (None, Some(width)) => {
            let Some(path) = &elsewhere.features else {
                return Err(Failure::new("the model was trained on features that another program made")
                    .way_out("give those of the new rows: --features FILE"));
            };
            let (values, columns) = read_features(path)?;
            let mut rows = read(options)?;
            let fail = |text: String| Err(Failure::new(format!("{}: {text}", path.display())));
            if columns != width {
                return fail(format!("has {columns} features per row, the model was trained on {width}"));
            }
            if values.len() != rows.data.len() * width {
                return fail(format!(
                    "has {} rows of features, but the data has {}",
                    values.len() / width,
                    rows.data.len()
                ));
            }
            rows.data = rows.data.with_features(values, Shape::Flat(width))?;
            Ok(rows)
        }
        (None, None) => match elsewhere.is_none() {
            true => read(options),
            false => Err(Failure::new("the model was trained on the rows themselves, not on features")
                .way_out("leave --backbone and --features out")),
        },
    }
}

/// Suggests a backbone for photos that a network would otherwise learn from scratch, and notes it with the data.
pub fn say_backbone(loaded: &mut Loaded, screen: &Screen) {
    const FEW: usize = 50_000;
    let colour = matches!(loaded.train.shape(), Shape::Image { channels: 3, .. });
    if colour && loaded.train.len() < FEW {
        let note = "photos are learnt from scratch; with only a few thousand of them, features of a pretrained network work far better: \
                    --backbone model.onnx";
        screen.note(note);
        loaded.found.column_notes.push(note.to_owned());
    }
}

/// Reads features from an NPY file; also returns their number per row.
fn read_features(path: &Path) -> Outcome<(Vec<f32>, usize)> {
    let stored = Stored::open(path)?;
    if stored.header().shape.len() != 2 || !stored.header().kind.is_number() || stored.columns() == 0 {
        let shape = stored.header().shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
        return Err(Failure::new(format!(
            "{}: features must be numbers, rows x features, got an array of {shape}",
            path.display()
        )));
    }
    let mut values = vec![0f32; stored.rows() * stored.columns()];
    stored.read_rows(0, &mut values)?;
    Ok((values, stored.columns()))
}
