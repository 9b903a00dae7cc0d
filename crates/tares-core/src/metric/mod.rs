//! The numbers people compare by. All take plain slices and return errors for lengths that differ or are 0.

pub mod calibration;
pub mod confusion;
pub mod mean_std;
pub mod ranking;
pub mod retrieval;

pub use calibration::calibration_error;
pub use confusion::{Confusion, accuracy};
pub use mean_std::{MeanStd, last_epochs, mean_of_last};
pub use ranking::{auroc, average_precision};
pub use retrieval::Retrieval;
