//! A small file never takes much memory because it unpacks to a large one.

#![cfg(target_os = "linux")]

mod program;

use std::fs::{self, File};
use std::io::{Read, Write, copy, repeat};
use std::path::Path;
use zip::write::SimpleFileOptions;

const MEGABYTE: u64 = 1 << 20;

fn zip_of(path: &Path) -> zip::ZipWriter<File> {
    zip::ZipWriter::new(File::create(path).unwrap())
}

/// Exit code and peak megabytes of `tares data inspect`.
fn inspect(data: &Path) -> (Option<i32>, u64) {
    let (code, kilobytes) = program::peak(program::command(&["data", "inspect", data.to_str().unwrap(), "--quiet"]));
    (code, kilobytes >> 10)
}

#[test]
fn members_of_an_archive_that_are_no_pictures_are_not_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("photos.zip");
    // One member of 256 MB of zeros, then the same packed bytes under other names: 4 GB in 4 MB.
    let one = folder.path().join("one.zip");
    let mut zip = zip_of(&one);
    zip.start_file("readme.txt", SimpleFileOptions::default()).unwrap();
    copy(&mut repeat(0).take(256 * MEGABYTE), &mut zip).unwrap();
    zip.finish().unwrap();
    let mut packed = zip::ZipArchive::new(File::open(&one).unwrap()).unwrap();
    let mut zip = zip_of(&path);
    for number in 0..16 {
        zip.raw_copy_file_rename(packed.by_index_raw(0).unwrap(), format!("cat/{number}.txt")).unwrap();
    }
    for name in ["cat/1.png", "cat/2.png", "dog/1.png", "dog/2.png"] {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(&program::picture(7)).unwrap();
    }
    zip.finish().unwrap();
    assert!(fs::metadata(&path).unwrap().len() < 5 * MEGABYTE);
    let (code, peak) = inspect(&path);
    assert_eq!(code, Some(0));
    assert!(peak < 200, "{peak} MB");
    // The same members called pictures are refused, with the way out.
    let bomb = folder.path().join("bomb.zip");
    let mut zip = zip_of(&bomb);
    for number in 0..16 {
        zip.raw_copy_file_rename(packed.by_index_raw(0).unwrap(), format!("cat/{number}.png")).unwrap();
    }
    zip.finish().unwrap();
    let (code, peak) = inspect(&bomb);
    assert_eq!(code, Some(2));
    assert!(peak < 200, "{peak} MB");
    let error = program::tares(&["data", "inspect", bomb.to_str().unwrap()]).fails(2);
    assert!(error.contains("bomb.zip: unpacks to 4.0 GiB or more"), "{error}");
    assert!(error.contains("set TARES_MOST_UNPACKED="), "{error}");
}

#[test]
fn an_array_that_unpacks_to_gigabytes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bomb.npz");
    let mut zip = zip_of(&path);
    for (name, descr, shape, bytes) in
        [("x", "'|u1'", vec![4 << 20, 512], 2048 * MEGABYTE), ("y", "'|u1'", vec![4 << 20], 4 * MEGABYTE)]
    {
        zip.start_file(format!("{name}.npy"), SimpleFileOptions::default().large_file(true)).unwrap();
        zip.write_all(&tares_data::npy::encode(descr, &shape, &[])).unwrap();
        copy(&mut repeat(0).take(bytes), &mut zip).unwrap();
    }
    zip.finish().unwrap();
    assert!(fs::metadata(&path).unwrap().len() < 3 * MEGABYTE);
    let (code, peak) = inspect(&path);
    assert_eq!(code, Some(2));
    assert!(peak < 200, "{peak} MB");
    let error = program::tares(&["data", "inspect", path.to_str().unwrap()]).fails(2);
    assert!(error.contains("bomb.npz: unpacks to") && error.contains("TARES_MOST_UNPACKED"), "{error}");
}

#[test]
fn the_limit_can_be_set_and_a_wrong_setting_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("photos.zip");
    let mut zip = zip_of(&path);
    for name in ["cat/1.png", "cat/2.png", "dog/1.png", "dog/2.png"] {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(&program::picture(7)).unwrap();
    }
    zip.finish().unwrap();
    let with = |setting: &str| {
        let mut command = program::command(&["data", "inspect", path.to_str().unwrap()]);
        command.env("TARES_MOST_UNPACKED", setting);
        program::ran(command)
    };
    with("1M").success();
    assert!(with("100").fails(2).contains("unpacks to"));
    assert!(with("plenty").fails(2).contains("TARES_MOST_UNPACKED must be a number of bytes like 500M or 8G"));
}
