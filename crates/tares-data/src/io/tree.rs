//! A tree of files: a folder, or a `.tar`, `.tar.gz` or `.zip` archive. Nothing outside it is ever read: members and links
//! that point elsewhere are refused and listed. Of an archive only the wanted members are unpacked, and no more of them than
//! [`super::unpack`] allows.

use crate::error::{DataError, Place, Result};
use crate::io::Input;
use crate::io::atomic::NewFolder;
use crate::io::unpack::Budget;
use std::collections::HashSet;
use std::fs;
use std::io::Cursor;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Folders inside folders, at most.
const MOST_DEPTH: usize = 16;

/// The files below a root, sorted by path.
#[derive(Debug)]
pub(crate) struct Tree {
    pub root: PathBuf,
    pub files: Vec<TreeFile>,
    /// Members that may not be read, and why.
    pub refused: Vec<(PathBuf, String)>,
}

/// One file: its path below the root, with `/` between the parts. Clones share the bytes of a file in memory.
#[derive(Clone, Debug)]
pub(crate) struct TreeFile {
    pub path: String,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    OnDisk(PathBuf),
    InMemory(Arc<Vec<u8>>),
}

impl TreeFile {
    /// A file that is in memory already.
    pub fn in_memory(path: String, bytes: Vec<u8>) -> Self {
        Self { path, content: Content::InMemory(Arc::new(bytes)) }
    }

    /// A file that a list names.
    pub fn listed(name: &str, place: PathBuf) -> Self {
        Self { path: name.to_owned(), content: Content::OnDisk(place) }
    }

    /// Whether there is such a file.
    pub fn is_there(&self) -> bool {
        match &self.content {
            Content::OnDisk(path) => path.is_file(),
            Content::InMemory(_) => true,
        }
    }

    /// A file of its own.
    pub fn on_disk(path: &Path) -> Self {
        Self { path: path.display().to_string(), content: Content::OnDisk(path.into()) }
    }

    pub fn read(&self) -> std::result::Result<std::borrow::Cow<'_, [u8]>, String> {
        match &self.content {
            Content::OnDisk(path) => Ok(fs::read(path).map_err(|error| error.to_string())?.into()),
            Content::InMemory(bytes) => Ok(bytes.as_slice().into()),
        }
    }

    /// Copies it into a folder, byte for byte.
    pub fn copy_into(&self, folder: &NewFolder<'_>, name: &str) -> Result<()> {
        match &self.content {
            Content::OnDisk(from) => folder.copy(from, name),
            Content::InMemory(bytes) => folder.write(name, bytes),
        }
    }
}

/// Which files of a tree are of interest, by their path below the root.
pub(crate) type Wanted = fn(&str) -> bool;

