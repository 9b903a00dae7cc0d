//! [`FeatureCache`]: features on disk, by the content of the picture, in one folder per network.
//!
//! ```text
//! FOLDER/<digest of network and preparation>/<digest of the keys>.npy    N x D features, 32-bit floats
//!                                            <digest of the keys>.keys   32 bytes: digest of the .npy; then 32 bytes per row
//! ```
//! A pair of files is written every few seconds and never changed. The keys come last, so a pair is complete or ignored;
//! a pair with a wrong digest is computed again. Several programs may write at once: their pairs have different names.

use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tares_data::{PictureDigest, Result, npy, write_file};

/// New features are written after this time, or after this many pictures.
const KEEP_EVERY: Duration = Duration::from_secs(10);
const KEEP_AFTER: usize = 4096;

/// Features that were computed before.
#[derive(Debug)]
pub struct FeatureCache {
    folder: PathBuf,
    width: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Where the features of a picture are.
    places: HashMap<PictureDigest, Place>,
    pairs: Vec<Pair>,
    /// Computed, not written yet.
    fresh: Vec<PictureDigest>,
    features: Vec<f32>,
    kept: Instant,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    /// Pair, row.
    OnDisk(usize, usize),
    Fresh(usize),
}

#[derive(Debug)]
struct Pair {
    path: PathBuf,
    rows: usize,
    digest: [u8; 32],
    /// Read when first needed; `None` after that means a damaged pair.
    features: Option<Option<Vec<f32>>>,
}

impl FeatureCache {
    /// The features that network `name` gave, `width` numbers each, in a folder of its own below `folder`.
    pub fn open(folder: &Path, name: &str, width: usize) -> Self {
        let folder = folder.join(name.get(..32).unwrap_or(name));
        let mut state = State {
            places: HashMap::new(),
            pairs: Vec::new(),
            fresh: Vec::new(),
            features: Vec::new(),
            kept: Instant::now(),
        };
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(&folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.retain(|path| path.extension().is_some_and(|end| end == "keys"));
        files.sort();
        for path in files {
            let Some((digest, keys)) = std::fs::read(&path).ok().and_then(|bytes| {
                let (digest, keys) = bytes.split_first_chunk::<32>().map(|(digest, keys)| (*digest, keys.to_vec()))?;
                Some((digest, keys))
            }) else {
                continue;
            };
            let (rows, rest) = keys.as_chunks::<32>();
            if !rest.is_empty() {
                continue;
            }
            let pair = state.pairs.len();
            state.places.extend(rows.iter().enumerate().map(|(row, key)| (*key, Place::OnDisk(pair, row))));
            state.pairs.push(Pair { path: path.with_extension("npy"), rows: rows.len(), digest, features: None });
        }
        Self { folder, width, state: Mutex::new(state) }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the features of a picture into `out`, if they are stored.
    pub fn find(&self, content: &PictureDigest, out: &mut [f32]) -> bool {
        let mut state = self.state();
        let Some(&place) = state.places.get(content) else { return false };
        let width = self.width;
        let copy = |from: Option<&[f32]>, row: usize, out: &mut [f32]| match from
            .and_then(|all| all.get(row * width..(row + 1) * width))
        {
            Some(features) => {
                out.copy_from_slice(features);
                true
            }
            None => false,
        };
        match place {
            Place::Fresh(row) => copy(Some(&state.features), row, out),
            Place::OnDisk(pair, row) => {
                let pair = &mut state.pairs[pair];
                let (path, rows, digest) = (&pair.path, pair.rows, pair.digest);
                let features = pair.features.get_or_insert_with(|| read(path, rows, width, &digest));
                copy(features.as_deref(), row, out)
            }
        }
    }

    /// Stores the features of a picture in memory, and from time to time on disk.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn remember(&self, content: &PictureDigest, features: &[f32]) -> Result<()> {
        let mut state = self.state();
        let row = state.fresh.len();
        // If another thread had the same picture at the same time, both places hold equal numbers.
        state.places.insert(*content, Place::Fresh(row));
        state.fresh.push(*content);
        state.features.extend_from_slice(features);
        match state.kept.elapsed() >= KEEP_EVERY || state.fresh.len() >= KEEP_AFTER {
            true => self.write(&mut state),
            false => Ok(()),
        }
    }

    /// Writes what is not on disk yet.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn keep(&self) -> Result<()> {
        self.write(&mut self.state())
    }

