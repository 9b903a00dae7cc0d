//! [`Remembered`]: a network whose features are kept on disk, so that no picture is computed twice.

use crate::cache::FeatureCache;
use std::sync::atomic::{AtomicUsize, Ordering};
use tares_data::Picture;
use tares_data::{Describer, PictureDigest};

/// A network that turns a picture into numbers.
pub trait PictureNetwork: Send + Sync {
    /// A digest of the network and of how pictures are prepared for it.
    fn name(&self) -> &str;

    /// Numbers per picture.
    fn width(&self) -> usize;

    /// The numbers of one picture.
    ///
    /// # Errors
    /// The network cannot be run.
    fn features(&self, picture: &Picture, out: &mut [f32]) -> Result<(), String>;
}

/// A network and the features it computed before.
pub struct Remembered<N> {
    network: N,
    cache: Option<FeatureCache>,
    /// Whether to stop: Ctrl-C.
    stop: fn() -> bool,
    computed: AtomicUsize,
}

impl<N: PictureNetwork> Remembered<N> {
    /// Features are looked up in `cache` first, and kept there.
    pub fn new(network: N, cache: Option<FeatureCache>, stop: fn() -> bool) -> Self {
        Self { network, cache, stop, computed: AtomicUsize::new(0) }
    }

    /// The network.
    pub fn network(&self) -> &N {
        &self.network
    }

    /// How many pictures were computed because they were not found on disk.
    pub fn computed(&self) -> usize {
        self.computed.load(Ordering::Relaxed)
    }

    /// Writes what is not on disk yet.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&self) -> tares_data::Result<()> {
        self.cache.as_ref().map_or(Ok(()), FeatureCache::keep)
    }
}

impl<N: PictureNetwork> Describer for Remembered<N> {
    fn name(&self) -> &str {
        self.network.name()
    }

    fn width(&self) -> usize {
        self.network.width()
    }

    fn describe(&self, content: &PictureDigest, picture: &Picture, out: &mut [f32]) -> Result<(), String> {
        if self.cache.as_ref().is_some_and(|cache| cache.find(content, out)) {
            return Ok(());
        }
        if (self.stop)() {
            return Err("stopped".into());
        }
        self.network.features(picture, out)?;
        self.computed.fetch_add(1, Ordering::Relaxed);
        match &self.cache {
            Some(cache) => cache.remember(content, out).map_err(|error| error.to_string()),
            None => Ok(()),
        }
    }
}
