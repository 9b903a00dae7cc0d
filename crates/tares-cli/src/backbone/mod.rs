//! Features in the place of pictures: what was typed ([`options`]), an own network as a backbone ([`own`]), and data read
//! through either ([`described`]).

pub mod described;
pub mod options;
pub mod own;
