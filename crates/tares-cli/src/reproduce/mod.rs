//! The paper's tables and figures, one recipe each: what to run, what was published, what the paper claims.
//!
//! A recipe is one TOML file in `recipes/` ([`recipe`]). [`catalogue`] finds it, [`scale`] makes an experiment of it,
//! [`needed_files`] lists missing data, [`place`] is the directory of its runs, and [`shared_runs`] copies runs that another
//! recipe has finished. [`published`] holds the paper's numbers and [`side_by_side`] sets ours beside them; [`claim`] and
//! [`verdict`] judge the claims over seeds; [`page`] shows everything. [`list`] lists the recipes and their progress,
//! [`publish`] writes the results for readers, and [`theorems`] checks what needs no data set.

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
