//! How a long computation reports its progress, and how its caller stops it.

use crate::error::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};

/// The progress of a judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JudgeProgress {
    /// The judge, by name.
    pub judge: &'static str,
    /// Steps done.
    pub done: usize,
    /// Steps there are at most. A judge that stops early jumps to the end.
    pub total: usize,
}

/// The caller's side: a callback for progress and a flag that stops the computation with [`Error::Interrupted`].
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    /// Called after every step, on the thread that took it.
    pub progress: &'a (dyn Fn(JudgeProgress) + Sync),
    /// Checked between steps.
    pub interrupt: &'a AtomicBool,
}

static NEVER: AtomicBool = AtomicBool::new(false);

impl Caller<'static> {
    /// Nobody watches and nobody interrupts.
    pub fn none() -> Self {
        Self { progress: &|_| {}, interrupt: &NEVER }
    }
}

impl Caller<'_> {
    pub(crate) fn report(&self, judge: &'static str, done: usize, total: usize) {
        (self.progress)(JudgeProgress { judge, done, total });
    }

    pub(crate) fn go_on(&self) -> Result<()> {
        if self.interrupt.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }
}
