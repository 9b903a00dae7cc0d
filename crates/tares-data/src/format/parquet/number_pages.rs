//! [`NumberPages`]: the numbers of one column of a row group, unpacked page by page as they are read.
//!
//! It knows the pages that writers leave for columns of numbers: plain or with a dictionary, of the first version, as they are or packed
//! with Snappy. Everything else is read by Parquet's own reader, several times slower.

use super::ParquetFile;
use super::hybrid::{Hybrid, PADDING};
use super::leaf::Leaf;
use super::pages::{PageHead, each_page};
use super::spare;
use crate::error::{DataError, Result};
use parquet::basic::Compression;
use parquet::file::reader::ChunkReader;
use std::io::Read;
use std::marker::PhantomData;

/// A number as plain pages hold it, least significant byte first.
pub(super) trait Plain: Copy + Default {
    const SIZE: usize;
    /// From `SIZE` bytes.
    fn of(bytes: &[u8]) -> Self;
    /// Number `place` of those that stand one after the other.
    fn at(bytes: &[u8], place: u32) -> Option<Self>;
}

macro_rules! plain {
    ($($kind:ty)*) => { $(impl Plain for $kind {
        const SIZE: usize = size_of::<Self>();
        #[inline(always)]
        fn of(bytes: &[u8]) -> Self {
            Self::from_le_bytes(bytes.first_chunk().copied().unwrap_or_default())
        }
        #[inline(always)]
        fn at(bytes: &[u8], place: u32) -> Option<Self> {
            bytes.as_chunks().0.get(place as usize).map(|bytes| Self::from_le_bytes(*bytes))
        }
    })* };
}
plain!(f32 f64 i32 i64);

/// As Parquet numbers them.
const DATA: i64 = 0;
const INDEX: i64 = 1;
const DICTIONARY: i64 = 2;
const PLAIN: i64 = 0;
const PLAIN_DICTIONARY: i64 = 2;
const RLE: i64 = 3;
const RLE_DICTIONARY: i64 = 8;

/// Numbers that are looked up in a dictionary at a time.
const BATCH: usize = 256;

/// A place in a column of a row group.
pub(super) struct NumberPages<T> {
    snappy: bool,
    /// The definition level of a number that is there.
    defined: u32,
    dictionary: Option<PageHead>,
    pages: Vec<PageHead>,
    /// The entries of the dictionary, once they were needed.
    entries: Vec<u8>,
    /// The page after the one at hand.
    next: usize,
    /// The rows of the page at hand that were not read.
    left: usize,
    /// The page at hand, unpacked, and [`PADDING`].
    page: Vec<u8>,
    content: Content,
    /// Definition levels, if numbers are missing in the page at hand.
    levels: Option<Hybrid>,
    number: PhantomData<T>,
}

#[derive(Clone, Copy)]
enum Content {
    /// Numbers from this byte on.
    Plain(usize),
    /// Places in the dictionary.
    Places(Hybrid),
}

