//! Pictures inside Parquet: a column of encoded pictures and a column of labels, as Hugging Face stores them.

use crate::error::{DataError, Place, Result};
use crate::format::folder;
use crate::format::parquet::{Leaf, ParquetFile, hugging_face_classes};
use crate::image::rows::Parts;
use crate::io::TreeFile;
use crate::load::{LoadOptions, Progress};
use crate::table::columns::{classes, label_position};
use parquet::basic::Type;
use parquet::file::reader::ChunkReader;
use std::path::PathBuf;
use tares_core::{Label, Shape};

/// The column of encoded pictures and the one with their file names: `image.bytes` and `image.path`, or one called `image`.
pub(crate) fn picture_columns<R: ChunkReader + 'static>(file: &ParquetFile<R>) -> Option<(Leaf, Option<Leaf>)> {
    let leaves = file.leaves();
    let named = |name: &str| leaves.iter().find(|leaf| leaf.name == name).cloned();
    let bytes = |leaf: &&Leaf| {
        let pictures = leaf.name.ends_with(".bytes") || ["image", "img", "picture"].contains(&leaf.name.as_str());
        leaf.kind == Type::BYTE_ARRAY && !leaf.text && pictures
    };
    let bytes = leaves.iter().find(bytes)?.clone();
    let path = bytes.name.strip_suffix(".bytes").and_then(|structure| named(&format!("{structure}.path")));
    Some((bytes, path))
}

/// Pictures of one split.
struct Split {
    files: Vec<TreeFile>,
    /// Codes and levels of the labels.
    labels: Option<(Vec<u32>, Vec<String>)>,
    /// All classes, if the files name them.
    names: Option<Vec<String>>,
}

/// Reads pictures and labels of Parquet files.
pub(crate) fn read(
    train: &[PathBuf],
    test: &[PathBuf],
    options: &LoadOptions,
    like: Option<Shape>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Parts> {
    let root = &train[0];
    let train = read_split(train, options, like.is_none())?;
    let test = if test.is_empty() { None } else { Some(read_split(test, options, true)?) };
    let Some((codes, levels)) = &train.labels else {
        let plan = folder::Plan {
            train: train.files.iter().map(|file| (file, 0)).collect(),
            test: Vec::new(),
            class_names: Vec::new(),
            labelled: false,
            notes: Vec::new(),
        };
        return folder::decode(plan, root, Vec::new(), options, like, progress);
    };
    let class_names = train.names.clone().unwrap_or_else(|| classes(codes, levels));
    let labelled = |split: &Split| -> Result<Vec<Label>> {
        let (codes, levels) =
            split.labels.as_ref().ok_or_else(|| DataError::format(root, Place::File, "has no labels"))?;
        let table = crate::table::columns::Table {
            path: root.clone(),
            columns: Vec::new(),
            rows: codes.len(),
            first_line: None,
        };
        table.labels(codes, levels, &class_names)
    };
    let train_labels = labelled(&train)?;
    let test_labels = test.as_ref().map(labelled).transpose()?;
    let plan = folder::Plan {
        train: train.files.iter().zip(train_labels).collect(),
        test: test.iter().flat_map(|test| &test.files).zip(test_labels.unwrap_or_default()).collect(),
        class_names,
        labelled: true,
        notes: Vec::new(),
    };
    folder::decode(plan, root, Vec::new(), options, like, progress)
}

fn read_split(paths: &[PathBuf], options: &LoadOptions, label_needed: bool) -> Result<Split> {
    let mut files = Vec::new();
    let mut labels: Option<crate::table::columns::Table> = None;
    let mut names = None;
    for path in paths {
        let file = ParquetFile::open(path)?;
        let Some((bytes, path_column)) = picture_columns(&file) else {
            return Err(DataError::format(path, Place::File, "has no column of pictures"));
        };
        let start = files.len();
        file.for_each_bytes(&bytes, &mut |_, cell| {
            let id = format!("row {}", files.len());
            files.push(TreeFile::in_memory(id, cell.unwrap_or_default().to_vec()));
            Ok(())
        })?;
        if let Some(path_column) = path_column {
            file.for_each_bytes(&path_column, &mut |row, cell| {
                if let (Some(name), Some(file)) = (cell, files.get_mut(start + row as usize))
                    && !name.is_empty()
                {
                    file.path = String::from_utf8_lossy(name).into_owned();
                }
                Ok(())
            })?;
        }
        let leaves: Vec<Leaf> = file.leaves().into_iter().filter(|leaf| leaf.is_number() || leaf.text).collect();
        let columns: Vec<&str> = leaves.iter().map(|leaf| leaf.name.as_str()).collect();
        let fine = ["fine_label"].iter().find(|name| columns.contains(name)).copied();
        let leaf = match label_position(&columns, options.label.as_deref().or(fine), true) {
            Ok(position) => leaves[position].clone(),
            Err(error) if label_needed => return Err(DataError::content(path, error)),
            Err(_) => continue,
        };
        names = names.or_else(|| hugging_face_classes(&file.key_value("huggingface")?, &leaf.name));
        let table = file.table(&[leaf])?;
        labels = Some(match labels {
            Some(before) => before.append(table),
            None => table,
        });
    }
    if files.is_empty() {
        return Err(DataError::format(&paths[0], Place::File, "has no rows"));
    }
    let labels = labels.map(|mut table| table.columns.remove(0).values.into_text());
    let labels = match (labels, &names) {
        // Numbers become names, so that files with and without metadata agree.
        (Some((codes, levels)), Some(names)) => {
            let name = |level: &String| names.get(level.parse::<usize>().ok()?).cloned();
            let named: Option<Vec<String>> = levels.iter().map(name).collect();
            Some((codes, named.unwrap_or(levels)))
        }
        (labels, _) => labels,
    };
    if let Some((codes, _)) = &labels
        && codes.len() != files.len()
    {
        let problem = format!("{} labels for {} pictures", codes.len(), files.len());
        return Err(DataError::format(&paths[0], Place::File, problem));
    }
    Ok(Split { files, labels, names })
}
