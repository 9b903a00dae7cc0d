//! Devices by name, chosen at run time among those compiled in.

use burn::tensor::Device;
use tares_core::{Error, Result};

/// All device names; [`available`] are those compiled in.
pub const NAMES: [&str; 7] = ["cpu", "cuda", "rocm", "metal", "vulkan", "webgpu", "gl"];

/// The device called `name`: `cpu`, or one of `cuda`, `rocm`, `metal`, `vulkan`, `webgpu`, `gl` if the cargo feature of
/// that name was on. `cuda:1` and `rocm:1` name the second card.
///
/// The device is made when it is first used, so a missing driver or card shows up only then.
///
/// ```
/// let device = tares::device::by_name("cpu")?.autodiff();
/// assert!(device.is_autodiff());
/// # Ok::<(), tares_core::Error>(())
/// ```
///
/// # Errors
/// An unknown name; a device that was not compiled in; a card number that is not one.
pub fn by_name(name: &str) -> Result<Device> {
    let (kind, card) = match name.split_once(':') {
        Some((kind, card)) => (kind, Some(card)),
        None => (name, None),
    };
    if !NAMES.contains(&kind) {
        return Err(Error::unknown("device", name, &NAMES));
    }
    let card: usize = match card {
        None => 0,
        Some(card) if kind == "cuda" || kind == "rocm" => {
            card.parse().map_err(|_| Error::value("card number", "a whole number, as in cuda:1", card))?
        }
        Some(_) => return Err(Error::value("device", "a name without number (only cuda and rocm take one)", name)),
    };
    make(kind, card).unwrap_or_else(|| {
        let allowed = format!("compiled in ({}); build with --features {kind}", available().join(", "));
        Err(Error::value("device", allowed, kind))
    })
}

/// The names [`by_name`] takes in this build.
pub fn available() -> Vec<&'static str> {
    let compiled = [
        true,
        cfg!(feature = "cuda"),
        cfg!(feature = "rocm"),
        cfg!(feature = "metal"),
        cfg!(feature = "vulkan"),
        cfg!(feature = "webgpu"),
        cfg!(feature = "gl"),
    ];
    NAMES.iter().zip(compiled).filter(|(_, compiled)| *compiled).map(|(name, _)| *name).collect()
}

/// `None` if it is not compiled in.
fn make(kind: &str, card: usize) -> Option<Result<Device>> {
    let _ = card; // only some builds have cards to count
    match kind {
        "cpu" => Some(Ok(Device::flex())),
        #[cfg(feature = "cuda")]
        "cuda" => Some(Ok(Device::cuda(card))),
        #[cfg(feature = "rocm")]
        "rocm" => Some(Ok(Device::rocm(card))),
        #[cfg(feature = "metal")]
        "metal" => Some(Ok(Device::metal(burn::tensor::DeviceKind::DefaultDevice))),
        #[cfg(feature = "vulkan")]
        "vulkan" => Some(Ok(Device::vulkan(burn::tensor::DeviceKind::DefaultDevice))),
        #[cfg(feature = "webgpu")]
        "webgpu" => Some(Ok(Device::webgpu(burn::tensor::DeviceKind::DefaultDevice))),
        #[cfg(feature = "gl")]
        "gl" => Some(open_gl()),
        _ => None,
    }
}

/// OpenGL's runtime can be started only once in a process; later calls share it.
#[cfg(feature = "gl")]
fn open_gl() -> Result<Device> {
    static STARTED: std::sync::Mutex<Option<Device>> = std::sync::Mutex::new(None);
    let mut started = STARTED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(device) = &*started {
        return Ok(device.clone());
    }
    let options = Device::wgpu_options().graphics_api(burn::tensor::wgpu::WgpuBackend::Gl);
    let device = options.init().map_err(|error| Error::value("device gl", "usable on this machine", error))?;
    *started = Some(device.clone());
    Ok(device)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_wrong_or_not_compiled_in_say_so() {
        let message = |name: &str| by_name(name).unwrap_err().to_string();
        assert_eq!(message("cpuu"), "unknown device 'cpuu': did you mean cpu?");
        assert_eq!(message("cpu:1"), "device must be a name without number (only cuda and rocm take one), got cpu:1");
        assert_eq!(message("cuda:x"), "card number must be a whole number, as in cuda:1, got x");
        #[cfg(not(feature = "cuda"))]
        assert!(message("cuda").starts_with("device must be compiled in (cpu"), "{}", message("cuda"));
        assert!(available().contains(&"cpu"));
    }
}