impl<T: Plain> NumberPages<T> {
    /// At the first row of a group; `None` if Parquet's own reader must read it.
    ///
    /// # Errors
    /// Headers that cannot be.
    pub(super) fn open<R: ChunkReader + 'static>(
        file: &ParquetFile<R>,
        group: usize,
        leaf: &Leaf,
    ) -> Result<Option<Self>> {
        let chunk = file.chunk(group, leaf)?;
        let snappy = match chunk.compression() {
            Compression::UNCOMPRESSED => false,
            Compression::SNAPPY => true,
            _ => return Ok(None),
        };
        let Ok(defined) = u32::try_from(leaf.defined()) else { return Ok(None) };
        let (mut dictionary, mut pages, mut known) = (None, Vec::new(), !leaf.repeated());
        each_page(file.bytes(), chunk, |head| match head.kind {
            DICTIONARY => {
                known &= pages.is_empty() && dictionary.is_none();
                known &= matches!(head.encoding, PLAIN | PLAIN_DICTIONARY);
                dictionary = Some(head);
            }
            DATA => {
                known &= matches!(head.encoding, PLAIN | PLAIN_DICTIONARY | RLE_DICTIONARY);
                known &= defined == 0 || head.level_encoding == RLE;
                pages.push(head);
            }
            INDEX => {}
            _ => known = false,
        })
        .map_err(|problem| file.bad(leaf, problem))?;
        if !known {
            return Ok(None);
        }
        let (entries, page, content) = (Vec::new(), spare::take(), Content::Plain(0));
        let (levels, number) = (None, PhantomData);
        Ok(Some(Self { snappy, defined, dictionary, pages, entries, next: 0, left: 0, page, content, levels, number }))
    }

    /// Leaves out rows. Pages of which no row is read are not unpacked.
    ///
    /// # Errors
    /// Damaged pages; fewer rows.
    pub(super) fn skip<R: ChunkReader + 'static>(
        &mut self,
        file: &ParquetFile<R>,
        leaf: &Leaf,
        mut count: usize,
    ) -> Result<()> {
        while count > self.left {
            count -= self.left;
            self.left = 0;
            let Some(head) = self.pages.get(self.next) else { return Err(too_short(file, leaf)) };
            if head.values > count {
                self.unpack(file, leaf)?;
            } else {
                (self.left, self.next) = (head.values, self.next + 1);
            }
        }
        // A page that was passed over is left whole.
        if count < self.left {
            self.pass(count).ok_or_else(|| damaged(file, leaf))?;
        }
        self.left -= count;
        Ok(())
    }

    /// Leaves out numbers of the page at hand.
    fn pass(&mut self, count: usize) -> Option<()> {
        let mut there = count;
        if let Some(levels) = &mut self.levels {
            let mut batch = [0; BATCH];
            for first in (0..count).step_by(BATCH) {
                let batch = &mut batch[..BATCH.min(count - first)];
                levels.read(&self.page, batch)?;
                there -= batch.iter().filter(|level| **level != self.defined).count();
            }
        }
        match &mut self.content {
            Content::Plain(at) => *at += there * T::SIZE,
            Content::Places(hybrid) => hybrid.skip(&self.page, there)?,
        }
        Some(())
    }

    /// The next numbers, `put` into every `step`-th cell of `out`, from the first on; `None` where there is none.
    ///
    /// # Errors
    /// Damaged pages; fewer rows.
    pub(super) fn read<R: ChunkReader + 'static, N>(
        &mut self,
        file: &ParquetFile<R>,
        leaf: &Leaf,
        out: &mut [N],
        step: usize,
        put: impl Fn(Option<T>) -> N,
    ) -> Result<()> {
        let mut rest = out;
        while !rest.is_empty() {
            while self.left == 0 {
                self.unpack(file, leaf)?;
            }
            let most = rest.len().div_ceil(step).min(self.left);
            let count = match step {
                // Cells that follow each other are filled several at a time.
                1 => self.take(most, rest.iter_mut(), &put),
                _ => self.take(most, rest.iter_mut().step_by(step), &put),
            };
            let count = count.ok_or_else(|| damaged(file, leaf))?;
            self.left -= count;
            rest = rest.get_mut(count * step..).unwrap_or_default();
        }
        Ok(())
    }

    /// Puts at most `most` numbers of the page at hand into `cells` and says how many.
    #[inline(always)]
    fn take<'a, N: 'a>(
        &mut self,
        most: usize,
        cells: impl Iterator<Item = &'a mut N>,
        put: impl Fn(Option<T>) -> N,
    ) -> Option<usize> {
        if self.levels.is_some() {
            return self.take_some(most.min(BATCH), cells, put);
        }
        let mut batch = [0; BATCH];
        match &mut self.content {
            Content::Plain(at) => {
                let numbers = self.page.get(*at..*at + most * T::SIZE)?.chunks_exact(T::SIZE);
                cells.zip(numbers).for_each(|(cell, bytes)| *cell = put(Some(T::of(bytes))));
                *at += most * T::SIZE;
                Some(most)
            }
            Content::Places(hybrid) => {
                let places = &mut batch[..most.min(BATCH)];
                hybrid.read(&self.page, places)?;
                for (cell, &place) in cells.zip(&*places) {
                    *cell = put(Some(T::at(&self.entries, place)?));
                }
                Some(places.len())
            }
        }
    }

    /// The same for a page in which numbers are missing: those that are there are read first, then each is put into its place. Two
    /// simple loops take less time than one that decides at every number.
    fn take_some<'a, N: 'a>(
        &mut self,
        most: usize,
        cells: impl Iterator<Item = &'a mut N>,
        put: impl Fn(Option<T>) -> N,
    ) -> Option<usize> {
        let mut levels = [0; BATCH];
        let levels = &mut levels[..most];
        self.levels.as_mut()?.read(&self.page, levels)?;
        let there = levels.iter().filter(|level| **level == self.defined).count();
        let mut numbers = [T::default(); BATCH];
        match &mut self.content {
            Content::Plain(at) => {
                let bytes = self.page.get(*at..*at + there * T::SIZE)?.chunks_exact(T::SIZE);
                numbers.iter_mut().zip(bytes).for_each(|(number, bytes)| *number = T::of(bytes));
                *at += there * T::SIZE;
            }
            Content::Places(hybrid) => {
                let mut places = [0; BATCH];
                let places = &mut places[..there];
                hybrid.read(&self.page, places)?;
                for (number, &place) in numbers.iter_mut().zip(&*places) {
                    *number = T::at(&self.entries, place)?;
                }
            }
        }
        let mut next = 0;
        for (cell, level) in cells.zip(&*levels) {
            let number = numbers[next % BATCH];
            let is_there = *level == self.defined;
            *cell = put(is_there.then_some(number));
            next += usize::from(is_there);
        }
        Some(most)
    }

    /// Unpacks the next page.
    fn unpack<R: ChunkReader + 'static>(&mut self, file: &ParquetFile<R>, leaf: &Leaf) -> Result<()> {
        let head = *self.pages.get(self.next).ok_or_else(|| too_short(file, leaf))?;
        if head.encoding != PLAIN && self.entries.is_empty() {
            let head = self.dictionary.ok_or_else(|| damaged(file, leaf))?;
            self.entries = spare::take();
            fill(file, leaf, &head, self.snappy, &mut self.entries)?;
            // What follows the dictionary is no entry.
            self.entries.truncate(head.unpacked.min(head.values.saturating_mul(T::SIZE)));
        }
        fill(file, leaf, &head, self.snappy, &mut self.page)?;
        self.next += 1;
        self.left = head.values;
        self.content = self.begin(&head).ok_or_else(|| damaged(file, leaf))?;
        Ok(())
    }

    /// Where the numbers of the page at hand begin; `None` if the page is damaged.
    fn begin(&mut self, head: &PageHead) -> Option<Content> {
        let page = &self.page[..head.unpacked];
        let mut at = 0;
        self.levels = None;
        if self.defined > 0 {
            let length = u32::from_le_bytes(*page.first_chunk()?) as usize;
            at = 4usize.checked_add(length).filter(|&at| at <= page.len())?;
            let levels = Hybrid::new(u32::BITS - self.defined.leading_zeros(), 4, at)?;
            // Almost always nothing is missing, and all levels are one run.
            let complete = levels.same(page, head.values) == Some(self.defined);
            self.levels = (!complete).then_some(levels);
        }
        match head.encoding {
            PLAIN => Some(Content::Plain(at)),
            // Without any number there may be no byte that says how many bits a place has.
            _ if at == page.len() => Some(Content::Places(Hybrid::new(0, at, at)?)),
            _ => Some(Content::Places(Hybrid::new(u32::from(page[at]), at + 1, page.len())?)),
        }
    }
}

