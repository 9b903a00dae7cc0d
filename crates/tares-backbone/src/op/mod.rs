//! Operators: the list of those that are run, and one function for each.

mod conv;
mod dense;
mod elementwise;
mod norm;
mod pool;
mod product;
mod shape;
mod window;

use crate::onnx::Node;
use crate::tensor::Tensor;

type OpResult = Result<Vec<Tensor>, String>;

fn one(tensor: Tensor) -> OpResult {
    Ok(vec![tensor])
}

/// The values an operator reads.
pub(crate) struct Inputs<'a>(pub Vec<Option<&'a Tensor>>);

impl<'a> Inputs<'a> {
    fn tensor(&self, at: usize) -> Result<&'a Tensor, String> {
        self.optional(at).ok_or_else(|| format!("needs input {}", at + 1))
    }

    fn optional(&self, at: usize) -> Option<&'a Tensor> {
        self.0.get(at).copied().flatten()
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

/// Every operator that is run, as ONNX names it.
pub(crate) const KNOWN: [&str; 63] = [
    "Abs",
    "Add",
    "AveragePool",
    "BatchNormalization",
    "Cast",
    "Clip",
    "Concat",
    "Constant",
    "ConstantOfShape",
    "Conv",
    "Div",
    "Dropout",
    "Elu",
    "Equal",
    "Erf",
    "Exp",
    "Expand",
    "Flatten",
    "Floor",
    "Gather",
    "Gelu",
    "Gemm",
    "GlobalAveragePool",
    "Greater",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "LayerNormalization",
    "LeakyRelu",
    "Less",
    "Log",
    "MatMul",
    "Max",
    "MaxPool",
    "Min",
    "Mish",
    "Mod",
    "Mul",
    "Neg",
    "PRelu",
    "Pad",
    "Pow",
    "Range",
    "Reciprocal",
    "ReduceMax",
    "ReduceMean",
    "ReduceSum",
    "Relu",
    "Reshape",
    "Shape",
    "Sigmoid",
    "Slice",
    "Softmax",
    "Softplus",
    "Split",
    "Sqrt",
    "Squeeze",
    "Sub",
    "Tanh",
    "Transpose",
    "Unsqueeze",
    "Where",
    "Size",
];

/// Runs one operator.
pub(crate) fn run(node: &Node, inputs: &Inputs<'_>) -> OpResult {
    match node.op.as_str() {
        "Conv" => conv::conv(node, inputs),
        "MatMul" => dense::matmul(inputs),
        "Gemm" => dense::gemm(node, inputs),
        "MaxPool" => pool::max_pool(node, inputs),
        "AveragePool" => pool::average_pool(node, inputs),
        "GlobalAveragePool" => pool::global_average(inputs),
        "BatchNormalization" => norm::batch_norm(node, inputs),
        "LayerNormalization" => norm::layer_norm(node, inputs),
        "Softmax" => norm::softmax(node, inputs),
        "ReduceMean" | "ReduceSum" | "ReduceMax" => norm::reduce(node, inputs),
        "Clip" => elementwise::clip(node, inputs),
        "Where" => elementwise::choose(inputs),
        "Add" | "Sub" | "Mul" | "Div" | "Pow" | "Mod" | "Equal" | "Greater" | "Less" | "Max" | "Min" | "PRelu" => {
            elementwise::binary(node, inputs)
        }
        "Identity" | "Dropout" => one(inputs.tensor(0)?.clone()),
        "Constant" => one(node.constant().ok_or("holds no numbers")?),
        "ConstantOfShape" => shape::constant_of_shape(node, inputs),
        "Reshape" => shape::reshape(node, inputs),
        "Flatten" => shape::flatten(node, inputs),
        "Squeeze" => shape::squeeze(node, inputs),
        "Unsqueeze" => shape::unsqueeze(node, inputs),
        "Transpose" => shape::transpose(node, inputs),
        "Concat" => shape::concat(node, inputs),
        "Split" => shape::split(node, inputs),
        "Slice" => shape::slice(node, inputs),
        "Gather" => shape::gather(node, inputs),
        "Expand" => shape::expand(inputs),
        "Shape" => shape::shape(node, inputs),
        "Size" => one(Tensor::integers(Vec::new(), vec![inputs.tensor(0)?.len() as i64])),
        "Range" => shape::range(inputs),
        "Cast" => shape::cast(node, inputs),
        "Pad" => shape::pad(node, inputs),
        _ => elementwise::unary(node, inputs),
    }
}
