//! NPY: one NumPy array in a file. Numbers of every width, either byte order, C or Fortran order; text; plain or gzipped.
//!
//! ```text
//! 93 'NUMPY' major minor | length of the header (2 or 4 bytes) | {'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), } | elements
//! ```
//! [`read`] takes a whole array into memory; [`Stored`] reads rows as they are asked for.
//!
//! Written by hand: the crates for NPY read whole arrays, and one header line needs no grammar engine.

mod array;
mod convert;
mod encode;
mod header;
mod stored;

pub use array::{Array, from_bytes, read};
pub use convert::FromNumber;
pub(crate) use encode::element;
pub use encode::{encode, write_labels};
pub use header::{ElementKind, Header};
pub(crate) use header::{header_bytes, read_header};
pub use stored::Stored;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::io::Input;

    fn array(bytes: Vec<u8>) -> Result<Array> {
        read(Input::from_bytes("x.npy", bytes).unwrap())
    }

    #[test]
    fn rows_and_columns_stay_in_order_in_both_orders() {
        let values: Vec<u8> = [1.5f32, 2.0, 3.0, 4.0, 5.0, -6.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let c = array(encode("'<f4'", &[2, 3], &values)).unwrap();
        assert_eq!(c.numbers::<f64>().unwrap(), [1.5, 2.0, 3.0, 4.0, 5.0, -6.0]);
        // np.asfortranarray(np.arange(24).reshape(2, 3, 4)): element [1, 2, 3] is the last byte in both orders.
        let mut fortran = encode("'|u1'", &[2, 3, 4], &(0..24).collect::<Vec<u8>>());
        let text = String::from_utf8_lossy(&fortran[10..128]).replace("False", "True ");
        fortran[10..128].copy_from_slice(text.as_bytes());
        let numbers = array(fortran).unwrap().numbers::<f32>().unwrap();
        // In Fortran order, element [i, j, k] is stored at i + 2 j + 6 k.
        let expected: Vec<f32> =
            (0..2).flat_map(|i| (0..3).flat_map(move |j| (0..4).map(move |k| (i + 2 * j + 6 * k) as f32))).collect();
        assert_eq!(numbers, expected);
    }

    #[test]
    fn every_width_sign_and_byte_order_is_read() {
        let cases: [(&str, Vec<u8>, f64); 10] = [
            ("'|i1'", vec![0xff], -1.0),
            ("'<i2'", (-2i16).to_le_bytes().to_vec(), -2.0),
            ("'>i2'", (-2i16).to_be_bytes().to_vec(), -2.0),
            ("'>i8'", (-3i64).to_be_bytes().to_vec(), -3.0),
            ("'<u4'", 4_000_000_000u32.to_le_bytes().to_vec(), 4e9),
            ("'<u8'", 7u64.to_le_bytes().to_vec(), 7.0),
            ("'<f2'", half::f16::from_f32(0.5).to_le_bytes().to_vec(), 0.5),
            ("'>f8'", 2.25f64.to_be_bytes().to_vec(), 2.25),
            ("'>f4'", 2.25f32.to_be_bytes().to_vec(), 2.25),
            ("'|b1'", vec![1], 1.0),
        ];
        for (descr, bytes, value) in cases {
            assert_eq!(array(encode(descr, &[1], &bytes)).unwrap().numbers::<f64>().unwrap(), [value], "{descr}");
        }
    }

    #[test]
    fn text_and_large_integers_are_exact() {
        let text: Vec<u8> = "cat\0é\0\0\0".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
        assert_eq!(array(encode("'<U4'", &[2], &text)).unwrap().texts().unwrap(), ["cat", "é"]);
        assert_eq!(array(encode("'|S3'", &[2], b"ab\0cde")).unwrap().texts().unwrap(), ["ab", "cde"]);
        let large = array(encode("'<i8'", &[1], &i64::MAX.to_le_bytes())).unwrap();
        assert_eq!(large.texts().unwrap(), ["9223372036854775807"]);
    }

    #[test]
    fn a_stored_array_gives_any_block_of_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.npy");
        let values: Vec<f32> = (0..30).map(|i| i as f32 / 4.0).collect();
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        std::fs::write(&path, encode("'<f4'", &[10, 3], &bytes)).unwrap();
        let stored = Stored::open(&path).unwrap();
        assert_eq!((stored.rows(), stored.columns()), (10, 3));
        let mut block = [0f64; 6];
        stored.read_rows(4, &mut block).unwrap();
        assert_eq!(block.to_vec(), values[12..18].iter().map(|&v| f64::from(v)).collect::<Vec<_>>());
        assert!(stored.read_rows(9, &mut block).is_err());
        let mut narrow = [0f32; 6];
        stored.read_rows(4, &mut narrow).unwrap();
        assert_eq!(narrow, values[12..18]);
        // The same array in Fortran order.
        let columns: Vec<u8> = (0..30).flat_map(|i| values[i % 10 * 3 + i / 10].to_le_bytes()).collect();
        let mut fortran = encode("'<f4'", &[10, 3], &columns);
        let text = String::from_utf8_lossy(&fortran[10..128]).replace("False", "True ");
        fortran[10..128].copy_from_slice(text.as_bytes());
        std::fs::write(&path, fortran).unwrap();
        let mut again = [0f32; 6];
        Stored::open(&path).unwrap().read_rows(4, &mut again).unwrap();
        assert_eq!(again, narrow);
        std::fs::write(&path, &encode("'<f4'", &[10, 3], &bytes)[..200]).unwrap();
        assert_eq!(
            Stored::open(&path).unwrap_err().to_string(),
            format!("{}: should have 248 bytes by its header, has 200", path.display())
        );
    }

    #[test]
    fn labels_must_be_whole_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("y.npy");
        std::fs::write(&path, encode("'<f8'", &[2], &[3.0f64, 1.5].map(f64::to_le_bytes).concat())).unwrap();
        let mut labels = [0; 2];
        let error = Stored::open(&path).unwrap().read_labels(0, &mut labels).unwrap_err().to_string();
        assert!(error.ends_with("row 1: label must be a whole number from 0 on, got 1.5"), "{error}");
        for (value, wanted) in [(3i32, Ok([7, 3])), (-2, Err("row 1: label must be a whole number from 0 on, got -2"))]
        {
            std::fs::write(&path, encode("'<i4'", &[2], &[7i32, value].map(i32::to_le_bytes).concat())).unwrap();
            let result = Stored::open(&path).unwrap().read_labels(0, &mut labels);
            match wanted {
                Ok(wanted) => assert_eq!((result.is_ok(), labels), (true, wanted)),
                Err(said) => assert!(result.unwrap_err().to_string().ends_with(said)),
            }
        }
    }

    #[test]
    fn says_what_is_wrong_with_a_bad_file() {
        let cases: [(Vec<u8>, &str); 6] = [
            (b"\x93NUMP".to_vec(), "x.npy: ends inside its NPY header (is it cut off?)"),
            (b"not numpy at all".to_vec(), "x.npy: byte 0: is no NPY file"),
            (b"\x93NUMPY\x09\0ab".to_vec(), "x.npy: byte 6: NPY version must be 1, 2 or 3, got 9"),
            (
                encode("'|O'", &[1], &[]),
                "x.npy: byte 10: NPY elements must be numbers or text, got '|O' (Python objects: save numbers or text instead)",
            ),
            (encode("'<f4'", &[2], &[0; 4]), "x.npy: the array should take 8 bytes, got 4 (is the file cut off?)"),
            (
                encode("'<f8'", &[1 << 40, 1 << 40], &[]),
                "x.npy: byte 10: NPY shape [1099511627776, 1099511627776] is more than a computer holds",
            ),
        ];
        for (bytes, message) in cases {
            assert_eq!(array(bytes).unwrap_err().to_string(), message);
        }
    }
}
