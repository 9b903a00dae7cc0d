//! [`Builtin`]: the data sets known by name, and everything known about each in one table.

use std::fmt;
use std::str::FromStr;

/// The data sets known by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Builtin {
    /// UCI optical digits, inside the program: 3,823 + 1,797 pictures of 8×8, 10 classes.
    Digits,
    /// MNIST: 60,000 + 10,000 grey pictures of 28×28, 10 classes.
    Mnist,
    /// Fashion-MNIST: 60,000 + 10,000 grey pictures of 28×28, 10 classes.
    FashionMnist,
    /// CIFAR-10: 50,000 + 10,000 colour pictures of 32×32, 10 classes.
    Cifar10,
    /// CIFAR-100: 50,000 + 10,000 colour pictures of 32×32, 100 classes in 20 groups.
    Cifar100,
    /// Tiny-ImageNet: 100,000 + 10,000 colour pictures of 64×64, 200 classes.
    TinyImageNet,
}

/// What is known about a data set before its files are opened.
struct Facts {
    /// The name people type.
    name: &'static str,
    /// Size, shape, classes.
    description: &'static str,
    licence: &'static str,
    /// The names its folder usually has, here and in other tools.
    folders: &'static [&'static str],
    /// The classes, if the files don't name them.
    classes: &'static [&'static str],
    files: &'static [Published],
    /// What an archive among the files leaves behind.
    unpacked: &'static [&'static str],
}

/// A file as it was published.
pub(crate) struct Published {
    pub name: &'static str,
    pub urls: &'static [&'static str],
    pub bytes: u64,
    pub sha256: &'static str,
}

const DIGITS: &[&str] = &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

impl Builtin {
    /// All of them, smallest first.
    pub const ALL: [Self; 6] =
        [Self::Digits, Self::Mnist, Self::FashionMnist, Self::Cifar10, Self::Cifar100, Self::TinyImageNet];

