//! The compiled part of the Python package `tares` (module `tares._tares`): NumPy arrays in, NumPy arrays out.
//!
//! 1. `array`: what comes in, without a copy; `table`: columns and pictures.
//! 2. `call`: how every call runs: without the interpreter lock, on the threads of this process, no panic gets out.
//! 3. `audit` and `judged` (with `found`, what they return), `parts` (audits in two halves), `table_part` (the same on tables that a machine reads
//!    itself), `columns` (what they return),
//!    `consensus`, `classifier`, `noise`, `metric`, `curriculum`: one file per thing that Python can ask for.
//!
//! What users call (with pandas, polars, lists, names of classes) is Python: `python/tares/`.
#![cfg(feature = "extension")]

mod array;
mod audit;
mod call;
mod classifier;
mod columns;
mod consensus;
mod curriculum;
mod found;
mod judged;
mod metric;
mod noise;
mod parts;
mod table;
mod table_part;

use pyo3::prelude::*;

/// As in the program: training allocates many buffers, and a step of cnn9 takes 1.3 times as long with the system's allocator (measured).
/// Python keeps its own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The module `tares._tares`.
#[pymodule]
fn _tares(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<found::ArrayAudit>()?;
    module.add_function(wrap_pyfunction!(audit::audit, module)?)?;
    module.add_function(wrap_pyfunction!(audit::scores, module)?)?;
    module.add_function(wrap_pyfunction!(judged::audit_rows, module)?)?;
    module.add_class::<classifier::FittedModel>()?;
    module.add_function(wrap_pyfunction!(classifier::fit, module)?)?;
    module.add_function(wrap_pyfunction!(classifier::predict, module)?)?;
    module.add_function(wrap_pyfunction!(noise::corrupt, module)?)?;
    module.add_function(wrap_pyfunction!(metric::accuracy, module)?)?;
    module.add_function(wrap_pyfunction!(metric::balanced_accuracy, module)?)?;
    module.add_function(wrap_pyfunction!(metric::confusion, module)?)?;
    module.add_function(wrap_pyfunction!(metric::retrieval, module)?)?;
    module.add_function(wrap_pyfunction!(metric::auroc, module)?)?;
    module.add_function(wrap_pyfunction!(metric::average_precision, module)?)?;
    module.add_function(wrap_pyfunction!(metric::calibration_error, module)?)?;
    module.add_function(wrap_pyfunction!(metric::mean_std, module)?)?;
    module.add_class::<consensus::ArrayConsensus>()?;
    module.add_function(wrap_pyfunction!(consensus::consensus, module)?)?;
    module.add_class::<curriculum::HostLoss>()?;
    module.add_class::<curriculum::HostStep>()?;
    module.add_function(wrap_pyfunction!(curriculum::from_margins, module)?)?;
    module.add_class::<parts::PartJudge>()?;
    module.add_class::<parts::PartTotals>()?;
    module.add_class::<table_part::TablePart>()?;
    module.add_function(wrap_pyfunction!(table_part::find_tables, module)?)?;
    module.add_function(wrap_pyfunction!(table_part::agree_names, module)?)?;
    module.add_function(wrap_pyfunction!(parts::draw_chances, module)?)?;
    module.add_function(wrap_pyfunction!(parts::drawn_rows, module)?)?;
    module.add_function(wrap_pyfunction!(parts::fit_noise, module)?)?;
    module.add_function(wrap_pyfunction!(parts::row_key, module)?)?;
    module.add_function(wrap_pyfunction!(call::panic, module)?)?;
    module.add_function(wrap_pyfunction!(call::threads, module)?)?;
    Ok(())
}
