//! `tares consensus`: combines several people's labels into one per row, and says how good every annotator is.

use super::Exit;
use super::audit::who::Judging;
use super::plan::Training;
use crate::audit::print::say_columns;
use crate::backbone::options::FeatureSource;
use crate::consensus::cards::{RowCard, key};
use crate::consensus::crowd::Crowd;
use crate::consensus::files::{FILES, write_files};
use crate::consensus::print::print;
use crate::consensus::rounds::{majority, refine, remove_rounds};
use crate::consensus::summary::ConsensusSummary;
use crate::files::{create_directory, write_whole};
use crate::judges::folds::FOLDS;
use crate::judges::inputs::text_note;
use crate::judges::name::JudgeName;
use crate::report::consensus_page::consensus_page;
use crate::ui::failure::{Failure, Outcome};
use crate::ui::judges_bar::{judges_bar, show_judge};
use crate::ui::terminal::{Screen, plain, work_bar};
use clap::Args;
use std::path::{Path, PathBuf};
use tares::Method;
use tares_core::annotate::{Consensus, Pooling, consensus, consensus_with};
use tares_core::estimate::{Normalised, Probabilities};
use tares_data::LoadOptions;
use tares_data::crowd::CrowdOptions;
use tares_data::probabilities::{FileRows, ProbabilitySource};

/// Combine several people's labels into one per row
///
/// Reads who gave which row which label, and finds the label that is probably right, how sure that is, how good every
/// annotator is, and which rows are worth one more label. With --data, judges are trained on the consensus and refine it.
/// Writes consensus.csv (for `tares apply-labels`), posterior.npy, annotators.csv, confusions.csv, suspects.csv,
/// worth-asking.csv, summary.json, and consensus.html, a page to look at.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tares consensus crowd.csv                                              columns called row, annotator, label
  tares consensus crowd.csv --row item --annotator who --label answer    a long table: one answer per line
  tares consensus crowd.csv --wide ann,bob,eve                           a wide table: one column per annotator
  tares consensus crowd.csv --data photos.csv --id-column file           judges learn from the rows, too
  tares consensus crowd.csv --probs p.npy                                a model's out-of-sample probabilities
  tares consensus cifar-10n --data cifar-10 --data-dir DIR               CIFAR-10N's three labels per picture

Tables are CSV, TSV, JSON lines or Parquet; an NPY array is rows x annotators, with -1 where somebody did not answer.
If somebody answers a row twice, the later answer counts. Rows are found in the data by name (--id-column, file names), or
else by number from 0. Exit codes: 0 fine, 2 failure.")]
pub struct ConsensusCommand {
    /// Who answered what: a table, an array, or cifar-10n
    answers: String,
    /// The column that names the rows, by name or as #1 [default: row, index, id, item, task, ...]
    #[arg(long, value_name = "COLUMN")]
    row: Option<String>,
    /// The column that says who answered [default: annotator, worker, rater, who, ...]
    #[arg(long, value_name = "COLUMN")]
    annotator: Option<String>,
    /// The column of answers [default: label, answer, response, ...]
    #[arg(long, value_name = "COLUMN")]
    label: Option<String>,
    /// The columns of all annotators, for a table with one line per row; * for all columns
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    wide: Vec<String>,
    /// All classes in order, also those nobody answered [default: the labels that occur]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    classes: Vec<String>,
    /// Data that the answers are about: a built-in name or a path. Its own labels are not used
    #[arg(long, value_name = "DATA", conflicts_with = "probs")]
    data: Option<String>,
    /// Out-of-sample probabilities of a model, one row per row and one column per class: NPY, NPZ, CSV or Parquet
    #[arg(long, value_name = "FILE")]
    probs: Option<PathBuf>,
    /// Divide every row of --probs by its sum
    #[arg(long, requires = "probs")]
    normalise: bool,
    /// The true labels, by name or number, to measure how good the consensus is
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// How answers become one label: posterior, dawid-skene, one-coin, majority [default: posterior]
    #[arg(long)]
    method: Option<Pooling>,
    /// Where to write [default: consensus/NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Continue the interrupted command in --out: repeat it with this flag
    #[arg(long, requires = "data")]
    resume: bool,
    /// How many rows the page shows
    #[arg(long, default_value_t = 500, value_name = "N")]
    gallery: usize,
    /// How often judges are trained at most
    #[arg(long, default_value_t = 3, value_name = "N", requires = "data", value_parser = clap::value_parser!(u64).range(1..=20))]
    rounds: u64,
    /// The models that judge the rows, as in linear,trees,mlp [default: linear,trees,forest for tables (no forest above 20,000 rows; linear above 512 numbers per row), a network for pictures]
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "data")]
    judges: Vec<JudgeName>,
    /// How many folds; each judge is trained on all but one of them [default: 5, networks 4]
    #[arg(long, value_name = "K", requires = "data")]
    folds: Option<usize>,
    /// The method that trains networks among the judges [default: gce]
    #[arg(long, value_name = "METHOD", requires = "data")]
    train_method: Option<Method>,
    #[command(flatten)]
    reading: DataReading,
    #[command(flatten)]
    features: FeatureSource,
    #[command(flatten)]
    training: Training,
}

