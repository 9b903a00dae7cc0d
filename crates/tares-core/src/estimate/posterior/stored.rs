//! The fitted model as bytes: what a driver sends to its workers, and what may be kept.

use super::Posterior;
use super::judge::Judge;
use super::noise_model::NoiseModel;
use crate::envelope::{Opened, Sealed};
use crate::error::Result;

const KIND: &[u8; 4] = b"nois";
const VERSION: u32 = 2;

impl Posterior {
    /// K.
    pub fn classes(&self) -> usize {
        self.judge.classes()
    }

    /// As bytes, with a version and a checksum: some kilobytes for ten classes, at most a few megabytes for a thousand.
    ///
    /// ```
    /// use tares_core::estimate::{Posterior, ProbabilityMatrix};
    /// let probs = [0.9f32, 0.1, 0.2, 0.8, 0.7, 0.3];
    /// let model = Posterior::fit(&ProbabilityMatrix::new(&probs, 2)?, &[0, 1, 1])?;
    /// let sent = Posterior::from_bytes(&model.to_bytes())?;
    /// assert_eq!(sent.judge(&probs[4..], 1), model.judge(&probs[4..], 1));
    /// assert!(Posterior::from_bytes(&model.to_bytes()[1..]).is_err());
    /// # Ok::<(), tares_core::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Sealed::new(KIND, VERSION);
        out.u64(self.classes() as u64);
        for number in [self.sharpness, self.share, self.cut, self.uniform_rate, self.low, self.high] {
            out.f64(number);
        }
        self.noise.write(&mut out);
        for (sharpness, noise) in &self.ends {
            out.f64(*sharpness);
            noise.write(&mut out);
        }
        out.close()
    }

    /// From the bytes of [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// Other bytes; damaged ones; those of a later version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut from = Opened::new("noise model", KIND, VERSION, bytes)?;
        let classes = from.size()?;
        let mut number = || from.f64();
        let (sharpness, share, cut) = (number()?, number()?, number()?);
        let (uniform_rate, low, high) = (number()?, number()?, number()?);
        let noise = NoiseModel::read(&mut from, classes)?;
        let mut end = || Ok((from.f64()?, NoiseModel::read(&mut from, classes)?));
        let ends = [end()?, end()?];
        // Prototypes are needed unless their share is 0.
        if share != 0.0 && [&noise, &ends[0].1, &ends[1].1].iter().any(|noise| noise.prototypes.is_empty()) {
            return Err(from.bad("a share of prototypes that are not there"));
        }
        from.end()?;
        let judge = Judge::new(noise.columns(), classes, noise.likelihood(share, sharpness));
        Ok(Self { sharpness, noise, judge, share, ends, cut, uniform_rate, low, high })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::ProbabilityMatrix;
    use crate::estimate::posterior::judge::tests::case;

    #[test]
    fn a_model_that_was_sent_judges_as_the_one_that_stayed() {
        for classes in [2, 10, 40, 300] {
            let (probs, given) = case(3000, classes);
            let model = Posterior::fit(&ProbabilityMatrix::new(&probs, classes).unwrap(), &given).unwrap();
            let bytes = model.to_bytes();
            let sent = Posterior::from_bytes(&bytes).unwrap();
            assert_eq!(sent.to_bytes(), bytes);
            for (row, &label) in probs.chunks_exact(classes).zip(&given) {
                assert_eq!(sent.judge(row, label), model.judge(row, label));
            }
            let step = (bytes.len() / 97).max(1);
            for place in (0..bytes.len()).step_by(step) {
                let mut other = bytes.clone();
                other[place] ^= 0x10;
                assert!(Posterior::from_bytes(&other).is_err(), "byte {place}");
            }
        }
    }
}
