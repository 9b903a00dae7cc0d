//! The program `tares`.

mod allocator;

fn main() -> std::process::ExitCode {
    allocator::keep_memory();
    tares::join_workers();
    tares_cli::main()
}