/// How the data is read.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Reading --data")]
pub struct DataReading {
    /// Where to look for built-in data sets first (then in TARES_DATA, then in the cache)
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// A label column of the data, which judges must not see
    #[arg(long, value_name = "COLUMN", requires = "data")]
    data_label: Option<String>,
    /// Other columns that judges must not see
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "data")]
    ignore: Vec<String>,
    /// The column of a table that names the rows
    #[arg(long, value_name = "COLUMN", requires = "data")]
    id_column: Option<String>,
    /// A column of a table that holds texts; may be given several times. Others are recognised
    #[arg(long, value_name = "COLUMN", requires = "data")]
    text: Vec<String>,
    /// Resize the pictures of a folder to this height and width, as in 64x64
    #[arg(long, value_name = "HxW", value_parser = crate::run::load::size, requires = "data")]
    image_size: Option<(usize, usize)>,
}

impl DataReading {
    fn options(&self) -> LoadOptions {
        LoadOptions::default().with(|options| {
            options.data_dir.clone_from(&self.data_dir);
            options.label.clone_from(&self.data_label);
            options.ignore.clone_from(&self.ignore);
            options.id_column.clone_from(&self.id_column);
            options.text.clone_from(&self.text);
            options.image_size = self.image_size;
        })
    }
}

impl ConsensusCommand {
    /// Finds the consensus and writes its files.
    ///
    /// # Errors
    /// Answers, data or probabilities that cannot be read or don't fit each other; a directory that cannot be written; Ctrl-C.
    pub fn run(self, screen: &Screen) -> Outcome<Exit> {
        self.refuse_idle_options()?;
        let out = self.out.clone().unwrap_or_else(|| self.default_out());
        let pooling = self.method.unwrap_or_default();
        let asked = CrowdOptions {
            row: self.row.clone(),
            annotator: self.annotator.clone(),
            label: self.label.clone(),
            wide: self.wide.clone(),
            data_dir: self.reading.data_dir.clone(),
        };
        let (crowd, found, origin, rounds) = match (&self.data, &self.probs) {
            (Some(data), _) => {
                let options = self.reading.options();
                let mut crowd =
                    Crowd::of_data(&self.answers, &asked, data, &options, &self.features, &self.classes, screen)?;
                self.say(&mut crowd, screen)?;
                let (found, origin, rounds) = self.of_data(&crowd, &out.join(FOLDS), screen)?;
                (crowd, found, Some(origin), rounds)
            }
            (None, Some(path)) => {
                let source = ProbabilitySource::open(path)?;
                let mut crowd = Crowd::of_answers(&self.answers, &asked, Some(&source), &self.classes)?;
                self.say(&mut crowd, screen)?;
                let found = self.of_probabilities(&crowd, source, path, screen)?;
                (crowd, found, Some(path.display().to_string()), Vec::new())
            }
            (None, None) => {
                let mut crowd = Crowd::of_answers(&self.answers, &asked, None, &self.classes)?;
                self.say(&mut crowd, screen)?;
                let found = consensus(&crowd.answers, pooling)?;
                (crowd, found, None, Vec::new())
            }
        };
        let most = majority(&crowd.answers)?;
        let mut summary = ConsensusSummary::of(&crowd, &found, pooling, &most);
        (summary.probabilities, summary.rounds) = (origin, rounds);
        create_directory(&out)?;
        let tables = || write_files(&out, &crowd, &found, &most, &summary);
        let page = || {
            let cards = RowCard::chosen(&crowd, &found, &most, self.gallery)?;
            let page = consensus_page(&summary, &cards, &key(&found))?;
            write_whole(&out.join("consensus.html"), page.as_bytes())
        };
        let (page, tables) = rayon::join(page, tables);
        page?;
        tables?;
        // The judges' files are only needed to resume, and this command is complete.
        remove_rounds(&out.join(FOLDS))?;
        print(&summary, &out, &FILES, screen)?;
        Ok(Exit::Fine)
    }

