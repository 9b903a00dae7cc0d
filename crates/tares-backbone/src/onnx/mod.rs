//! An ONNX file → [`Graph`]: nodes, constants, inputs and outputs. Only what networks for pictures need is read; nothing is trusted.

mod constant;
mod wire;

use crate::tensor::Tensor;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use wire::{BROKEN, Field, fields};

/// The larger of two limits: models beyond this are refused before they are read.
const MOST_BYTES: u64 = 1 << 33;

/// A network as its file describes it.
#[derive(Debug)]
pub(crate) struct Graph {
    pub nodes: Vec<Node>,
    pub constants: HashMap<String, Arc<Tensor>>,
    /// The inputs, without constants that are also listed as inputs.
    pub inputs: Vec<ValueInfo>,
    pub outputs: Vec<String>,
    /// Notes that the exporter left.
    pub metadata: HashMap<String, String>,
}

/// An input: its name, its type (ONNX's number) and its shape.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValueInfo {
    pub name: String,
    pub element: i64,
    /// `None` for a size that may vary.
    pub shape: Option<Vec<Option<usize>>>,
}

/// One operator with the names of the values it reads and writes.
#[derive(Debug)]
pub(crate) struct Node {
    pub op: String,
    pub name: String,
    /// An empty name is an input that was left out.
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
    attributes: HashMap<String, Attribute>,
    /// The version of the operators.
    pub opset: i64,
}

#[derive(Debug)]
enum Attribute {
    Float(f32),
    Integer(i64),
    Text(String),
    Floats(Vec<f32>),
    Integers(Vec<i64>),
    Tensor(Arc<Tensor>),
}

impl Graph {
    /// Reads a model. `folder` is where its external data may lie.
    pub fn read(bytes: &[u8], folder: &Path) -> Result<Self, String> {
        let model = fields(bytes)?;
        let graph = model.iter().find(|field| field.number == 7).ok_or(BROKEN)?;
        let opset = opset(&model)?;
        let mut metadata = HashMap::new();
        for field in model.iter().filter(|field| field.number == 14) {
            let (key, value) = entry(field)?;
            metadata.insert(key, value);
        }
        if model.iter().any(|field| field.number == 25) {
            return Err("defines functions of its own, which are not run here (export it with them inlined)".into());
        }
        let mut found =
            Self { nodes: Vec::new(), constants: HashMap::new(), inputs: Vec::new(), outputs: Vec::new(), metadata };
        for field in fields(graph.bytes()?)? {
            match field.number {
                1 => found.nodes.push(Node::read(field.bytes()?, opset, folder)?),
                5 => {
                    let (name, tensor) = constant::read(field.bytes()?, folder)?;
                    found.constants.insert(name, Arc::new(tensor));
                }
                11 => found.inputs.push(ValueInfo::read(field.bytes()?)?),
                12 => found.outputs.push(ValueInfo::read(field.bytes()?)?.name),
                _ => {}
            }
        }
        let constants = &found.constants;
        found.inputs.retain(|input| !constants.contains_key(&input.name));
        if found.nodes.is_empty() || found.outputs.is_empty() {
            return Err(BROKEN.into());
        }
        Ok(found)
    }

    /// The largest file that is read.
    pub fn most_bytes() -> u64 {
        MOST_BYTES
    }
}