    /// The table: one entry per data set.
    fn facts(self) -> &'static Facts {
        match self {
            Self::Digits => &Facts {
                name: "digits",
                description: "UCI optical digits, 3,823 + 1,797 grey 8x8, 10 classes (inside the program)",
                licence: "CC BY 4.0 (Alpaydin & Kaynak 1998)",
                folders: &[],
                classes: DIGITS,
                files: &[],
                unpacked: &[],
            },
            Self::Mnist => &Facts {
                name: "mnist",
                description: "handwritten digits, 60,000 + 10,000 grey 28x28, 10 classes (12 MB)",
                licence: "CC BY-SA 3.0 (LeCun & Cortes)",
                folders: &["mnist", "MNIST/raw", "MNIST"],
                classes: DIGITS,
                files: &[
                    Published {
                        name: "train-images-idx3-ubyte.gz",
                        urls: &[
                            "https://storage.googleapis.com/cvdf-datasets/mnist/train-images-idx3-ubyte.gz",
                            "https://ossci-datasets.s3.amazonaws.com/mnist/train-images-idx3-ubyte.gz",
                        ],
                        bytes: 9_912_422,
                        sha256: "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
                    },
                    Published {
                        name: "train-labels-idx1-ubyte.gz",
                        urls: &[
                            "https://storage.googleapis.com/cvdf-datasets/mnist/train-labels-idx1-ubyte.gz",
                            "https://ossci-datasets.s3.amazonaws.com/mnist/train-labels-idx1-ubyte.gz",
                        ],
                        bytes: 28_881,
                        sha256: "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
                    },
                    Published {
                        name: "t10k-images-idx3-ubyte.gz",
                        urls: &[
                            "https://storage.googleapis.com/cvdf-datasets/mnist/t10k-images-idx3-ubyte.gz",
                            "https://ossci-datasets.s3.amazonaws.com/mnist/t10k-images-idx3-ubyte.gz",
                        ],
                        bytes: 1_648_877,
                        sha256: "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
                    },
                    Published {
                        name: "t10k-labels-idx1-ubyte.gz",
                        urls: &[
                            "https://storage.googleapis.com/cvdf-datasets/mnist/t10k-labels-idx1-ubyte.gz",
                            "https://ossci-datasets.s3.amazonaws.com/mnist/t10k-labels-idx1-ubyte.gz",
                        ],
                        bytes: 4_542,
                        sha256: "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
                    },
                ],
                unpacked: &[],
            },
            Self::FashionMnist => &Facts {
                name: "fashion-mnist",
                description: "clothing, 60,000 + 10,000 grey 28x28, 10 classes (31 MB)",
                licence: "MIT (Zalando SE)",
                folders: &["fashion-mnist", "FashionMNIST/raw", "fashion_mnist"],
                classes: &[
                    "T-shirt/top",
                    "Trouser",
                    "Pullover",
                    "Dress",
                    "Coat",
                    "Sandal",
                    "Shirt",
                    "Sneaker",
                    "Bag",
                    "Ankle boot",
                ],
                files: &[
                    Published {
                        name: "train-images-idx3-ubyte.gz",
                        urls: &[
                            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/train-images-idx3-ubyte.gz",
                        ],
                        bytes: 26_421_880,
                        sha256: "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
                    },
                    Published {
                        name: "train-labels-idx1-ubyte.gz",
                        urls: &[
                            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/train-labels-idx1-ubyte.gz",
                        ],
                        bytes: 29_515,
                        sha256: "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
                    },
                    Published {
                        name: "t10k-images-idx3-ubyte.gz",
                        urls: &["http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/t10k-images-idx3-ubyte.gz"],
                        bytes: 4_422_102,
                        sha256: "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
                    },
                    Published {
                        name: "t10k-labels-idx1-ubyte.gz",
                        urls: &["http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/t10k-labels-idx1-ubyte.gz"],
                        bytes: 5_148,
                        sha256: "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
                    },
                ],
                unpacked: &[],
            },
            Self::Cifar10 => &Facts {
                name: "cifar-10",
                description: "objects, 50,000 + 10,000 colour 32x32, 10 classes (170 MB)",
                licence: "none stated; research use, cite Krizhevsky 2009",
                folders: &["cifar-10", "cifar10", "cifar-10-batches-bin"],
                classes: &[],
                files: &[Published {
                    name: "cifar-10-binary.tar.gz",
                    urls: &["https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"],
                    bytes: 170_052_171,
                    sha256: "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
                }],
                unpacked: &["data_batch_1.bin", "data_batch_5.bin", "test_batch.bin"],
            },
            Self::Cifar100 => &Facts {
                name: "cifar-100",
                description: "objects, 50,000 + 10,000 colour 32x32, 100 classes in 20 groups (169 MB)",
                licence: "none stated; research use, cite Krizhevsky 2009",
                folders: &["cifar-100", "cifar100", "cifar-100-binary"],
                classes: &[],
                files: &[Published {
                    name: "cifar-100-binary.tar.gz",
                    urls: &["https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz"],
                    bytes: 168_513_733,
                    sha256: "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
                }],
                unpacked: &["train.bin", "test.bin"],
            },
            Self::TinyImageNet => &Facts {
                name: "tiny-imagenet",
                description: "objects, 100,000 + 10,000 colour 64x64, 200 classes (248 MB)",
                licence: "ImageNet terms, non-commercial research only",
                folders: &["tiny-imagenet", "tiny-imagenet-200", ""],
                classes: &[],
                files: &[Published {
                    name: "tiny-imagenet-200.zip",
                    urls: &["http://cs231n.stanford.edu/tiny-imagenet-200.zip"],
                    bytes: 248_100_043,
                    sha256: "6198c8ae015e2b3e007c7841da39ec069199b9aa3bfa943a462022fe5e43c821",
                }],
                unpacked: &[],
            },
        }
    }

    /// The name people type.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// One line for a list: size, shape, classes.
    pub fn description(self) -> &'static str {
        self.facts().description
    }

    /// The terms under which it may be used.
    pub fn licence(self) -> &'static str {
        self.facts().licence
    }

    /// The names its folder usually has.
    pub(crate) fn folders(self) -> &'static [&'static str] {
        self.facts().folders
    }

    /// The classes, if the files don't name them.
    pub(crate) fn class_names(self) -> Option<Vec<String>> {
        let classes = self.facts().classes;
        (!classes.is_empty()).then(|| classes.iter().map(|&class| class.to_owned()).collect())
    }

    /// The published files.
    pub(crate) fn files(self) -> &'static [Published] {
        self.facts().files
    }

    /// The files that its archive unpacks to; none if it is not unpacked.
    pub(crate) fn unpacked(self) -> &'static [&'static str] {
        self.facts().unpacked
    }
}

impl fmt::Display for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Builtin {
    type Err = tares_core::Error;

    fn from_str(text: &str) -> tares_core::Result<Self> {
        let names = Self::ALL.map(Self::name);
        match Self::ALL.into_iter().find(|builtin| builtin.name() == text) {
            Some(builtin) => Ok(builtin),
            None => Err(tares_core::Error::unknown("built-in data set", text, &names)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_understood() {
        for builtin in Builtin::ALL {
            assert_eq!(builtin.name().parse(), Ok(builtin));
        }
    }

    #[test]
    fn every_file_has_an_address_a_size_and_a_checksum() {
        for file in Builtin::ALL.into_iter().flat_map(Builtin::files) {
            assert!(file.urls.iter().all(|url| url.ends_with(file.name)), "{}", file.name);
            assert!(file.bytes > 0 && file.sha256.len() == 64, "{}", file.name);
            assert!(file.sha256.bytes().all(|byte| byte.is_ascii_hexdigit()), "{}", file.name);
        }
    }
}