    fn write(&self, state: &mut State) -> Result<()> {
        state.kept = Instant::now();
        if state.fresh.is_empty() {
            return Ok(());
        }
        std::fs::create_dir_all(&self.folder)
            .map_err(|source| tares_data::DataError::io(&self.folder, "make", source))?;
        let keys: Vec<u8> = state.fresh.concat();
        let values: Vec<u8> = state.features.iter().flat_map(|value| value.to_le_bytes()).collect();
        let bytes = npy::encode("'<f4'", &[state.fresh.len(), self.width], &values);
        let (name, digest) = (hex(&Sha256::digest(&keys)[..16]), <[u8; 32]>::from(Sha256::digest(&bytes)));
        let path = self.folder.join(name).with_extension("npy");
        write_file(&path, |out| out.write_all(&bytes))?;
        write_file(&path.with_extension("keys"), |out| {
            out.write_all(&digest)?;
            out.write_all(&keys)
        })?;
        let pair = state.pairs.len();
        for (row, key) in std::mem::take(&mut state.fresh).into_iter().enumerate() {
            state.places.insert(key, Place::OnDisk(pair, row));
        }
        let (rows, features) = (keys.len() / 32, std::mem::take(&mut state.features));
        state.pairs.push(Pair { path, rows, digest, features: Some(Some(features)) });
        Ok(())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The features of a pair, if the file is unchanged.
fn read(path: &Path, rows: usize, width: usize, digest: &[u8; 32]) -> Option<Vec<f32>> {
    let bytes = std::fs::read(path).ok()?;
    if Sha256::digest(&bytes)[..] != digest[..] {
        return None;
    }
    let start = bytes.len().checked_sub(rows * width * 4)?;
    let (values, _) = bytes[start..].as_chunks::<4>();
    Some(values.iter().map(|value| f32::from_le_bytes(*value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "0123456789abcdef0123456789abcdef0123";

    fn filled(folder: &Path) -> FeatureCache {
        let cache = FeatureCache::open(folder, NAME, 2);
        cache.remember(&[1; 32], &[1.5, -2.0]).unwrap();
        cache.remember(&[2; 32], &[3.0, 4.0]).unwrap();
        cache.keep().unwrap();
        cache
    }

    #[test]
    fn features_come_back_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        filled(folder.path());
        let cache = FeatureCache::open(folder.path(), NAME, 2);
        let mut out = [0.0; 2];
        assert!(cache.find(&[2; 32], &mut out) && out == [3.0, 4.0]);
        assert!(cache.find(&[1; 32], &mut out) && out == [1.5, -2.0]);
        assert!(!cache.find(&[3; 32], &mut out));
        let other = FeatureCache::open(folder.path(), "another network, another folder, other features", 2);
        assert!(!other.find(&[1; 32], &mut out));
    }

    #[test]
    fn a_damaged_file_is_computed_again() {
        let folder = tempfile::tempdir().unwrap();
        let cache = filled(folder.path());
        let files: Vec<PathBuf> =
            std::fs::read_dir(cache.folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
        let features = files.iter().find(|path| path.extension().unwrap() == "npy").unwrap();
        let mut bytes = std::fs::read(features).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(features, &bytes).unwrap();
        let cache = FeatureCache::open(folder.path(), NAME, 2);
        assert!(!cache.find(&[1; 32], &mut [0.0; 2]), "a flipped bit is no feature");
        cache.remember(&[1; 32], &[7.0, 8.0]).unwrap();
        let mut out = [0.0; 2];
        assert!(cache.find(&[1; 32], &mut out) && out == [7.0, 8.0]);
    }
}