/// The version of the standard operators.
fn opset(model: &[Field<'_>]) -> Result<i64, String> {
    for field in model.iter().filter(|field| field.number == 8) {
        let (mut domain, mut version) = (String::new(), 1);
        for field in fields(field.bytes()?)? {
            match field.number {
                1 => domain = field.text()?,
                2 => version = field.number()?,
                _ => {}
            }
        }
        if domain.is_empty() || domain == "ai.onnx" {
            return Ok(version);
        }
    }
    Err(BROKEN.into())
}

/// Key and value of a note.
fn entry(field: &Field<'_>) -> Result<(String, String), String> {
    let (mut key, mut value) = (String::new(), String::new());
    for field in fields(field.bytes()?)? {
        match field.number {
            1 => key = field.text()?,
            2 => value = field.text()?,
            _ => {}
        }
    }
    Ok((key, value))
}

impl ValueInfo {
    fn read(bytes: &[u8]) -> Result<Self, String> {
        let mut info = Self { name: String::new(), element: 0, shape: None };
        for field in fields(bytes)? {
            match field.number {
                1 => info.name = field.text()?,
                2 => {
                    for kind in fields(field.bytes()?)?.iter().filter(|kind| kind.number == 1) {
                        info.read_tensor_type(kind.bytes()?)?;
                    }
                }
                _ => {}
            }
        }
        Ok(info)
    }

    fn read_tensor_type(&mut self, bytes: &[u8]) -> Result<(), String> {
        for field in fields(bytes)? {
            match field.number {
                1 => self.element = field.number()?,
                2 => {
                    let mut shape = Vec::new();
                    for size in fields(field.bytes()?)?.iter().filter(|size| size.number == 1) {
                        let fixed = fields(size.bytes()?)?.into_iter().find(|field| field.number == 1);
                        let fixed = fixed.map(|field| field.number()).transpose()?;
                        shape.push(fixed.and_then(|size| usize::try_from(size).ok()).filter(|&size| size > 0));
                    }
                    self.shape = Some(shape);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Node {
    fn read(bytes: &[u8], opset: i64, folder: &Path) -> Result<Self, String> {
        let mut node = Self {
            op: String::new(),
            name: String::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            attributes: HashMap::new(),
            opset,
        };
        let mut domain = String::new();
        for field in fields(bytes)? {
            match field.number {
                1 => node.inputs.push(field.text()?),
                2 => node.outputs.push(field.text()?),
                3 => node.name = field.text()?,
                4 => node.op = field.text()?,
                5 => {
                    if let Some((name, attribute)) = Attribute::read(field.bytes()?, folder)? {
                        node.attributes.insert(name, attribute);
                    }
                }
                7 => domain = field.text()?,
                _ => {}
            }
        }
        if node.op.is_empty() {
            return Err(BROKEN.into());
        }
        if !domain.is_empty() && domain != "ai.onnx" {
            node.op = format!("{domain}.{}", node.op);
        }
        Ok(node)
    }

    pub fn integer(&self, name: &str) -> Option<i64> {
        match self.attributes.get(name)? {
            Attribute::Integer(value) => Some(*value),
            _ => None,
        }
    }

    pub fn float(&self, name: &str) -> Option<f32> {
        match self.attributes.get(name)? {
            Attribute::Float(value) => Some(*value),
            _ => None,
        }
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        match self.attributes.get(name)? {
            Attribute::Text(value) => Some(value),
            _ => None,
        }
    }

    pub fn integers(&self, name: &str) -> Option<&[i64]> {
        match self.attributes.get(name)? {
            Attribute::Integers(values) => Some(values),
            _ => None,
        }
    }

    /// What a `Constant` holds.
    pub fn constant(&self) -> Option<Tensor> {
        let single = |name: &str| self.attributes.get(name);
        Some(match single("value").or_else(|| self.attributes.values().next())? {
            Attribute::Tensor(tensor) => tensor.as_ref().clone(),
            Attribute::Float(value) => Tensor::floats(Vec::new(), vec![*value]),
            Attribute::Integer(value) => Tensor::integers(Vec::new(), vec![*value]),
            Attribute::Floats(values) => Tensor::floats(vec![values.len()], values.clone()),
            Attribute::Integers(values) => Tensor::integers(vec![values.len()], values.clone()),
            Attribute::Text(_) => return None,
        })
    }

    /// A tensor that is an attribute.
    pub fn tensor(&self, name: &str) -> Option<&Tensor> {
        match self.attributes.get(name)? {
            Attribute::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }
}

impl Attribute {
    /// `None` for kinds that no operator here reads (graphs, lists of texts).
    fn read(bytes: &[u8], folder: &Path) -> Result<Option<(String, Self)>, String> {
        let (mut name, mut value, mut kind) = (String::new(), None, 0);
        let (mut floats, mut integers) = (Vec::new(), Vec::new());
        for field in fields(bytes)? {
            match field.number {
                1 => name = field.text()?,
                2 => {
                    let mut one = Vec::new();
                    field.push_floats(&mut one)?;
                    value = one.first().map(|&value| Self::Float(value));
                }
                3 => value = Some(Self::Integer(field.number()?)),
                4 => value = Some(Self::Text(field.text()?)),
                5 => value = Some(Self::Tensor(Arc::new(constant::read(field.bytes()?, folder)?.1))),
                7 => field.push_floats(&mut floats)?,
                8 => field.push_numbers(&mut integers)?,
                20 => kind = field.number()?,
                _ => {}
            }
        }
        // The type field is needed because a value of 0 or an empty list is not written at all.
        let value = match (value, kind) {
            (_, 6) => Some(Self::Floats(floats)),
            (_, 7) => Some(Self::Integers(integers)),
            (None, 1) => Some(Self::Float(0.0)),
            (None, 2) => Some(Self::Integer(0)),
            (None, 3) => Some(Self::Text(String::new())),
            (None, _) if !floats.is_empty() => Some(Self::Floats(floats)),
            (None, _) if !integers.is_empty() => Some(Self::Integers(integers)),
            (value, _) => value,
        };
        Ok(value.map(|value| (name, value)))
    }
}
