//! The paper's tables and figures, one recipe each: what to run, what was published, what the paper claims.
//!
//! A recipe is one TOML file in `recipes/` ([`recipe`]); [`catalogue`] finds it, [`scale`] makes an experiment of it,
//! [`needed_files`] says what data
//! is missing, [`place`] is where its runs are, and [`shared_runs`] takes over those that another recipe has finished. Then [`published`] sets our table beside the paper's, [`claim`] and [`verdict`] judge the
//! claims over seeds, [`page`] shows it all. [`list`] says what there is and what ran, [`publish`] writes what ran down for
//! readers, [`theorems`] checks what needs no data set.

pub mod catalogue;
pub mod claim;
pub mod list;
pub mod needed_files;
pub mod page;
pub mod place;
pub mod publish;
pub mod published;
pub mod recipe;
pub mod scale;
pub mod shared_runs;
pub mod side_by_side;
pub mod theorems;
pub mod verdict;
