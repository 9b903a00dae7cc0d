//! Selecting allocates nothing once the scratch space is there.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use tares_core::{Extra, Selector, stream};

struct Counting;

thread_local! {
    /// Of this thread alone: the test's runner allocates in another, whenever it likes.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

#[allow(unsafe_code)] // a global allocator cannot be written without; it only counts and passes on
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn selection_allocates_nothing_after_warm_up() {
    let mut draws = stream(1, "allocations");
    let batches: Vec<Vec<f32>> =
        (0..50).map(|_| (0..128).map(|_| (2.0 * draws.normal().abs()) as f32).collect()).collect();
    let labels: Vec<u32> = (0..128).map(|i| i % 10).collect();
    let mut selector = Selector::new();
    let mut run = || {
        for losses in &batches {
            for threshold in [0.0, 40.0, 64.0, 128.0, 200.0] {
                selector.select(losses, threshold, Extra::WhenSlack).unwrap();
                selector.select_by_class(losses, &labels, 10, Extra::WhenSlack, |_, rows| rows.len() as f64).unwrap();
            }
        }
    };
    run();
    let before = ALLOCATIONS.get();
    run();
    assert!(before > 0, "nothing was counted");
    assert_eq!(ALLOCATIONS.get() - before, 0);
}
