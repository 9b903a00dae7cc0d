//! Working memory that outlives a call: each thread keeps its buffers, so a training step allocates no new ones.

use crate::cpu::lane::Lane;
use std::cell::RefCell;

type Idle<T> = RefCell<Vec<Vec<T>>>;

thread_local! {
    static FLOATS: Idle<f32> = const { RefCell::new(Vec::new()) };
    static LANES: Idle<Lane> = const { RefCell::new(Vec::new()) };
}

/// Lends a buffer of `len` floats to `work`. It still holds what the last borrower wrote: write before you read.
///
/// Calls may nest; a nested call gets another buffer.
pub(crate) fn floats<R>(len: usize, work: impl FnOnce(&mut [f32]) -> R) -> R {
    let mut buffer = FLOATS.with(|idle| take(idle, len));
    let result = work(&mut buffer[..len]);
    if len > 0 {
        FLOATS.with_borrow_mut(|idle| idle.push(buffer));
    }
    result
}

/// Lends `N` buffers of lanes, like [`floats`].
pub(crate) fn lanes<const N: usize, R>(lens: [usize; N], work: impl FnOnce([&mut [Lane]; N]) -> R) -> R {
    let mut buffers = lens.map(|len| (LANES.with(|idle| take(idle, len)), len));
    let result = work(buffers.each_mut().map(|(buffer, len)| &mut buffer[..*len]));
    let used = buffers.into_iter().map(|(buffer, _)| buffer).filter(|buffer| !buffer.is_empty());
    LANES.with_borrow_mut(|idle| idle.extend(used));
    result
}

/// The smallest idle buffer that is large enough; if there is none, a new one replaces the largest.
fn take<T: Clone + Default>(idle: &Idle<T>, len: usize) -> Vec<T> {
    if len == 0 {
        return Vec::new(); // and leave the others to those who need them
    }
    let mut idle = idle.borrow_mut();
    let fit = (0..idle.len()).filter(|&i| idle[i].len() >= len).min_by_key(|&i| idle[i].len());
    if let Some(i) = fit {
        return idle.swap_remove(i);
    }
    if let Some(largest) = (0..idle.len()).max_by_key(|&i| idle[i].len()) {
        idle.swap_remove(largest);
    }
    vec![T::default(); len]
}

#[cfg(test)]
mod tests {
    #[test]
    fn buffers_are_reused_and_nested_ones_are_distinct() {
        let first = super::floats(100, |a| {
            a.fill(7.0);
            super::floats(100, |b| assert!(!std::ptr::eq(a.as_ptr(), b.as_ptr())));
            a.as_ptr()
        });
        let again = [super::floats(100, |a| a.as_ptr()), super::floats(100, |a| a.as_ptr())];
        assert!(again.contains(&first) || again[0] == again[1]);
    }

    #[test]
    fn lanes_lie_on_cache_lines() {
        super::lanes([3, 5], |[a, b]| {
            assert_eq!((a.len(), b.len()), (3, 5));
            assert_eq!((a.as_ptr() as usize % 64, b.as_ptr() as usize % 64), (0, 0));
        });
    }
}
