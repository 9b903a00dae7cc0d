//! What one training step asks the allocator for, after three steps of warming up: `RAYON_NUM_THREADS=1 cargo bench --workspace --bench allocations`.
//!
//! Prints, per network and part of the step, how often memory was asked for and how much; the same for requests above 4 kB, which are
//! tensors; how much of it had to be zero; and the most that was held at once beyond what was held before the step. With `--sizes` also
//! which sizes above 4 kB, and how often.

use burn::optim::GradientsParams;
use burn::tensor::{Device, Int, Tensor, TensorData};
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tares::Optimiser;
use tares::descent::Descent;
use tares::loss::cross_entropy;
use tares::network::{Classifier, Network, Weights};
use tares::optimiser::Adam;
use tares_core::{Shape, stream};

/// Requests above this are tensors; below are shapes, graph nodes and tasks.
const LARGE: usize = 4096;
/// So many sizes of large requests are remembered.
const REMEMBERED: usize = 1 << 14;

static REQUESTS: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);
static ZEROED: AtomicUsize = AtomicUsize::new(0);
static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST_HELD: AtomicUsize = AtomicUsize::new(0);
static LARGE_REQUESTS: AtomicUsize = AtomicUsize::new(0);
static SIZES: [AtomicUsize; REMEMBERED] = [const { AtomicUsize::new(0) }; REMEMBERED];

struct Counting;

fn count(size: usize) {
    REQUESTS.fetch_add(1, Relaxed);
    BYTES.fetch_add(size, Relaxed);
    MOST_HELD.fetch_max(HELD.fetch_add(size, Relaxed) + size, Relaxed);
    if size > LARGE {
        SIZES[LARGE_REQUESTS.fetch_add(1, Relaxed) % REMEMBERED].store(size, Relaxed);
    }
}

#[allow(unsafe_code)] // a global allocator cannot be written without; it only counts and passes on
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        ZEROED.fetch_add(layout.size(), Relaxed);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        HELD.fetch_sub(layout.size(), Relaxed);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Name, network, and the shape of its batch.
const CASES: [(&str, &str, [usize; 4]); 5] = [
    ("mlp", "mlp:256-256", [128, 1, 28, 28]),
    ("lenet", "lenet", [128, 1, 28, 28]),
    ("cnn9", "cnn9", [32, 3, 32, 32]),
    ("resnet18", "resnet18", [32, 3, 32, 32]),
    ("densenet", "densenet", [32, 3, 32, 32]),
];

fn main() {
    tares::join_workers();
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let sizes = arguments.iter().any(|argument| argument == "--sizes");
    let named = |name: &str| arguments.iter().any(|argument| argument == name);
    let all = !CASES.iter().any(|case| named(case.0));
    println!("network,part,requests,kB,requests above 4 kB,kB above 4 kB,kB zeroed,kB held at most");
    for (name, network, shape) in CASES.into_iter().filter(|case| all || named(case.0)) {
        measure(name, network, shape, sizes);
    }
}

fn measure(name: &str, network: &str, shape: [usize; 4], sizes: bool) {
    let device = Device::flex().autodiff();
    let [batch, channels, height, width] = shape;
    let mut weights = Weights::new(1, "weights", &device);
    let network = network.parse::<Network>().expect("a network of tares");
    let mut network =
        network.build(Shape::Image { channels, height, width }, 10, &mut weights).expect("a shape that fits");
    let mut draw = stream(1, "batch");
    let pixels: Vec<f32> = (0..shape.iter().product()).map(|_| draw.unit() as f32).collect();
    let labels: Vec<i32> = (0..batch).map(|_| draw.below(10) as i32).collect();
    let pixels = Tensor::<4>::from_data(TensorData::new(pixels, shape), &device);
    let labels = Tensor::<1, Int>::from_data(TensorData::new(labels, [batch]), &device);
    let mut descent = Descent::new(Optimiser::Adam(Adam::default()));
    for step in 0..4 {
        let begin = Counts::now();
        let held = HELD.load(Relaxed);
        MOST_HELD.store(held, Relaxed);
        let loss = cross_entropy(network.logits(pixels.clone()), labels.clone()).mean();
        let forward = Counts::now();
        let gradients = GradientsParams::from_grads(loss.backward(), &network);
        let backward = Counts::now();
        network = descent.step(network, gradients, 1e-3, 0.9);
        let end = Counts::now();
        if step == 3 {
            for (part, from, to) in [
                ("forward", begin, forward),
                ("backward", forward, backward),
                ("update", backward, end),
                ("step", begin, end),
            ] {
                println!("{name},{part},{},{}", to.since(from), (MOST_HELD.load(Relaxed) - held) / 1000);
            }
            if sizes {
                print_sizes(begin, end);
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Counts {
    requests: usize,
    bytes: usize,
    large: usize,
    zeroed: usize,
}

impl Counts {
    fn now() -> Self {
        let [requests, bytes, large, zeroed] =
            [&REQUESTS, &BYTES, &LARGE_REQUESTS, &ZEROED].map(|count| count.load(Relaxed));
        Self { requests, bytes, large, zeroed }
    }

    fn since(self, before: Self) -> String {
        let large = large_sizes(before, self).sum::<usize>() / 1000;
        let [all, zeroed] = [self.bytes - before.bytes, self.zeroed - before.zeroed].map(|bytes| bytes / 1000);
        format!("{},{all},{},{large},{zeroed}", self.requests - before.requests, self.large - before.large)
    }
}

fn large_sizes(from: Counts, to: Counts) -> impl Iterator<Item = usize> {
    assert!(to.large - from.large <= REMEMBERED, "more large requests than are remembered");
    (from.large..to.large).map(|at| SIZES[at % REMEMBERED].load(Relaxed))
}

/// The sizes that make up most of the memory, the most first.
fn print_sizes(from: Counts, to: Counts) {
    let mut times = BTreeMap::new();
    large_sizes(from, to).for_each(|size| *times.entry(size).or_insert(0) += 1);
    let mut times: Vec<(usize, usize)> = times.into_iter().collect();
    times.sort_by_key(|(size, times)| std::cmp::Reverse(size * times));
    times.iter().take(12).for_each(|(size, times)| println!("    {times} × {} kB", size / 1000));
}
