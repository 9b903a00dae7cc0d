//! Which value of a network is used as features: the input of its last dense layer, or its output if it is not a classifier.

use crate::onnx::Graph;

/// Where features are taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeatureLayer {
    /// The input of the last dense layer: the network is a classifier.
    Penultimate,
    /// The output: the network is not a classifier.
    Output,
    /// A value that was asked for by name.
    Named(String),
}

/// Operators that may follow the last dense layer.
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
            // Such as a bias or a temperature: the other operand is a constant.
            ("Add" | "Mul" | "Div", [only]) => at = (*only).clone(),
            (op, [only, ..]) if TAIL.contains(&op) => at = (*only).clone(),
            _ => break,
        }
    }
    Ok((output, FeatureLayer::Output))
}
