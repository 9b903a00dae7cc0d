//! The weights of any module as safetensors bytes, and back.

use crate::error::{Error, Result};
use burn::module::{Module, ModuleVisitor, Param};
use burn::store::{ModuleSnapshot, SafetensorsStore};
use burn::tensor::{DType, Tensor};

/// All weights and running statistics of a module.
///
/// Equal weights give equal bytes. Names are the module's paths, without the names of enum variants.
///
/// # Errors
/// A kind of number safetensors does not know.
///
/// ```
/// use burn::nn::LinearConfig;
/// use burn::tensor::Device;
/// use tares::safetensors::{from_safetensors, to_safetensors};
/// let device = Device::flex();
/// let (one, other) = (LinearConfig::new(2, 3).init(&device), LinearConfig::new(2, 3).init(&device));
/// let bytes = to_safetensors(&one)?;
/// let same = from_safetensors(other, &bytes)?;
/// assert_eq!(same.weight.to_data(), one.weight.to_data());
/// assert!(from_safetensors(LinearConfig::new(2, 4).init(&device), &bytes).is_err());
/// # Ok::<(), tares::Error>(())
/// ```
pub fn to_safetensors<M: Module>(module: &M) -> Result<Vec<u8>> {
    // One entry of metadata: several would come in an order that changes from run to run. `valid` also brings the
    // running statistics of batch norm up to date, which otherwise lag one step behind.
    let mut store = memory(None).metadata("producer", "tares");
    module.valid().save_into(&mut store).map_err(|error| Error::Weights(error.to_string()))?;
    store.get_bytes().map_err(|error| Error::Weights(error.to_string()))
}

/// Puts the weights [`to_safetensors`] gave into a module of the same structure.
///
/// # Errors
/// Bytes that are not safetensors; weights that are missing, left over, of another shape or another kind of number; a
/// weight that is not a finite number.
pub fn from_safetensors<M: Module>(mut module: M, bytes: &[u8]) -> Result<M> {
    let wanted = Numbers::of(&module).kinds;
    let mut store = memory(Some(bytes.to_vec()));
    let result = module.load_from(&mut store).map_err(|error| Error::Weights(error.to_string()))?;
    if let Some(error) = result.errors.first() {
        return Err(Error::Weights(error.to_string()));
    }
    if let Some((path, _)) = result.missing.first() {
        return Err(Error::Weights(format!("'{path}' is missing")));
    }
    if let Some(path) = result.unused.first() {
        return Err(Error::Weights(format!("'{path}' belongs to no part of the network")));
    }
    // Burn takes weights of any precision, and would stop at the first operation that mixes two of them.
    let loaded = Numbers::of(&module);
    if let Some((wanted, (path, kind))) = wanted.iter().zip(&loaded.kinds).find(|((_, a), (_, b))| a != b) {
        return Err(Error::Weights(format!("'{path}' must hold {:?}, got {kind:?}", wanted.1)));
    }
    match loaded.not_finite {
        Some(path) => Err(Error::Weights(format!("'{path}' holds a number that is not finite"))),
        None => Ok(module),
    }
}

/// The kind of number of every float parameter, in the order of the module's visit.
#[derive(Default)]
struct Numbers {
    path: Vec<String>,
    kinds: Vec<(String, DType)>,
    /// The first parameter with an infinity or a NaN.
    not_finite: Option<String>,
}

impl Numbers {
    fn of<M: Module>(module: &M) -> Self {
        let mut numbers = Self::default();
        module.visit(&mut numbers);
        numbers
    }
}

impl ModuleVisitor for Numbers {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let (path, values) = (self.path.join("."), param.val());
        let finite = values.to_data().iter::<f32>().all(f32::is_finite);
        if !finite && self.not_finite.is_none() {
            self.not_finite = Some(path.clone());
        }
        self.kinds.push((path, values.dtype()));
    }
}

fn memory(bytes: Option<Vec<u8>>) -> SafetensorsStore {
    SafetensorsStore::from_bytes(bytes).clear_metadata().skip_enum_variants(true).allow_partial(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::nn::{Linear, LinearConfig};
    use burn::tensor::Device;

    fn layer() -> Linear {
        LinearConfig::new(2, 3).init(&Device::flex())
    }

    /// The file of a layer with its header changed by hand and padded to its old length.
    fn with_header(from: &str, to: &str) -> Vec<u8> {
        let bytes = to_safetensors(&layer()).unwrap();
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let header = String::from_utf8(bytes[8..8 + length].to_vec()).unwrap();
        assert!(header.contains(from), "{header}");
        let header = header.replace(from, to);
        let mut out = (header.len() as u64).to_le_bytes().to_vec();
        out.extend(header.as_bytes());
        out.extend(&bytes[8 + length..]);
        out
    }

    #[test]
    fn weights_of_another_kind_or_shape_are_refused() {
        let say = |bytes: &[u8]| from_safetensors(layer(), bytes).unwrap_err().to_string();
        // Six f32 are three f64 or twelve f16: same bytes, other shapes.
        for (from, to) in [
            ("[2,3]", "[3,2]"),
            ("[2,3]", "[6]"),
            ("[2,3]", "[18446744073709551615,3]"),
            ("\"F32\"", "\"I32\""),
            ("\"F32\"", "\"F64\""),
            ("\"F32\"", "\"Q7\""),
            ("\"bias\"", "\"bios\""),
        ] {
            assert!(say(&with_header(from, to)).starts_with("weights: "), "{from} → {to}");
        }
        assert!(say(b"").starts_with("weights: "));
        assert!(say(&[255; 40]).starts_with("weights: "));
    }

    #[test]
    fn weights_that_are_not_finite_are_refused() {
        let bytes = to_safetensors(&layer()).unwrap();
        let at = bytes.len() - 4;
        let changed = [&bytes[..at], &f32::NAN.to_le_bytes()].concat();
        let error = from_safetensors(layer(), &changed).unwrap_err().to_string();
        assert!(error.contains("not finite"), "{error}");
    }

    #[test]
    fn any_changed_bit_is_an_error_or_other_weights() {
        let bytes = to_safetensors(&layer()).unwrap();
        for bit in 0..8 * bytes.len() {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            if let Ok(layer) = from_safetensors(layer(), &changed) {
                let input = burn::tensor::Tensor::<2>::ones([1, 2], &Device::flex());
                assert_eq!(layer.forward(input).dims(), [1, 3], "bit {bit}");
            }
        }
    }
}
