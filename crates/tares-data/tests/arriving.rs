//! Pictures that are decoded after reading has returned: the same rows, and the same refusals.

use image::{DynamicImage, ImageFormat, RgbImage};
use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;
use tares_core::Dataset;
use tares_data::{LoadOptions, Loaded, ReadProgress, Stage, load};

/// A picture that no other number gives.
fn picture(number: u32, height: u32, width: u32, grey: bool, format: ImageFormat) -> Vec<u8> {
    let shade = |x: u32, y: u32| [(20 * number + 7 * x) as u8, (3 * y + number) as u8, (x * y) as u8];
    let image = DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, |x, y| image::Rgb(shade(x, y))));
    let image = if grey { image.to_luma8().into() } else { image };
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

/// Class folders of `names` with ten pictures each. `grey`: those that are.
fn folder(root: &Path, names: &[&str], size: impl Fn(u32) -> (u32, u32), grey: impl Fn(u32) -> bool) {
    let formats = [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Pnm];
    for (class, name) in names.iter().enumerate() {
        fs::create_dir_all(root.join(name)).unwrap();
        for i in 0..10 {
            let number = 10 * class as u32 + i;
            let (height, width) = size(number);
            let format = formats[i as usize % 3];
            let bytes = picture(number, height, width, grey(number), format);
            fs::write(root.join(name).join(format!("{i}.{}", format.extensions_str()[0])), bytes).unwrap();
        }
    }
}

fn read(path: &Path, change: impl FnOnce(&mut LoadOptions)) -> Loaded {
    load(path.to_str().unwrap(), &LoadOptions::default().with(change), &mut |_| {}).unwrap()
}

fn arriving(options: &mut LoadOptions) {
    options.arriving = true;
}

fn same(path: &Path, change: fn(&mut LoadOptions)) -> Loaded {
    let before = read(path, change);
    let after = read(path, |options| {
        change(options);
        arriving(options);
    });
    assert_eq!((before.train.coming().1, before.found.clone()), (0, after.found.clone()));
    assert!(after.train.coming().1 >= after.train.len(), "these rows do arrive");
    assert_eq!(before.train, after.train);
    assert_eq!(before.test, after.test);
    assert_eq!(before.unlabelled, after.unlabelled);
    assert_eq!(after.train.coming().0, 0);
    after
}

#[test]
fn folders_give_the_same_rows_whatever_their_pictures() {
    let place = tempfile::tempdir().unwrap();
    let root = |name: &str| place.path().join(name);
    folder(&root("colour"), &["cat", "dog"], |_| (9, 7), |_| false);
    assert_eq!(same(&root("colour"), |_| {}).train.shape().size(), 3 * 9 * 7);
    folder(&root("grey"), &["cat", "dog"], |_| (9, 7), |_| true);
    assert_eq!(same(&root("grey"), |_| {}).train.shape().size(), 9 * 7);
    folder(&root("mixed"), &["cat", "dog"], |number| (5 + number, 40), |number| number < 18);
    assert_eq!(same(&root("mixed"), |_| {}).train.shape().size(), 3 * 64 * 64);
    same(&root("mixed"), |options| options.image_size = Some((6, 11)));
    same(&root("mixed"), |options| options.test_fraction = 0.0);
    // A test part of its own: one with colours makes all rows coloured.
    folder(&root("parts/train"), &["cat", "dog"], |_| (9, 7), |_| true);
    folder(&root("parts/test"), &["cat", "dog"], |_| (9, 7), |number| number != 12);
    let parts = same(&root("parts"), |_| {});
    assert_eq!((parts.train.shape().size(), parts.test.unwrap().len()), (3 * 9 * 7, 20));
}

#[test]
fn pictures_of_another_place_match_the_training_pictures() {
    let place = tempfile::tempdir().unwrap();
    let root = |name: &str| place.path().join(name);
    folder(&root("grey"), &["cat", "dog"], |_| (9, 7), |_| true);
    folder(&root("colour"), &["cat", "dog"], |_| (20, 30), |number| number % 2 == 0);
    let test = |train: &str, test: &str, arrives: bool| {
        read(&root(train), |options| {
            options.test = Some(root(test));
            options.arriving = arrives;
        })
    };
    for (one, other) in [("grey", "colour"), ("colour", "grey")] {
        let (before, after) = (test(one, other, false), test(one, other, true));
        assert_eq!((before.train, before.test), (after.train, after.test), "{one}");
    }
}