impl<T> Drop for NumberPages<T> {
    fn drop(&mut self) {
        spare::put_back(std::mem::take(&mut self.page));
        spare::put_back(std::mem::take(&mut self.entries));
    }
}

/// Unpacks a page, and [`PADDING`] behind it.
fn fill<R: ChunkReader + 'static>(
    file: &ParquetFile<R>,
    leaf: &Leaf,
    head: &PageHead,
    snappy: bool,
    page: &mut Vec<u8>,
) -> Result<()> {
    let bad = |problem: String| file.bad(leaf, format!("page at byte {} {problem}", head.start));
    spare::make_room(page, head.unpacked + PADDING);
    let page = &mut page[..head.unpacked];
    let mut bytes = file.bytes().get_read(head.start).map_err(|error| bad(error.to_string()))?;
    let mut read = |into: &mut [u8]| bytes.read_exact(into).map_err(|error| bad(error.to_string()));
    let filled = match snappy {
        false if head.packed == page.len() => {
            read(page)?;
            page.len()
        }
        false => head.packed,
        true => {
            let mut packed = spare::take();
            spare::make_room(&mut packed, head.packed);
            read(&mut packed)?;
            let filled = snap::raw::Decoder::new().decompress(&packed, page).map_err(|error| bad(error.to_string()))?;
            spare::put_back(packed);
            filled
        }
    };
    if filled != head.unpacked {
        return Err(bad(format!("has {filled} bytes, not {}", head.unpacked)));
    }
    Ok(())
}

fn damaged<R: ChunkReader + 'static>(file: &ParquetFile<R>, leaf: &Leaf) -> DataError {
    file.bad(leaf, "cannot be read as Parquet: its pages are damaged".into())
}

fn too_short<R: ChunkReader + 'static>(file: &ParquetFile<R>, leaf: &Leaf) -> DataError {
    file.bad(leaf, "has fewer rows than its row group".into())
}
