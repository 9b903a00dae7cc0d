//! One reader per format: bytes in, [`RawTable`](crate::table::RawTable) or [`Pictures`](crate::Pictures) out.

pub mod arrays;
pub mod cifar;
pub mod cifar_n;
pub mod csv;
pub mod digits;
pub(crate) mod folder;
pub mod idx;
pub mod image;
pub mod jsonl;
pub mod npy;
pub mod npz;
pub mod parquet;
pub mod picture_list;

pub use cifar_n::HumanLabels;
