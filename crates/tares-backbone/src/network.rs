//! [`OnnxNetwork`]: an ONNX file that turns pictures into features.

use crate::error::{BackboneError, Result};
use crate::layer::{self, FeatureLayer};
use crate::onnx::Graph;
use crate::op::{self, Inputs, KNOWN};
use crate::preprocess::{BackboneOptions, Preprocess, Source};
use crate::remembered::PictureNetwork;
use crate::tensor::{Tensor, Values};
use sha2::{Digest, Sha256};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tares_data::Picture;

/// A network that was opened, checked and tried on one picture.
///
/// Every picture is computed alone and by one thread, so its features don't depend on the others or on the number of threads.
#[derive(Debug)]
pub struct OnnxNetwork {
    path: PathBuf,
    graph: Graph,
    input: String,
    value: String,
    layer: FeatureLayer,
    preprocess: Preprocess,
    /// For every node, the values that are no longer needed after it.
    done: Vec<Vec<String>>,
    width: usize,
    name: String,
}

impl OnnxNetwork {
    /// Opens a file and tries it on a grey picture.
    ///
    /// # Errors
    /// A file that cannot be read or is not ONNX; a network with several inputs, for text, or for other than pictures; an
    /// operator that is not run here; sizes and normalisations outside their domains.
    pub fn open(path: &Path, options: &BackboneOptions) -> Result<Self> {
        let fail = |problem: String| BackboneError::Model { path: path.into(), problem };
        let there = std::fs::metadata(path).map_err(|source| io(path, source))?;
        if there.is_dir() {
            return Err(fail("is a folder; name an .onnx file".into()));
        }
        if there.len() > Graph::most_bytes() {
            return Err(fail(format!("has {} bytes, more than any network for pictures", there.len())));
        }
        let bytes = std::fs::read(path).map_err(|source| io(path, source))?;
        Self::read(&bytes, path, options).map_err(fail)
    }

    fn read(bytes: &[u8], path: &Path, options: &BackboneOptions) -> std::result::Result<Self, String> {
        let mut graph = Graph::read(bytes, path.parent().unwrap_or(Path::new("")))?;
        let input = match &graph.inputs[..] {
            [only] => only.clone(),
            [] => return Err("has no input".into()),
            several => {
                let names: Vec<&str> = several.iter().map(|input| input.name.as_str()).collect();
                return Err(format!(
                    "has {} inputs ({}); a network for pictures has one",
                    names.len(),
                    names.join(", ")
                ));
            }
        };
        match input.element {
            1 | 10 | 0 => {}
            6 | 7 => {
                return Err(format!(
                    "its input \"{}\" holds whole numbers: it is a network for text, not for pictures",
                    input.name
                ));
            }
            kind => {
                return Err(format!(
                    "its input \"{}\" is of ONNX type {kind}; pictures are given as floats (type 1)",
                    input.name
                ));
            }
        }
        let preprocess = Preprocess::of(&graph, &input, options)?;
        let mut digest = Sha256::new();
        digest.update(bytes);
        fold_constants(&mut graph, &mut digest)?;
        let (value, layer) = layer::choose(&graph, options.layer.as_deref())?;
        keep_needed(&mut graph, &value);
        let unknown: BTreeSet<&str> =
            graph.nodes.iter().map(|node| node.op.as_str()).filter(|op| !KNOWN.contains(op)).collect();
        if !unknown.is_empty() {
            let names: Vec<&str> = unknown.into_iter().collect();
            return Err(format!("uses operators that are not run here: {}", names.join(", ")));
        }
        digest.update(format!("\n{}\n{value}", preprocess.identity()));
        let name = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let done = last_uses(&graph, &value);
        let mut network =
            Self { path: path.into(), graph, input: input.name, value, layer, preprocess, done, width: 0, name };
        let grey = Picture::grey(network.preprocess.height, network.preprocess.width);
        network.width = network.run(&grey)?.len();
        Ok(network)
    }

    /// The features of one picture.
    fn run(&self, picture: &Picture) -> std::result::Result<Vec<f32>, String> {
        let mut values: HashMap<&str, Arc<Tensor>> = HashMap::new();
        values.insert(&self.input, Arc::new(self.preprocess.input(picture)));
        for (node, done) in self.graph.nodes.iter().zip(&self.done) {
            let find = |name: &String| values.get(name.as_str()).or_else(|| self.graph.constants.get(name));
            let missing = node.inputs.iter().find(|name| !name.is_empty() && find(name).is_none());
            if let Some(name) = missing {
                return Err(format!("{} \"{}\" reads \"{name}\", which no node computes", node.op, node.name));
            }
            let inputs = Inputs(node.inputs.iter().map(|name| find(name).map(Arc::as_ref)).collect());
            let outputs = op::run(node, &inputs).map_err(|why| format!("{} \"{}\" {why}", node.op, node.name))?;
            for (name, output) in node.outputs.iter().zip(outputs).filter(|(name, _)| !name.is_empty()) {
                values.insert(name, Arc::new(output));
            }
            done.iter().for_each(|name| drop(values.remove(name.as_str())));
        }
        let found =
            values.get(self.value.as_str()).ok_or("gives no features: its output does not depend on the picture")?;
        pooled(found)
    }

