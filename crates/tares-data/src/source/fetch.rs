//! The built-in data sets from their usual homes into the user's cache folder.

use crate::error::{DataError, Place, Result};
use crate::io::Input;
use crate::io::atomic;
use crate::load::{Progress, Stage};
use crate::source::Builtin;
use crate::source::download::{Remote, download};
use crate::source::locate;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Downloads a built-in data set into `folder/<name>` (the user's cache folder if `None`) and returns that folder. Files that
/// are there already are checked and kept.
///
/// # Errors
/// As [`download`]; no cache folder is known.
pub fn fetch(builtin: Builtin, folder: Option<&Path>, progress: &mut dyn FnMut(Progress)) -> Result<PathBuf> {
    let root = match folder.map(Path::to_owned).or_else(locate::cache_dir) {
        Some(root) => root,
        None => {
            return Err(DataError::NotFound {
                name: "the user's cache folder".into(),
                looked: Vec::new(),
                way: "set TARES_CACHE or HOME".into(),
            });
        }
    };
    let folder = root.join(builtin.name());
    for (name, urls, bytes, sha256) in files(builtin) {
        let path = folder.join(name);
        if unpacked(builtin, &folder) {
            continue;
        }
        download(Remote { urls, sha256, bytes: *bytes }, &path, progress)?;
        if name.ends_with(".tar.gz") {
            unpack(&path, &folder, progress)?;
            std::fs::remove_file(&path).map_err(|source| DataError::io(&path, "remove", source))?;
        }
    }
    Ok(folder)
}

/// Whether an archive was downloaded, checked and unpacked before.
fn unpacked(builtin: Builtin, folder: &Path) -> bool {
    let names: &[&str] = match builtin {
        Builtin::Cifar10 => &["data_batch_1.bin", "data_batch_5.bin", "test_batch.bin"],
        Builtin::Cifar100 => &["train.bin", "test.bin"],
        _ => return false,
    };
    names.iter().all(|name| folder.join(name).is_file())
}

/// Takes the files out of an archive into `folder`, without the folders inside; each is written whole or not at all.
pub(crate) fn unpack(archive: &Path, folder: &Path, progress: &mut dyn FnMut(Progress)) -> Result<()> {
    let failed = |source| DataError::decode(archive, Place::File, "cannot be unpacked", source);
    let mut tar = tar::Archive::new(Input::open(archive)?);
    let mut done = 0;
    for entry in tar.entries().map_err(failed)? {
        let mut entry = entry.map_err(failed)?;
        let name = entry.path().map_err(failed)?.file_name().map(|name| folder.join(name));
        // Only the last part of a member's name is used, so nothing can be written outside the folder.
        if let Some(path) = name.filter(|_| entry.header().entry_type().is_file()) {
            let size = entry.header().size().map_err(failed)?;
            atomic::write(&path, |out| io::copy(&mut entry.by_ref().take(size), out).map(drop))?;
            done += size;
            progress(Progress { stage: Stage::Unpack, done, total: None });
        }
    }
    Ok(())
}

type File = (&'static str, &'static [&'static str], u64, &'static str);

/// Name, addresses, size and SHA-256 of the published files.
fn files(builtin: Builtin) -> &'static [File] {
    match builtin {
        Builtin::Digits => &[],
        Builtin::Mnist => &[
            (
                "train-images-idx3-ubyte.gz",
                &[
                    "https://storage.googleapis.com/cvdf-datasets/mnist/train-images-idx3-ubyte.gz",
                    "https://ossci-datasets.s3.amazonaws.com/mnist/train-images-idx3-ubyte.gz",
                ],
                9_912_422,
                "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            ),
            (
                "train-labels-idx1-ubyte.gz",
                &[
                    "https://storage.googleapis.com/cvdf-datasets/mnist/train-labels-idx1-ubyte.gz",
                    "https://ossci-datasets.s3.amazonaws.com/mnist/train-labels-idx1-ubyte.gz",
                ],
                28_881,
                "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            ),
            (
                "t10k-images-idx3-ubyte.gz",
                &[
                    "https://storage.googleapis.com/cvdf-datasets/mnist/t10k-images-idx3-ubyte.gz",
                    "https://ossci-datasets.s3.amazonaws.com/mnist/t10k-images-idx3-ubyte.gz",
                ],
                1_648_877,
                "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            ),
            (
                "t10k-labels-idx1-ubyte.gz",
                &[
                    "https://storage.googleapis.com/cvdf-datasets/mnist/t10k-labels-idx1-ubyte.gz",
                    "https://ossci-datasets.s3.amazonaws.com/mnist/t10k-labels-idx1-ubyte.gz",
                ],
                4_542,
                "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
            ),
        ],
        Builtin::FashionMnist => &[
            (
                "train-images-idx3-ubyte.gz",
                &["http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/train-images-idx3-ubyte.gz"],
                26_421_880,
                "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
            ),
            (
                "train-labels-idx1-ubyte.gz",
                &["http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/train-labels-idx1-ubyte.gz"],
                29_515,
                "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
            ),
            (
                "t10k-images-idx3-ubyte.gz",
                &["http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/t10k-images-idx3-ubyte.gz"],
                4_422_102,
                "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
            ),
            (
                "t10k-labels-idx1-ubyte.gz",
                &["http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/t10k-labels-idx1-ubyte.gz"],
                5_148,
                "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
            ),
        ],
        Builtin::Cifar10 => &[(
            "cifar-10-binary.tar.gz",
            &["https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"],
            170_052_171,
            "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
        )],
        Builtin::Cifar100 => &[(
            "cifar-100-binary.tar.gz",
            &["https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz"],
            168_513_733,
            "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
        )],
        Builtin::TinyImageNet => &[(
            "tiny-imagenet-200.zip",
            &["http://cs231n.stanford.edu/tiny-imagenet-200.zip"],
            248_100_043,
            "6198c8ae015e2b3e007c7841da39ec069199b9aa3bfa943a462022fe5e43c821",
        )],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_an_address_a_size_and_a_checksum() {
        for builtin in Builtin::ALL {
            for (name, urls, bytes, sha256) in files(builtin) {
                assert!(urls.iter().all(|url| url.ends_with(name)), "{name}");
                assert!(*bytes > 0 && sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit()));
            }
        }
    }

    #[test]
    fn an_archive_is_unpacked_flat_and_never_outside() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("a.tar");
        let mut bytes = Vec::new();
        for (name, content) in [("top/a.bin", "one"), ("../../evil.bin", "two")] {
            let mut header = tar::Header::new_gnu();
            header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_size(content.len() as u64);
            header.set_cksum();
            bytes.extend_from_slice(header.as_bytes());
            bytes.extend_from_slice(content.as_bytes());
            bytes.resize(bytes.len().next_multiple_of(512), 0);
        }
        bytes.resize(bytes.len() + 1024, 0);
        std::fs::write(&archive, bytes).unwrap();
        let out = folder.path().join("x/y");
        unpack(&archive, &out, &mut |_| {}).unwrap();
        assert_eq!(std::fs::read(out.join("a.bin")).unwrap(), b"one");
        assert_eq!(std::fs::read(out.join("evil.bin")).unwrap(), b"two");
        assert!(!folder.path().join("evil.bin").exists());
    }
}