impl Tree {
    /// Lists a folder or reads an archive.
    pub fn open(path: &Path, wanted: Wanted) -> Result<Self> {
        let mut tree = if path.is_dir() {
            let mut tree = Self { root: path.into(), files: Vec::new(), refused: Vec::new() };
            let root = fs::canonicalize(path).map_err(|source| DataError::io(path, "open", source))?;
            let mut seen = HashSet::from([root.clone()]);
            tree.walk(path, &root, "", wanted, &mut seen)?;
            tree
        } else {
            Self::archive(Input::open(path)?, wanted)?
        };
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    /// Reads an archive: zip or tar, told by content.
    pub fn archive(mut input: Input, wanted: Wanted) -> Result<Self> {
        let mut tree = Self { root: input.path().to_owned(), files: Vec::new(), refused: Vec::new() };
        if input.peek()?.starts_with(b"PK") {
            tree.unzip(input, wanted)?
        } else {
            tree.untar(input, wanted)?
        }
        Ok(tree)
    }

    fn walk(
        &mut self,
        folder: &Path,
        root: &Path,
        prefix: &str,
        wanted: Wanted,
        seen: &mut HashSet<PathBuf>,
    ) -> Result<()> {
        let failed = |source| DataError::io(folder, "list", source);
        for entry in fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
                self.refused.push((entry.path(), "its name is not UTF-8".into()));
                continue;
            };
            if name.starts_with('.') {
                continue;
            }
            let path = entry.path();
            let below = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
            // Follows links: what counts is where the path ends.
            let target = match fs::canonicalize(&path) {
                Ok(target) => target,
                Err(error) => {
                    self.refused.push((path, error.to_string()));
                    continue;
                }
            };
            if !target.starts_with(root) {
                self.refused.push((path, format!("is a link that leaves the folder, to {}", target.display())));
            } else if target.is_dir() {
                if below.split('/').count() > MOST_DEPTH {
                    self.refused.push((path, format!("lies more than {MOST_DEPTH} folders deep")));
                } else if seen.insert(target) {
                    self.walk(&path, root, &below, wanted, seen)?;
                } else {
                    self.refused.push((path, "is a link to a folder that is read already".into()));
                }
            } else if wanted(&below) {
                // Opening a pipe would wait until another process writes into it.
                match target.is_file() {
                    true => self.files.push(TreeFile { path: below, content: Content::OnDisk(path) }),
                    false => self.refused.push((path, "is a pipe, a socket or a device, not a file".into())),
                }
            }
        }
        Ok(())
    }

    fn untar(&mut self, input: Input, wanted: Wanted) -> Result<()> {
        let root = self.root.clone();
        let failed = |source| DataError::decode(&root, Place::File, "cannot be read as a tar archive", source);
        let mut budget = Budget::new(&root, input.packed())?;
        let mut archive = tar::Archive::new(input);
        for entry in archive.entries().map_err(failed)? {
            let mut entry = entry.map_err(failed)?;
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let kind = entry.header().entry_type();
            if kind.is_dir() || kind.is_pax_global_extensions() || kind.is_pax_local_extensions() {
                continue;
            }
            match inside(&name) {
                Err(why) => self.refused.push((name.into(), why)),
                Ok(path) if !wanted(&path) => {}
                Ok(_) if !(kind.is_file() || kind.is_contiguous() || kind.is_gnu_sparse()) => {
                    self.refused.push((name.into(), "is a link or a device, not a file".into()));
                }
                Ok(path) => {
                    let size = entry.size();
                    let bytes = budget.read(&mut entry, size)?.map_err(failed)?;
                    self.files.push(TreeFile { path, content: Content::InMemory(Arc::new(bytes)) });
                }
            }
        }
        Ok(())
    }

    fn unzip(&mut self, mut input: Input, wanted: Wanted) -> Result<()> {
        let root = self.root.clone();
        let failed = |error| DataError::decode(&root, Place::File, "cannot be read as a zip archive", error);
        let mut budget = Budget::new(&root, input.packed())?;
        let bytes = input.rest(u64::MAX - 1)?;
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(failed)?;
        let mut members = Vec::new();
        for index in 0..archive.len() {
            let entry = archive.by_index_raw(index).map_err(failed)?;
            let name = entry.name().map_err(failed)?.into_owned();
            match inside(&name) {
                _ if entry.is_dir() => {}
                Err(why) => self.refused.push((name.into(), why)),
                Ok(path) if !wanted(&path) => {}
                Ok(_) if entry.is_symlink() => self.refused.push((name.into(), "is a link, not a file".into())),
                Ok(path) => members.push((index, path, entry.size())),
            }
        }
        // The whole claim first: a trap is refused before anything is unpacked.
        budget.allow(members.iter().fold(0, |sum, (_, _, size)| sum.saturating_add(*size)))?;
        for (index, path, size) in members {
            match budget.read(archive.by_index(index).map_err(failed)?, size)? {
                Ok(bytes) => self.files.push(TreeFile { path, content: Content::InMemory(Arc::new(bytes)) }),
                Err(error) => self.refused.push((path.into(), error.to_string())),
            }
        }
        Ok(())
    }

    /// Takes away a folder that all files are in, as archives have one, unless it holds nothing but files: then it is a class.
    pub fn strip_top(&mut self) {
        let Some((top, _)) = self.files.first().and_then(|file| file.path.split_once('/')) else { return };
        let top = format!("{top}/");
        let deeper = self.files.iter().any(|file| file.path.get(top.len()..).is_some_and(|below| below.contains('/')));
        if deeper && self.files.iter().all(|file| file.path.starts_with(&top)) {
            self.files.iter_mut().for_each(|file| file.path.drain(..top.len()).for_each(drop));
        }
    }

    /// The file at a path below the root.
    pub fn file(&self, path: &str) -> Option<&TreeFile> {
        self.files.iter().find(|file| file.path == path)
    }
}

