//! Files of a folder, of a pattern such as `probs/*.parquet`, or named one by one.

use crate::error::{DataError, Place, Result};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The files that `named` stands for, in order: a file is itself, a folder its tables (`.parquet`, also in folders below it; names that begin
/// with `_` or `.` are left out, as Spark and Hive do), a pattern the files that fit it. `*` and `?` stand for any characters, or one, of a name,
/// `**` for any number of folders, also none.
///
/// # Errors
/// A file, folder or pattern that stands for nothing; a folder that cannot be read.
pub fn find_tables(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for name in named {
        let before = found.len();
        if name.is_dir() {
            collect(name, &mut found)?;
            if found.len() == before {
                return Err(DataError::format(name, Place::File, "holds no file that ends with .parquet"));
            }
        } else if name.exists() || !is_pattern(name) {
            found.push(name.clone());
        } else {
            expand(name, &mut found)?;
            if found.len() == before {
                return Err(DataError::format(name, Place::File, "no file has a name of this pattern"));
            }
        }
    }
    Ok(found)
}

/// Whether a name holds `*` or `?`.
pub fn is_pattern(name: &Path) -> bool {
    name.to_string_lossy().contains(['*', '?'])
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = fs::read_dir(folder).map_err(|source| DataError::io(folder, "read", source))?;
    let mut paths: Vec<PathBuf> = read.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for path in entries(folder)? {
        let name = name_of(&path);
        if name.starts_with(['_', '.']) {
            continue;
        }
        if path.is_dir() {
            collect(&path, found)?;
        } else if name.to_lowercase().ends_with(".parquet") {
            found.push(path);
        }
    }
    Ok(())
}

/// Goes down the parts of a pattern.
fn expand(pattern: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let mut places = vec![PathBuf::new()];
    for part in pattern.components() {
        let text = part.as_os_str().to_string_lossy();
        if !text.contains(['*', '?']) {
            places.iter_mut().for_each(|place| place.push(part));
            continue;
        }
        let mut next = Vec::new();
        if text == "**" {
            places.iter().try_for_each(|place| below(place, &mut next))?;
            places = next;
            continue;
        }
        for place in places {
            let folder = if place.as_os_str().is_empty() { Path::new(".") } else { &place };
            if folder.is_dir() {
                let fits = |path: &PathBuf| !name_of(path).starts_with('.') && fits(&text, &name_of(path));
                next.extend(entries(folder)?.iter().filter(|path| fits(path)).map(|path| place.join(name_of(path))));
            }
        }
        places = next;
    }
    let (mut all, mut seen) = (Vec::new(), HashSet::new());
    for place in places.into_iter().filter(|place| place.exists()) {
        match place.is_dir() {
            true => collect(&place, &mut all)?,
            false => all.push(place),
        }
    }
    // `**` stands for a folder and for those below it, which lead to the same files.
    found.extend(all.into_iter().filter(|file| seen.insert(file.clone())));
    Ok(())
}

/// A folder and all below it.
fn below(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    found.push(folder.to_owned());
    let at = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if !at.is_dir() {
        return Ok(());
    }
    let is_open = |path: &&PathBuf| path.is_dir() && !name_of(path).starts_with(['_', '.']);
    entries(at)?.iter().filter(is_open).try_for_each(|path| below(&folder.join(name_of(path)), found))
}

/// Whether a name fits a pattern.
fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    // Where to go on after a star that took one character more.
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&c) if c == '?' || c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    (p, n) = (at + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_shells() {
        for (pattern, name, wanted) in [
            ("*.parquet", "part-1.parquet", true),
            ("*.parquet", "part-1.csv", false),
            ("part-?.p*t", "part-1.parquet", true),
            ("part-?.p*t", "part-10.parquet", false),
            ("*a*b", "xaxxbxb", true),
            ("*", "", true),
        ] {
            assert_eq!(fits(pattern, name), wanted, "{pattern} {name}");
        }
    }

    #[test]
    fn folders_and_patterns_stand_for_their_files() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        for folder in ["day=1", "day=2", "_temporary"] {
            fs::create_dir(at(folder)).unwrap();
        }
        for name in ["day=2/b.parquet", "day=1/a.parquet", "day=1/_SUCCESS", "_temporary/c.parquet", "notes.txt"] {
            fs::write(at(name), "").unwrap();
        }
        let both = [at("day=1/a.parquet"), at("day=2/b.parquet")];
        assert_eq!(find_tables(&[place.path().to_owned()]).unwrap(), both);
        assert_eq!(find_tables(&[at("day=*/*.parquet")]).unwrap(), both);
        assert_eq!(find_tables(&[at("**/*.parquet")]).unwrap(), both);
        assert_eq!(find_tables(&[at("**/day=2/**/b.parquet")]).unwrap(), both[1..]);
        assert_eq!(find_tables(&[at("**")]).unwrap(), both);
        assert_eq!(find_tables(&[at("day=2"), at("day=1/a.parquet")]).unwrap(), [&both[1], &both[0]].map(Clone::clone));
        assert!(find_tables(&[at("day=3*")]).unwrap_err().to_string().contains("no file has a name of this pattern"));
        assert!(find_tables(&[at("_temporary")]).is_ok());
    }
}
