//! Which value of a network is a picture's features: what its last dense layer reads, or what it gives if it is no classifier.

use crate::onnx::Graph;

/// Where features are taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeatureLayer {
    /// The input of the last dense layer: the network is a classifier.
    Penultimate,
    /// The output: the network is none.
    Output,
    /// A value that was asked for by name.
    Named(String),
}

/// Operators that may stand between the last dense layer and the output.
const TAIL: [&str; 8] = ["Identity", "Softmax", "Sigmoid", "Reshape", "Flatten", "Squeeze", "Cast", "Dropout"];

/// The name of the value, and what it is.
pub(crate) fn choose(graph: &Graph, asked: Option<&str>) -> Result<(String, FeatureLayer), String> {
    if let Some(name) = asked {
        let there = graph.nodes.iter().any(|node| node.outputs.iter().any(|output| output == name));
        return match there {
            true => Ok((name.to_owned(), FeatureLayer::Named(name.to_owned()))),
            false => Err(format!(
                "has no value named \"{name}\"; its output is \"{}\"",
                graph.outputs.first().map_or("", String::as_str)
            )),
        };
    }
    let output = graph.outputs.first().cloned().unwrap_or_default();
    let constant = |name: &String| graph.constants.contains_key(name);
    let mut at = output.clone();
    while let Some(node) = graph.nodes.iter().find(|node| node.outputs.contains(&at)) {
        let data: Vec<&String> = node.inputs.iter().filter(|name| !name.is_empty() && !constant(name)).collect();
        match (node.op.as_str(), &data[..]) {
            ("Gemm" | "MatMul", [only]) if node.inputs.first() == Some(*only) => {
                return Ok(((*only).clone(), FeatureLayer::Penultimate));
            }
            // A bias, a temperature: computed with constants alone.
            ("Add" | "Mul" | "Div", [only]) => at = (*only).clone(),
            (op, [only, ..]) if TAIL.contains(&op) => at = (*only).clone(),
            _ => break,
        }
    }
    Ok((output, FeatureLayer::Output))
}
