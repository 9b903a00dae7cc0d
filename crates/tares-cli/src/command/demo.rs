//! `tares demo`: trains and compares methods on built-in data; needs no files, no internet and no options.

use super::Exit;
use crate::record::Card;
use crate::record::RunRecord;
use crate::report::{self, summary};
use crate::run::contender::Contender;
use crate::run::experiment::Experiment;
use crate::run::label_noise::LabelNoise;
use crate::run::load::Load;
use crate::run::noise_rate::NoiseRate;
use crate::run::runs::run_all;
use crate::run::spec_file::VERSION;
use crate::run::train::Start;
use crate::ui::failure::Outcome;
use crate::ui::run_bars::RunBars;
use crate::ui::terminal::{self, Screen, json_path, plain};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use std::path::PathBuf;
use tares::Plan;
use tares::method::Methods;
use tares_data::LoadOptions;

/// See it work on built-in digits, half of whose labels are wrong
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tares demo
  tares demo --noise pair:0.35
  tares demo --methods standard,cl,npcl,jocor --epochs 30")]
pub struct Demo {
    /// The noise to put into the labels
    #[arg(long, value_name = "KIND:RATE", default_value = "symmetric:0.5")]
    noise: LabelNoise,
    /// The methods to compare
    #[arg(long, value_name = "METHOD,...", default_value = "standard,gce,co-teaching,npcl")]
    methods: Methods,
    /// Passes over the data
    #[arg(long, default_value_t = 60)]
    epochs: usize,
    /// The seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where to write the runs and the report
    #[arg(long, value_name = "DIR", default_value = "tares-demo")]
    out: PathBuf,
}

impl Demo {
    /// Trains the methods, prints tables and suspects, and writes the report.
    ///
    /// # Errors
    /// A value is not allowed, or the directory cannot be written.
    pub fn run(self, screen: &Screen) -> Outcome<Exit> {
        let experiment = Experiment {
            version: VERSION,
            data: "digits".to_owned(),
            noises: vec![self.noise.clone()],
            noise_seed: None,
            seeds: vec![self.seed],
            noise_rate: NoiseRate::Known,
            device: "cpu".to_owned(),
            network: Some("mlp".parse()?),
            methods: self.methods.0.iter().cloned().map(Contender::from).collect(),
            load: Load::default(),
            plan: Plan { epochs: self.epochs, seed: self.seed, ..Plan::default() },
        };
        experiment.check()?;
        let loaded = tares_data::load("digits", &LoadOptions::default(), &mut |_| {})?;
        screen.note(format!(
            "{} handwritten digits, noise {}: many labels are wrong, the test labels are right.\n",
            loaded.train.len(),
            plain(&self.noise.to_string())
        ));
        let runs = experiment.runs()?;
        let bars = RunBars::new(&runs, screen);
        let records = run_all(&runs, &loaded, &self.out, Start::Overwrite, 1, screen, &bars)?;
        let title = format!("Digits with wrong labels: {}", self.noise);
        let rows = report::write_all(&self.out, &title, &records)?;
        screen.note("");
        screen.line(summary::accuracy_table(&rows).text(screen))?;
        screen.line(summary::precision_table(&rows).text(screen))?;
        if let Some(best) = most_trusted(&records) {
            let heading = format!("The ten most suspicious digits, as {} sees them:", best.manifest.method);
            screen.line(screen.paint(&heading, terminal::TITLE))?;
            screen.line(draw(&best.gallery, screen))?;
        }
        screen.line(format!("Report: {}", plain(&self.out.join("report.html").display().to_string())))?;
        screen.result(|| serde_json::json!({ "report": json_path(&self.out.join("report.html")), "runs": rows }))?;
        Ok(Exit::Fine)
    }
}

/// The run whose suspects are printed: that of NPCL, or else the last one.
fn most_trusted(records: &[RunRecord]) -> Option<&RunRecord> {
    records.iter().find(|record| record.manifest.method.starts_with("npcl")).or_else(|| records.last())
}

/// Draws ten digits with their labels, at most five side by side, with two characters per pixel.
fn draw(cards: &[Card], screen: &Screen) -> String {
    let cell = 18;
    let per_row = (screen.width.saturating_sub(2) / cell).clamp(1, 5);
    let mut text = String::new();
    for cards in cards.iter().take(10).collect::<Vec<_>>().chunks(per_row) {
        let pictures: Vec<(Vec<u8>, usize)> = cards.iter().filter_map(|card| pixels(card)).collect();
        let height = pictures.iter().map(|(pixels, width)| pixels.len() / width).max().unwrap_or(0);
        for y in 0..height {
            for (pixels, width) in &pictures {
                let row = pixels.chunks_exact(*width).nth(y).unwrap_or(&[]);
                let line: String = row.iter().map(|&pixel| dot(pixel, screen.color)).collect();
                text.push_str(&format!("  {line}"));
            }
            text.push('\n');
        }
        for card in cards {
            let right = card.truth.as_ref().is_some_and(|truth| *truth == card.suggested);
            let label = format!("given {}, looks {}", plain(&card.given), plain(&card.suggested));
            let mark = if right { "" } else { "?" };
            text.push_str(&format!("  {:<16}", format!("{label}{mark}")));
        }
        text.push_str("\n\n");
    }
    text.trim_end().to_owned() + "\n"
}

/// One pixel: a shade of grey, or without colours a character that is denser for brighter pixels.
fn dot(pixel: u8, color: bool) -> String {
    if color {
        return format!("\x1b[48;5;{}m  \x1b[0m", 232 + u16::from(pixel) * 23 / 255);
    }
    [" ", "░", "▒", "▓", "█"][usize::from(pixel) * 5 / 256].repeat(2)
}

/// The pixels and the width of a card's picture, if it is grey.
fn pixels(card: &Card) -> Option<(Vec<u8>, usize)> {
    let bytes = STANDARD.decode(card.picture.as_ref()?).ok()?;
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().ok()?;
    let mut pixels = vec![0; reader.output_buffer_size()?];
    let info = reader.next_frame(&mut pixels).ok()?;
    (info.color_type == png::ColorType::Grayscale).then_some((pixels, info.width as usize))
}
