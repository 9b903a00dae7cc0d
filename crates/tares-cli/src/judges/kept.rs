//! The answer of a finished judge on disk, so that a resumed audit does not train this judge again.
//!
//! The file begins with one line of JSON that names the judge, its settings and its data (the "question"). The
//! log-probabilities follow as 64-bit numbers, so that reading returns exactly the bits that were written.

use crate::files::write_whole;
use crate::ui::failure::{Failure, Outcome};
use serde::{Deserialize, Serialize};
use std::path::Path;
use tares_core::Fingerprint;
use tares_judges::{JudgeAnswer, Setting};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    question: String,
    judge: String,
    setting: Option<Setting>,
    seconds: f64,
    numbers: usize,
    fingerprint: String,
}

/// Writes an answer to `question`.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, question: &str, answer: &JudgeAnswer) -> Outcome<()> {
    let head = Head {
        question: question.to_owned(),
        judge: answer.judge.clone(),
        setting: answer.setting,
        seconds: answer.seconds,
        numbers: answer.log_probs.len(),
        fingerprint: fingerprint(&answer.log_probs),
    };
    let mut bytes = serde_json::to_vec(&head).map_err(Failure::new)?;
    bytes.push(b'\n');
    bytes.extend(answer.log_probs.iter().flat_map(|number| number.to_le_bytes()));
    write_whole(path, &bytes)
}

/// Reads the stored answer, if there is one.
///
/// # Errors
/// It cannot be read, is damaged, or answers another question.
pub fn read(path: &Path, question: &str) -> Outcome<Option<JudgeAnswer>> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::file(path, "read", &error)),
    };
    let again = "repeat the earlier command, or start again: `audit` without --resume, `train` with --overwrite";
    let refused = |problem: String| Failure::new(format!("{}: {problem}", path.display())).way_out(again);
    let damaged = || refused("is damaged".to_owned());
    let end = bytes.iter().position(|&byte| byte == b'\n').ok_or_else(damaged)?;
    let head: Head = serde_json::from_slice(&bytes[..end]).map_err(|_| damaged())?;
    if head.question != question {
        let problem =
            format!("belongs to another run: its settings are \"{}\", those of this run \"{question}\"", head.question);
        return Err(refused(problem));
    }
    let (numbers, rest) = bytes[end + 1..].as_chunks::<8>();
    let log_probs: Vec<f64> = numbers.iter().map(|number| f64::from_le_bytes(*number)).collect();
    if !rest.is_empty() || log_probs.len() != head.numbers || fingerprint(&log_probs) != head.fingerprint {
        return Err(damaged());
    }
    Ok(Some(JudgeAnswer { judge: head.judge, log_probs, setting: head.setting, seconds: head.seconds }))
}

fn fingerprint(numbers: &[f64]) -> String {
    let print = numbers.iter().fold(Fingerprint::default(), |print, number| print.with(number.to_bits()));
    format!("{:016x}", print.value())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_survives_its_file_and_a_damaged_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("judge-trees.bin");
        assert_eq!(read(&path, "trees").unwrap(), None);
        let answer = JudgeAnswer {
            judge: "trees".into(),
            log_probs: vec![-0.1, -2.3, -1.0 / 3.0, -1e-300],
            setting: Some(Setting::Trees { rounds: 57, leaves: 31 }),
            seconds: 1.5,
        };
        write(&path, "trees", &answer).unwrap();
        assert_eq!(read(&path, "trees").unwrap(), Some(answer));
        assert!(read(&path, "trees of other rows").unwrap_err().to_string().contains("belongs to another run"));
        let bytes = std::fs::read(&path).unwrap();
        for damage in [&bytes[..bytes.len() - 1], &bytes[..10], &[bytes.as_slice(), &[0; 8]].concat()] {
            std::fs::write(&path, damage).unwrap();
            assert!(read(&path, "trees").unwrap_err().to_string().contains("is damaged"));
        }
    }
}
