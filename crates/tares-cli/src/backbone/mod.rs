//! Features instead of pictures: what was typed ([`options`]), a network of `tares train` as a backbone ([`own`]), and data read
//! through either ([`described`]).

pub mod described;
pub mod options;
pub mod own;
