//! Class folders with other labels: every picture goes into the folder of its new class, everything else stays where it was.
//!
//! The new folder is built beside its place and renamed at the end, so it is whole or not there. It may replace the result of
//! an earlier run, which it recognises by its list of files, but nothing else.

use crate::error::{DataError, Place, Result};
use crate::format::folder;
use crate::io::{Tree, TreeFile, atomic};
use crate::load::Loaded;
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use tares_core::{Dataset, Label};

/// The file that lists what was written, as a JSON array of paths. Hidden, so that readers of class folders pass over it.
const LIST: &str = ".tares-written.json";

/// Writes the pictures of `root` (a folder or an archive) into class folders below `out`, with the given labels of `data`.
pub(crate) fn relabel(loaded: &Loaded, data: &Dataset, root: &Path, tiny: bool, out: &Path) -> Result<Vec<PathBuf>> {
    refuse_overlap(root, out)?;
    refuse_foreign_files(out)?;
    // The folder behind a link is replaced, not the link.
    let place = fs::canonicalize(out).unwrap_or_else(|_| out.to_owned());
    let mut tree = Tree::open(root, folder::wanted)?;
    tree.strip_top();
    let moves = Moves::of(loaded, data, tiny).map_err(|problem| DataError::format(root, Place::File, problem))?;
    let places = moves.places(&tree);
    let list: Vec<&String> = places.iter().map(|(_, to)| to).collect();
    let list = serde_json::to_vec(&list).map_err(|error| DataError::io(out, "list", io::Error::other(error)))?;
    atomic::write_folder(&place, |folder| {
        places.par_iter().try_for_each(|(file, to)| file.copy_into(folder, to))?;
        folder.write(LIST, &list)
    })?;
    Ok(places.into_iter().map(|(_, to)| out.join(to)).collect())
}

/// Which files get another class folder.
struct Moves {
    /// Path of a picture → the name of its new class folder.
    folders: HashMap<String, String>,
    /// Which part of a path, counted from 0, is the class folder: 1 below `train/`.
    class_at: usize,
}

impl Moves {
    fn of(loaded: &Loaded, data: &Dataset, tiny: bool) -> std::result::Result<Self, String> {
        let train = &loaded.train;
        let names = train.class_names();
        let part = |id: &str, at: usize| id.split('/').nth(at).map(str::to_owned);
        // Tiny-ImageNet's folders are numbers, everybody else's are the names of the classes.
        let is_class = |at: usize| {
            (0..train.len())
                .all(|index| part(&train.id(index), at).as_ref() == Some(&names[train.given()[index] as usize]))
        };
        let class_at = usize::from(tiny || !is_class(0));
        let mut folders_of: HashMap<Label, String> = HashMap::new();
        let mut before: HashMap<String, Label> = HashMap::new();
        for index in 0..train.len() {
            let (id, label) = (train.id(index), train.given()[index]);
            folders_of.entry(label).or_insert_with(|| part(&id, class_at).unwrap_or_default());
            before.insert(id, label);
        }
        let mut folders = HashMap::new();
        for index in 0..data.len() {
            let (id, label) = (data.id(index), data.given()[index]);
            match before.get(&id) {
                None => return Err(format!("has no picture \"{id}\"")),
                Some(old) if *old == label => {}
                Some(_) => {
                    let name = &names[label as usize];
                    let folder = match folders_of.get(&label) {
                        Some(folder) => folder.clone(),
                        None if tiny => return Err(format!("has no folder for class \"{name}\"")),
                        None => name.clone(),
                    };
                    folders.insert(id, folder);
                }
            }
        }
        Ok(Self { folders, class_at })
    }

    /// Where every file goes. Those that stay keep their names; one that moves to where its name is taken gets a number.
    fn places<'a>(&self, tree: &'a Tree) -> Vec<(&'a TreeFile, String)> {
        let stays = |file: &&TreeFile| !self.folders.contains_key(&file.path);
        let mut taken: HashSet<String> = tree.files.iter().filter(stays).map(|file| file.path.clone()).collect();
        let place = |file: &TreeFile, taken: &mut HashSet<String>| {
            let Some(folder) = self.folders.get(&file.path) else { return file.path.clone() };
            let mut parts: Vec<&str> = file.path.split('/').collect();
            parts[self.class_at] = folder;
            let name = parts.pop().unwrap_or_default();
            let around = parts.join("/");
            let mut to = format!("{around}/{name}");
            let mut number = 1;
            while !taken.insert(to.clone()) {
                number += 1;
                to = format!("{around}/{number}-{name}");
            }
            to
        };
        tree.files.iter().map(|file| (file, place(file, &mut taken))).collect()
    }
}

/// The copy must lie apart from the data: inside, it would be read as one more class; around, it would replace the data.
fn refuse_overlap(root: &Path, out: &Path) -> Result<()> {
    let failed = |source| DataError::io(out, "find", source);
    let (data, copy) = (real(root).map_err(failed)?, real(out).map_err(failed)?);
    let problem = match (copy.starts_with(&data), data.starts_with(&copy)) {
        (true, true) => "is the data itself",
        (true, false) => "lies inside the data",
        // An archive may be beside its copy; the next check is whether something would be lost.
        (false, true) if root.is_dir() => "holds the data",
        // A shell working in that folder would be left in a deleted one.
        _ if real(Path::new(".")).is_ok_and(|here| here.starts_with(&copy)) => "is where you are",
        _ => return Ok(()),
    };
    Err(DataError::format(out, Place::File, format!("{problem}: write into another folder")))
}

/// The path without links and dots, also if its last parts are not there yet.
fn real(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let known = path.ancestors().find_map(|known| Some((fs::canonicalize(known).ok()?, known)));
    let Some((mut real, known)) = known else { return Ok(path) };
    for part in path.strip_prefix(known).unwrap_or(Path::new("")).components() {
        match part {
            Component::ParentDir => _ = real.pop(),
            part => real.push(part),
        }
    }
    Ok(real)
}

/// An old folder may be replaced if it is empty, or if an earlier run wrote every file in it.
fn refuse_foreign_files(out: &Path) -> Result<()> {
    let failed = |source| DataError::io(out, "read", source);
    match fs::metadata(out) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
        Ok(metadata) if !metadata.is_dir() => {
            return Err(DataError::format(out, Place::File, "is a file, but a folder is to be written"));
        }
        Ok(_) => {}
    }
    let list = fs::read(out.join(LIST)).unwrap_or_default();
    let written: HashSet<PathBuf> = serde_json::from_slice(&list).unwrap_or_default();
    let mut folders = vec![out.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = entry.path();
            let below = path.strip_prefix(out).unwrap_or(&path);
            if entry.file_type().map_err(failed)?.is_dir() {
                folders.push(path);
            } else if below != Path::new(LIST) && !written.contains(below) {
                let problem = format!(
                    "holds {}, which this command did not write: choose a new folder, or empty this one",
                    below.display()
                );
                return Err(DataError::format(out, Place::File, problem));
            }
        }
    }
    Ok(())
}
