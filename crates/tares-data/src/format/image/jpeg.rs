//! Whether a JPEG file is whole. Its decoder fills what is missing with grey and says nothing.

/// True if the bytes reach the mark at which a JPEG picture ends. Other formats check their length themselves.
///
/// ```text
/// FF D8 | FF xx length … | FF DA length … data (FF only before 00 and restart marks) | … | FF D9
/// ```
pub(super) fn is_whole(bytes: &[u8]) -> bool {
    if !bytes.starts_with(&[0xff, 0xd8]) {
        return true;
    }
    let mut at = 2;
    loop {
        // The next mark: in data, FF is followed by 00 or is a restart mark; FF may be repeated.
        let Some(offset) = bytes.get(at..).and_then(|rest| memchr::memchr(0xff, rest)) else {
            return false;
        };
        at += offset + 1;
        match bytes.get(at) {
            None => return false,
            Some(0xd9) => return true,
            Some(0xff) => {}
            Some(0x00 | 0x01 | 0xd0..=0xd8) => at += 1,
            Some(_) => {
                // A segment says its length; what it holds (a thumbnail is a JPEG too) is skipped.
                let Some([high, low]) = bytes.get(at + 1..at + 3) else { return false };
                at += 1 + usize::from(u16::from_be_bytes([*high, *low])).max(2);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_jpeg_that_reaches_its_end_mark_is_whole() {
        let whole = [
            &[0xff, 0xd8][..],
            &[0xff, 0xe1, 0, 6, 0xff, 0xd8, 0xff, 0xd9], // a thumbnail inside a segment
            &[0xff, 0xda, 0, 3, 7],
            &[1, 2, 0xff, 0x00, 3, 0xff, 0xd3, 4], // data with a stuffed FF and a restart mark
            &[0xff, 0xc4, 0, 4, 9, 9, 0xff, 0xda, 0, 2, 5], // a second scan
            &[0xff, 0xd9],
        ]
        .concat();
        assert!(is_whole(&whole));
        assert!(is_whole(&[&whole[..], b"trailing bytes"].concat()));
        for length in 2..whole.len() {
            assert!(!is_whole(&whole[..length]), "{length} bytes");
        }
        assert!(is_whole(b"\x89PNG"));
    }
}
