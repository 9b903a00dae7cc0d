//! Pictures inside Parquet: a column of encoded pictures and a column of labels, as Hugging Face stores them.

use crate::error::{DataError, Place, Result};
use crate::format::parquet::{Leaf, ParquetFile, hugging_face_classes, name_levels, stacked};
use crate::io::TreeFile;
use crate::table::columns::label_position;
use crate::table::labels::LabelColumn;
use parquet::basic::Type;
use parquet::file::reader::ChunkReader;
use std::path::PathBuf;

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
pub(crate) struct PictureSplit {
    pub files: Vec<TreeFile>,
    pub labels: Option<LabelColumn>,
    /// All classes, if the files name them.
    pub names: Option<Vec<String>>,
}

impl PictureSplit {
    /// Reads the pictures of files, one after the other.
    pub fn read(paths: &[PathBuf], label: Option<&str>, label_needed: bool) -> Result<Self> {
        let mut files = Vec::new();
        let mut labels = Vec::new();
        let mut label_name = String::new();
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
            let leaves: Vec<Leaf> = file.leaves().into_iter().filter(Leaf::is_cell).collect();
            let columns: Vec<&str> = leaves.iter().map(|leaf| leaf.name.as_str()).collect();
            let fine = ["fine_label"].iter().find(|name| columns.contains(name)).copied();
            let leaf = match label_position(&columns, label.or(fine), true) {
                Ok(position) => leaves[position].clone(),
                Err(error) if label_needed => return Err(DataError::content(path, error)),
                Err(_) => continue,
            };
            names = names.or_else(|| hugging_face_classes(&file.key_value("huggingface")?, &leaf.name));
            label_name.clone_from(&leaf.name);
            let table = file.table_with(std::slice::from_ref(&leaf), &[&leaf.name])?;
            labels.push(table);
        }
        if files.is_empty() {
            return Err(DataError::format(&paths[0], Place::File, "has no rows"));
        }
        let labels = stacked(labels).map(|mut table| {
            let (codes, levels) = table.columns.remove(0).values.into_text();
            let mut labels = LabelColumn::of(label_name, codes, levels);
            // Numbers become names, so that files with and without metadata agree.
            name_levels(&mut labels.levels, names.as_deref());
            labels
        });
        if let Some(column) = &labels
            && column.codes.len() != files.len()
        {
            let problem = format!("{} labels for {} pictures", column.codes.len(), files.len());
            return Err(DataError::format(&paths[0], Place::File, problem));
        }
        Ok(Self { files, labels, names })
    }
}