    /// Describes what was read, assumed and chosen.
    pub fn notes(&self) -> Vec<String> {
        let file = self.path.file_name().unwrap_or_default().to_string_lossy();
        let Preprocess { height, width, size_from, norm_from, .. } = self.preprocess;
        let size = match size_from {
            Source::Default => ", since it takes any size (--backbone-size says otherwise)",
            _ => "",
        };
        let norm = match norm_from {
            Source::Given => "normalised as --backbone-mean and --backbone-std say",
            Source::Model => "normalised as its file says",
            Source::Default => {
                "normalised with ImageNet's mean and deviation, as torchvision's networks need it (--backbone-mean and --backbone-std say otherwise)"
            }
        };
        let layer = match &self.layer {
            FeatureLayer::Penultimate => format!("the {} inputs of its last dense layer", self.width),
            FeatureLayer::Output => format!("its {} outputs, since it does not end in a dense layer", self.width),
            FeatureLayer::Named(name) => format!("the {} numbers of \"{name}\"", self.width),
        };
        vec![
            format!("{file} sees the middle of every picture at {height}x{width}{size}, {norm}"),
            format!("features are {layer}"),
        ]
    }

    /// Where the features are taken from.
    pub fn layer(&self) -> &FeatureLayer {
        &self.layer
    }
}

impl PictureNetwork for OnnxNetwork {
    fn name(&self) -> &str {
        &self.name
    }

    fn width(&self) -> usize {
        self.width
    }

    fn features(&self, picture: &Picture, out: &mut [f32]) -> std::result::Result<(), String> {
        let fail = |why: String| format!("{}: {why}", self.path.display());
        let features = self.run(picture).map_err(fail)?;
        if features.len() != out.len() {
            return Err(fail(format!("gave {} features after {}", features.len(), out.len())));
        }
        if let Some(value) = features.iter().find(|value| !value.is_finite()) {
            return Err(fail(format!("gives features that are not finite ({value})")));
        }
        out.copy_from_slice(&features);
        Ok(())
    }
}

fn io(path: &Path, source: std::io::Error) -> BackboneError {
    tares_data::DataError::io(path, "open", source).into()
}

/// One row of numbers: maps are averaged over the picture, tokens over the tokens.
fn pooled(features: &Tensor) -> std::result::Result<Vec<f32>, String> {
    let values = features.as_floats()?;
    if values.is_empty() {
        return Err("gives no features".into());
    }
    let mean = |values: &mut dyn Iterator<Item = f32>, count: usize| {
        (values.map(f64::from).sum::<f64>() / count as f64) as f32
    };
    Ok(match features.shape[..] {
        [1, channels, height, width] if height * width > 1 => {
            let plane = height * width;
            (0..channels).map(|c| mean(&mut values[c * plane..(c + 1) * plane].iter().copied(), plane)).collect()
        }
        [1, tokens, width] if tokens > 1 => {
            (0..width).map(|at| mean(&mut values.iter().skip(at).step_by(width).copied(), tokens)).collect()
        }
        _ => values.to_vec(),
    })
}

/// Runs every node that reads only constants, once. Every constant goes into the digest, wherever it was stored.
fn fold_constants(graph: &mut Graph, digest: &mut Sha256) -> std::result::Result<(), String> {
    let mut names: Vec<&String> = graph.constants.keys().collect();
    names.sort_unstable();
    for name in names {
        digest.update(name);
        match &graph.constants[name].values {
            Values::Floats(values) => values.iter().for_each(|value| digest.update(value.to_le_bytes())),
            Values::Integers(values) => values.iter().for_each(|value| digest.update(value.to_le_bytes())),
        }
    }
    let mut kept = Vec::with_capacity(graph.nodes.len());
    for node in std::mem::take(&mut graph.nodes) {
        let constant = node.inputs.iter().all(|name| name.is_empty() || graph.constants.contains_key(name));
        if !constant || !KNOWN.contains(&node.op.as_str()) {
            kept.push(node);
            continue;
        }
        let find = |name: &String| graph.constants.get(name).map(Arc::as_ref);
        let inputs = Inputs(node.inputs.iter().map(find).collect());
        let outputs = op::run(&node, &inputs).map_err(|why| format!("{} \"{}\" {why}", node.op, node.name))?;
        for (name, output) in node.outputs.iter().zip(outputs) {
            graph.constants.insert(name.clone(), Arc::new(output));
        }
    }
    graph.nodes = kept;
    Ok(())
}

/// Drops what the features don't depend on: the classifier's last layers and their weights.
fn keep_needed(graph: &mut Graph, value: &str) {
    let mut wanted: HashSet<String> = HashSet::from([value.to_owned()]);
    let mut kept = Vec::new();
    for node in std::mem::take(&mut graph.nodes).into_iter().rev() {
        if node.outputs.iter().any(|output| wanted.contains(output)) {
            wanted.extend(node.inputs.iter().cloned());
            kept.push(node);
        }
    }
    kept.reverse();
    graph.nodes = kept;
    graph.constants.retain(|name, _| wanted.contains(name));
}

/// For every node, the values that no later node reads.
fn last_uses(graph: &Graph, value: &str) -> Vec<Vec<String>> {
    let mut seen: HashSet<&str> = HashSet::from([value]);
    let mut done: Vec<Vec<String>> = Vec::with_capacity(graph.nodes.len());
    for node in graph.nodes.iter().rev() {
        let names = node.inputs.iter().chain(&node.outputs).filter(|name| !graph.constants.contains_key(*name));
        done.push(names.filter(|name| seen.insert(name.as_str())).cloned().collect());
    }
    done.reverse();
    done
}
