#![no_main]
use libfuzzer_sys::fuzz_target;
use tares_data::from_bytes::Reader;

fuzz_target!(|bytes: &[u8]| {
    let _ = Reader::Jsonl.rows(bytes.to_vec());
});