    /// Refuses options that would be ignored, so that nobody believes they had an effect.
    fn refuse_idle_options(&self) -> Outcome<()> {
        let refuse =
            |name: &str, why: &str| Err(Failure::new(format!("{name} has no effect {why}")).way_out("leave it out"));
        if self.data.is_none() {
            let features = self.features.features.as_ref().map(|_| "--features");
            if let Some(name) = self.training.typed().into_iter().chain(self.features.typed()).chain(features).next() {
                return refuse(name, "without --data: no judge is trained");
            }
        }
        if (self.data.is_some() || self.probs.is_some())
            && let Some(pooling) = self.method.filter(|&pooling| pooling != Pooling::Posterior)
        {
            let beside = if self.data.is_some() { "--data" } else { "--probs" };
            return refuse(
                &format!("--method {pooling}"),
                &format!("beside {beside}: it uses the annotators' answers only"),
            );
        }
        Ok(())
    }

    fn default_out(&self) -> PathBuf {
        let stem = Path::new(&self.answers).file_stem().map_or_else(|| "answers".into(), |stem| stem.to_string_lossy());
        Path::new("consensus").join(crate::files::file_name(&stem))
    }

    /// Reads the truth, and says what was found.
    fn say(&self, crowd: &mut Crowd, screen: &Screen) -> Outcome<()> {
        if let Some(path) = &self.truth {
            crowd.read_truth(path)?;
        }
        let (replaced, unanswered) = (crowd.answers.replaced(), crowd.unanswered());
        if replaced > 0 {
            crowd.notes.push(format!(
                "{replaced} answers were replaced by a later answer of the same annotator to the same row"
            ));
        }
        if unanswered > 0 {
            crowd.notes.push(format!("{unanswered} rows have no answer"));
        }
        let lonely = (0..crowd.answers.rows()).all(|row| crowd.answers.of_row(row).len() <= 1);
        if lonely && crowd.answers.annotators() > 1 {
            crowd.notes.push(
                "no row has two answers: annotators cannot be compared with each other, only with judges or probabilities"
                    .to_owned(),
            );
        }
        crowd.notes.iter().for_each(|note| screen.note(plain(note)));
        Ok(())
    }

    fn of_probabilities(
        &self,
        crowd: &Crowd,
        source: ProbabilitySource,
        path: &Path,
        screen: &Screen,
    ) -> Outcome<Consensus> {
        let named = source.names().map(<[String]>::to_vec);
        let (file, columns) = source.with_classes(&crowd.classes, crowd.answers.rows())?;
        say_columns(&columns, named.as_deref(), &crowd.classes, screen);
        let bars = screen.bars();
        let bar = work_bar(&bars, "finding the consensus");
        let found = match (self.normalise, file.is_narrow()) {
            (true, true) => with(crowd, &Normalised(FileRows::<f32>::of(&file))),
            (true, false) => with(crowd, &Normalised(FileRows::<f64>::of(&file))),
            (false, true) => with(crowd, &FileRows::<f32>::of(&file)),
            (false, false) => with(crowd, &FileRows::<f64>::of(&file)),
        };
        bar.finish_and_clear();
        found.map_err(|failure| {
            let text = failure.to_string();
            let failure = failure.within(path.display());
            match text.contains("sum of the probabilities") {
                true => failure.way_out("add --normalise to divide every row by its sum"),
                false => failure,
            }
        })
    }

    fn of_data(
        &self,
        crowd: &Crowd,
        folds: &Path,
        screen: &Screen,
    ) -> Outcome<(Consensus, String, Vec<crate::consensus::rounds::RoundSummary>)> {
        let Some((data, reading)) = &crowd.data else { return Err(Failure::new("no rows to train on")) };
        let method = self.train_method.as_ref();
        let judges = Judging { names: &self.judges, folds: self.folds, method, training: &self.training };
        let judges = judges.who(data, reading)?;
        let names: Vec<String> = judges.names.iter().map(ToString::to_string).collect();
        screen.note(format!(
            "{} rows in {} classes; {} learn from the consensus, each judging rows it was not trained on ...",
            data.len(),
            data.classes(),
            names.join(", ")
        ));
        text_note(data).iter().for_each(|note| screen.note(note));
        if !self.resume {
            remove_rounds(folds)?;
        }
        let bars = screen.bars();
        let bar = judges_bar(&bars);
        let most = self.rounds as usize;
        let refined = refine(crowd, (data, reading), &judges, most, folds, &|round, progress| {
            show_judge(&bar, &format!("round {round} of at most {most}"), &progress, screen);
        });
        bar.finish_and_clear();
        let refined = refined.map_err(|failure| match failure {
            Failure::Interrupted { .. } => Failure::Interrupted {
                way_out: "everything so far is kept; to continue, repeat the command with --resume".to_owned(),
            },
            other => other,
        })?;
        Ok((refined.found, judges.origin(), refined.rounds))
    }
}

fn with<P: Probabilities>(crowd: &Crowd, probs: &P) -> Outcome<Consensus> {
    Ok(consensus_with(&crowd.answers, probs)?)
}
