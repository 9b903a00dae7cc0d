//! The weights of any module as safetensors bytes, and back.

use crate::error::{Error, Result};
use burn::module::Module;
use burn::store::{ModuleSnapshot, SafetensorsStore};

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
/// Bytes that are not safetensors; weights that are missing, left over or of another shape.
pub fn from_safetensors<M: Module>(mut module: M, bytes: &[u8]) -> Result<M> {
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
    Ok(module)
}

fn memory(bytes: Option<Vec<u8>>) -> SafetensorsStore {
    SafetensorsStore::from_bytes(bytes).clear_metadata().skip_enum_variants(true).allow_partial(true)
}