#[test]
fn archives_and_lists_arrive_too() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path();
    folder(&root.join("photos"), &["cat", "dog"], |_| (9, 7), |_| false);
    let mut zip = zip::ZipWriter::new(fs::File::create(root.join("photos.zip")).unwrap());
    let mut list = String::from("file,label\n");
    for class in ["cat", "dog"] {
        for entry in fs::read_dir(root.join("photos").join(class)).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{class}/{}", path.file_name().unwrap().to_str().unwrap());
            zip.start_file(name.as_str(), zip::write::SimpleFileOptions::default()).unwrap();
            zip.write_all(&fs::read(&path).unwrap()).unwrap();
            list += &format!("photos/{name},{}\n", if name.contains("/3") { "" } else { class });
        }
    }
    zip.finish().unwrap();
    fs::write(root.join("list.csv"), list).unwrap();
    assert_eq!(same(&root.join("photos.zip"), |_| {}).train, read(&root.join("photos"), |_| {}).train);
    assert_eq!(same(&root.join("list.csv"), |_| {}).unlabelled.unwrap().len(), 2);
}

fn refused(data: &Dataset) -> String {
    data.arrived().unwrap_err().to_string()
}

#[test]
fn damaged_pictures_are_all_named_at_once_or_when_they_should_have_arrived() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("photos");
    folder(&root.join("train"), &["cat", "dog"], |_| (90, 70), |_| false);
    folder(&root.join("test"), &["cat", "dog"], |_| (90, 70), |_| false);
    let cut = |path: &str| {
        let bytes = fs::read(root.join(path)).unwrap();
        fs::write(root.join(path), &bytes[..bytes.len() / 2]).unwrap();
    };
    let first = |change: fn(&mut LoadOptions)| {
        let options = LoadOptions::default().with(change);
        load(root.to_str().unwrap(), &options, &mut |_| {})
            .map(|loaded| loaded.train)
            .map_err(|error| error.to_string())
    };
    // Their headers are fine.
    ["train/dog/3.png", "train/cat/0.png", "test/cat/9.png"].iter().for_each(|path| cut(path));
    let before = first(|_| {}).unwrap_err();
    let after = read(&root, arriving);
    assert_eq!(refused(&after.train), before);
    assert_eq!(refused(&after.test.unwrap()), before, "both parts are one folder");
    assert!(before.contains("3 unreadable file(s); --skip-unreadable leaves them out"), "{before}");
    // Every row must be known before training if some may be left out.
    let skipped = read(&root, |options| (options.arriving, options.skip_unreadable) = (true, true));
    assert_eq!((skipped.train.coming().1, skipped.train.len(), skipped.found.skipped.len()), (0, 18, 3));
    // These are seen by a look at the files.
    cut("train/cat/1.jpg");
    fs::write(root.join("test/dog/0.png"), "no picture").unwrap();
    let error = first(arriving).unwrap_err();
    assert!(error.contains("2 unreadable file(s)"), "{error}");
    assert!(error.contains("train/cat/1.jpg: is a JPEG without its end"), "{error}");
    assert!(error.contains("test/dog/0.png: is not a picture"), "{error}");
}

#[test]
fn a_look_at_the_files_is_progress() {
    let place = tempfile::tempdir().unwrap();
    folder(place.path(), &["cat", "dog"], |_| (9, 7), |_| false);
    let mut heard = Vec::new();
    let options = LoadOptions::default().with(arriving);
    load(place.path().to_str().unwrap(), &options, &mut |progress: ReadProgress| heard.push(progress)).unwrap();
    let last = heard.last().unwrap();
    assert_eq!((last.stage, last.done, last.total), (Stage::Look, 20, Some(20)));
}
