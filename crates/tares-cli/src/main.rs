//! The program `tares`.

/// Training allocates many buffers of medium size. With this allocator small networks train twice as fast as with the
/// system's (measured).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    tares::join_workers();
    tares_cli::main()
}
