//! The program `tares`.
fn main() {}
