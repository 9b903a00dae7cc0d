//! Memory of pages that were read, kept by each thread for the next: new memory has to be cleared by the system, which takes as long as
//! unpacking a page.

use std::cell::RefCell;

/// Buffers that a thread keeps: those of two groups of some ten columns.
const MOST: usize = 64;
/// A larger buffer is not kept.
const LARGEST: usize = 1 << 22;

/// Sizes are rounded up to this, so that the next page fits as well.
const ROUND: usize = 5 << 18;

thread_local! {
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// A buffer with any content.
pub(super) fn take() -> Vec<u8> {
    SPARE.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// Makes a buffer `length` bytes long. What it held is of no use, so it is not copied where it must grow.
pub(super) fn make_room(buffer: &mut Vec<u8>, length: usize) {
    if buffer.capacity() < length {
        // Pages are seldom much larger than a mebibyte.
        *buffer = Vec::with_capacity(length.next_multiple_of(ROUND));
    }
    buffer.resize(length, 0);
}

/// For the next [`take`].
pub(super) fn put_back(buffer: Vec<u8>) {
    if (1..=LARGEST).contains(&buffer.capacity()) {
        // Without a place, at the end of a thread, the buffer is freed.
        let _ = SPARE.try_with(|spare| {
            if let Ok(mut spare) = spare.try_borrow_mut()
                && spare.len() < MOST
            {
                spare.push(buffer);
            }
        });
    }
}
