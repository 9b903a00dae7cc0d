//! The program `tares`.

/// Training allocates many middle-sized buffers: measured twice as fast as the system's allocator on small networks.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    tares::join_workers();
    tares_cli::main()
}