/// The path of an archive member with `/` between its parts, if it stays inside.
fn inside(name: &str) -> std::result::Result<String, String> {
    let mut parts = Vec::new();
    for component in Path::new(name).components() {
        match component {
            Component::Normal(part) => parts.push(part.to_string_lossy()),
            Component::CurDir => {}
            _ => return Err("points outside the archive".into()),
        }
    }
    if parts.is_empty() || name.contains('\\') {
        return Err("has a name that is no path inside the archive".into());
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tar_of(entries: &[(&str, tar::EntryType, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, kind, content) in entries {
            let mut header = tar::Header::new_gnu();
            header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_entry_type(*kind);
            header.set_size(content.len() as u64);
            header.set_cksum();
            bytes.extend_from_slice(header.as_bytes());
            bytes.extend_from_slice(content);
            bytes.resize(bytes.len().next_multiple_of(512), 0);
        }
        bytes.resize(bytes.len() + 1024, 0);
        bytes
    }

    #[test]
    fn members_that_point_outside_are_refused_and_listed() {
        let file = tar::EntryType::Regular;
        let bytes = tar_of(&[
            ("top/a/1.png", file, b"one"),
            ("../evil", file, b"x"),
            ("/etc/passwd", file, b"x"),
            ("top/link", tar::EntryType::Symlink, b""),
        ]);
        let mut tree = Tree::archive(Input::from_bytes("x.tar", bytes).unwrap(), |_| true).unwrap();
        tree.strip_top();
        assert_eq!(tree.files.len(), 1);
        assert_eq!(tree.files[0].path, "a/1.png");
        assert_eq!(tree.files[0].read().unwrap().as_ref(), b"one");
        let refused: Vec<String> =
            tree.refused.iter().map(|(path, why)| format!("{}: {why}", path.display())).collect();
        assert_eq!(
            refused,
            [
                "../evil: points outside the archive",
                "/etc/passwd: points outside the archive",
                "top/link: is a link or a device, not a file"
            ]
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_that_leave_the_folder_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let outside = tempfile::NamedTempFile::new().unwrap();
        std::fs::create_dir(folder.path().join("cat")).unwrap();
        std::fs::write(folder.path().join("cat/1.png"), b"x").unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.path().join("cat/2.png")).unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("cat/loop")).unwrap();
        std::os::unix::fs::symlink("nowhere", folder.path().join("cat/3.png")).unwrap();
        let tree = Tree::open(folder.path(), |_| true).unwrap();
        assert_eq!(tree.files.len(), 1);
        assert_eq!(tree.refused.len(), 3);
    }

    #[test]
    fn only_wanted_members_are_unpacked() {
        let file = tar::EntryType::Regular;
        let bytes = tar_of(&[("a/1.png", file, b"one"), ("a/readme.txt", file, b"text")]);
        let tree = Tree::archive(Input::from_bytes("x.tar", bytes).unwrap(), |path| path.ends_with(".png")).unwrap();
        assert_eq!(tree.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["a/1.png"]);
        assert!(tree.refused.is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn sockets_and_pipes_are_refused_without_being_opened() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("1.png"), b"x").unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("2.png")).unwrap();
        let _other = std::os::unix::net::UnixListener::bind(folder.path().join("agent.sock")).unwrap();
        let tree = Tree::open(folder.path(), |path| path.ends_with(".png")).unwrap();
        assert_eq!(tree.files.len(), 1);
        assert_eq!(tree.refused.len(), 1);
        assert_eq!(tree.refused[0].1, "is a pipe, a socket or a device, not a file");
    }
}
