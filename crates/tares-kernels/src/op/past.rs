//! A gradient that goes past an operation.

use crate::op::host::Host;
use std::sync::{Arc, Mutex, PoisonError};

/// Where the gradient of a DenseNet's maps waits for the layer that read them.
///
/// The maps are used twice: by the layer, and beside what the layer adds to them. Burn would add the two gradients with one thread
/// and a pass of its own. The layer's operation, which comes later in the backward pass, adds this one to its own instead.
#[derive(Clone, Debug, Default)]
pub(crate) struct Past(Arc<Mutex<Option<Host>>>);

impl Past {
    /// Leaves the gradient of maps whose first channels are those that the layer read.
    pub(crate) fn leave(&self, gradient: Host) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(gradient);
    }

    /// What was left, once.
    pub(crate) fn take(&self) -> Option<Host> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
