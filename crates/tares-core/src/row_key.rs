//! [`row_key`]: sixty-four bits that depend on a row's id and a seed alone.
//!
//! Which rows a model is fitted to must not depend on where they lie, so that a cluster with any number of partitions draws the
//! rows that one machine draws. The hash is XXH64 with seed 42 of the text `seed:id`: what Spark's `xxhash64(concat(seed, ':', id))`
//! computes inside its own engine, so that rows which are not drawn never leave it.

const PRIMES: [u64; 5] =
    [0x9e37_79b1_85eb_ca87, 0xc2b2_ae3d_27d4_eb4f, 0x1656_67b1_9e37_79f9, 0x85eb_ca77_c2b2_ae63, 0x27d4_eb2f_1656_67c5];
/// The seed that Spark gives its hash.
const SPARKS_SEED: u64 = 42;

/// The key of the row called `id`. Rows are drawn if the upper 53 bits, as a number in [0, 1), are below a chance.
///
/// ```
/// use tares_core::row_key;
/// assert_eq!(row_key(0, "row 7"), row_key(0, "row 7"));
/// assert_ne!(row_key(0, "row 7"), row_key(1, "row 7"));
/// ```
pub fn row_key(seed: u64, id: &str) -> u64 {
    RowKeys::new(seed).of(id)
}

/// The keys of many rows with one seed.
pub(crate) struct RowKeys {
    /// `seed:`, and room for the id.
    text: [u8; SHORT],
    length: usize,
}

/// Texts up to this length are put together without taking memory for each.
const SHORT: usize = 64;

impl RowKeys {
    pub(crate) fn new(seed: u64) -> Self {
        let (prefix, mut text) = (format!("{seed}:"), [0; SHORT]);
        text[..prefix.len()].copy_from_slice(prefix.as_bytes());
        Self { text, length: prefix.len() }
    }

    pub(crate) fn of(&self, id: &str) -> u64 {
        let (mut text, length) = (self.text, self.length + id.len());
        match text.get_mut(self.length..length) {
            Some(place) => {
                place.copy_from_slice(id.as_bytes());
                xxh64(&text[..length], SPARKS_SEED)
            }
            None => xxh64(&[&self.text[..self.length], id.as_bytes()].concat(), SPARKS_SEED),
        }
    }
}

/// The upper 53 bits as a number in [0, 1).
pub(crate) fn unit(key: u64) -> f64 {
    (key >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// XXH64, as published with its test vectors at <https://xxhash.com>.
fn xxh64(bytes: &[u8], seed: u64) -> u64 {
    let round = |lane: u64, input: u64| {
        lane.wrapping_add(input.wrapping_mul(PRIMES[1])).rotate_left(31).wrapping_mul(PRIMES[0])
    };
    let (stripes, rest) = bytes.as_chunks::<32>();
    let mut hash = match stripes {
        [] => seed.wrapping_add(PRIMES[4]),
        _ => {
            let mut lanes = [
                seed.wrapping_add(PRIMES[0]).wrapping_add(PRIMES[1]),
                seed.wrapping_add(PRIMES[1]),
                seed,
                seed.wrapping_sub(PRIMES[0]),
            ];
            for stripe in stripes {
                let (words, _) = stripe.as_chunks::<8>();
                lanes.iter_mut().zip(words).for_each(|(lane, word)| *lane = round(*lane, u64::from_le_bytes(*word)));
            }
            let turns = [1, 7, 12, 18];
            let joined =
                lanes.iter().zip(turns).fold(0u64, |sum, (lane, turn)| sum.wrapping_add(lane.rotate_left(turn)));
            lanes
                .iter()
                .fold(joined, |hash, &lane| (hash ^ round(0, lane)).wrapping_mul(PRIMES[0]).wrapping_add(PRIMES[3]))
        }
    };
    hash = hash.wrapping_add(bytes.len() as u64);
    let (words, rest) = rest.as_chunks::<8>();
    for word in words {
        hash = (hash ^ round(0, u64::from_le_bytes(*word))).rotate_left(27);
        hash = hash.wrapping_mul(PRIMES[0]).wrapping_add(PRIMES[3]);
    }
    let (halves, rest) = rest.as_chunks::<4>();
    for half in halves {
        hash = (hash ^ u64::from(u32::from_le_bytes(*half)).wrapping_mul(PRIMES[0])).rotate_left(23);
        hash = hash.wrapping_mul(PRIMES[1]).wrapping_add(PRIMES[2]);
    }
    for &byte in rest {
        hash = (hash ^ u64::from(byte).wrapping_mul(PRIMES[4])).rotate_left(11).wrapping_mul(PRIMES[0]);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(PRIMES[1]);
    hash = (hash ^ (hash >> 29)).wrapping_mul(PRIMES[2]);
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The empty input is published; the others are from Spark 4: `SELECT hex(xxhash64('…'))`, whose seed is 42.
    #[test]
    fn the_hash_is_the_published_one_and_sparks() {
        assert_eq!(xxh64(b"", 0), 0xef46_db37_51d8_e999);
        assert_eq!(xxh64(b"a", 0), 0xd24e_c4f1_a98c_6e5b);
        assert_eq!(xxh64(b"abc", 0), 0x44bc_2cf5_ad77_0999);
    }

    #[test]
    fn a_key_is_the_hash_of_seed_and_id_however_long() {
        for length in [0, 1, 30, 61, 62, 63, 64, 65, 200] {
            let id = "x".repeat(length);
            assert_eq!(row_key(7, &id), xxh64(format!("7:{id}").as_bytes(), SPARKS_SEED), "{length}");
        }
    }

    #[test]
    fn keys_are_spread_evenly() {
        let drawn = (0..100_000).filter(|id: &u32| unit(row_key(3, &id.to_string())) < 0.1).count();
        // Six standard deviations of a binomial(100000, 0.1) are 570.
        assert!(drawn.abs_diff(10_000) < 570, "{drawn}");
    }
}
