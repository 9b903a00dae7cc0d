//! [`ReportTable`]: a table of mean ± std with the best of each column marked, as text, Markdown, LaTeX and CSV.

use super::escape;
use crate::files::cell::{guarded, push_line};
use crate::ui::terminal::{self, Screen, plain};
use tares_core::metric::MeanStd;

/// Numbers over seeds, with names for the rows and columns.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportTable {
    /// What the numbers are.
    pub title: String,
    /// What the rows are: the heading of the first column.
    pub corner: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Each row's name and one cell per column; `None` where there is no run.
    pub rows: Vec<(String, Vec<Option<Cell>>)>,
}

/// A mean over seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The mean.
    pub mean: f64,
    /// The sample standard deviation; `None` for a single run.
    pub std: Option<f64>,
    /// Number of runs.
    pub runs: usize,
}

impl Cell {
    /// Mean and sample standard deviation; `None` without a value.
    pub fn over(values: &[f64]) -> Option<Self> {
        let MeanStd { count, mean, std } = MeanStd::of(values).ok()?;
        Some(Self { mean, std, runs: count })
    }

    /// `94.00 ± 0.31` with ` ± ` as `plus_minus`; the mean alone for a single run.
    pub fn text(&self, plus_minus: &str) -> String {
        match self.std {
            Some(std) => format!("{:.2}{plus_minus}{std:.2}", self.mean),
            None => format!("{:.2}", self.mean),
        }
    }
}

impl ReportTable {
    /// Whether the cell has the best mean of its column. Means are compared as printed, so that equal numbers are marked
    /// alike. A column with a single entry has no best.
    pub fn is_best(&self, row: usize, column: usize) -> bool {
        let shown = |cell: &Option<Cell>| cell.map(|cell| (cell.mean * 100.0).round());
        let column: Vec<Option<f64>> = self.rows.iter().map(|(_, cells)| shown(&cells[column])).collect();
        let best = column.iter().flatten().copied().fold(f64::MIN, f64::max);
        column.iter().flatten().count() > 1 && column[row] == Some(best)
    }

    /// For the terminal: the best of each column has a star, and is green on terminals with colours.
    pub fn text(&self, screen: &Screen) -> String {
        let mut grid = vec![vec![self.corner.clone()]];
        // Two spaces, so that headings end where the numbers end and not where the stars are.
        grid[0].extend(self.columns.iter().map(|name| format!("{}  ", plain(name))));
        for (r, (name, cells)) in self.rows.iter().enumerate() {
            let mut line = vec![plain(name).into_owned()];
            line.extend(cells.iter().enumerate().map(|(c, cell)| match cell {
                Some(cell) => format!("{}{}", cell.text(" ± "), if self.is_best(r, c) { " *" } else { "  " }),
                None => "–  ".to_owned(),
            }));
            grid.push(line);
        }
        let widths: Vec<usize> =
            (0..grid[0].len()).map(|c| grid.iter().map(|line| width(&line[c])).max().unwrap_or(0)).collect();
        let mut text = format!("{}\n", screen.paint(&self.title, terminal::TITLE));
        for (r, line) in grid.iter().enumerate() {
            text.push_str(&format!("  {}{}", line[0], " ".repeat(widths[0] - width(&line[0]))));
            for c in 1..line.len() {
                let cell = if r > 0 && self.is_best(r - 1, c - 1) {
                    screen.paint(&line[c], terminal::BEST)
                } else {
                    line[c].as_str().into()
                };
                text.push_str(&format!("{}{cell}", " ".repeat(widths[c] + 3 - width(&line[c]))));
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        text
    }

    /// A Markdown table; the best is bold.
    pub fn markdown(&self) -> String {
        let mut text = format!("| {} |", escape::markdown(&self.corner));
        self.columns.iter().for_each(|name| text.push_str(&format!(" {} |", escape::markdown(name))));
        text.push_str(&format!("\n|---|{}\n", "---:|".repeat(self.columns.len())));
        for (r, (name, cells)) in self.rows.iter().enumerate() {
            text.push_str(&format!("| {} |", escape::markdown(name)));
            for (c, cell) in cells.iter().enumerate() {
                let shown = cell.map_or("–".to_owned(), |cell| cell.text(" ± "));
                let mark = if self.is_best(r, c) { "**" } else { "" };
                text.push_str(&format!(" {mark}{shown}{mark} |"));
            }
            text.push('\n');
        }
        text
    }

    /// A LaTeX tabular (package booktabs); the best is bold.
    pub fn latex(&self) -> String {
        let mut text = format!(
            "% {}\n\\begin{{tabular}}{{l{}}}\n\\toprule\n",
            escape::latex(&self.title).replace("\\%", "%"),
            "r".repeat(self.columns.len())
        );
        let head: Vec<String> =
            std::iter::once(&self.corner).chain(&self.columns).map(|name| escape::latex(name)).collect();
        text.push_str(&format!("{} \\\\\n\\midrule\n", head.join(" & ")));
        for (r, (name, cells)) in self.rows.iter().enumerate() {
            text.push_str(&escape::latex(name));
            for (c, cell) in cells.iter().enumerate() {
                let shown = cell.map_or("--".to_owned(), |cell| format!("${}$", cell.text(" \\pm ")));
                text.push_str(&if self.is_best(r, c) {
                    format!(" & {{\\boldmath{shown}}}")
                } else {
                    format!(" & {shown}")
                });
            }
            text.push_str(" \\\\\n");
        }
        text.push_str("\\bottomrule\n\\end{tabular}\n");
        text
    }

    /// CSV with full precision: one line per cell that has runs.
    pub fn csv(&self) -> String {
        let mut text = String::new();
        push_line(&mut text, [self.corner.as_str(), "column", "mean", "std", "runs", "best"]);
        for (r, (name, cells)) in self.rows.iter().enumerate() {
            for (c, cell) in cells.iter().enumerate().filter_map(|(c, cell)| Some((c, (*cell)?))) {
                let std = cell.std.map_or(String::new(), |std| format!("{std:.6}"));
                let best = u8::from(self.is_best(r, c)).to_string();
                let (name, column) = (guarded(name).into_owned(), guarded(&self.columns[c]).into_owned());
                let (mean, runs) = (format!("{:.6}", cell.mean), cell.runs.to_string());
                push_line(&mut text, [name, column, mean, std, runs, best]);
            }
        }
        text
    }
}

/// The number of columns that a text takes in the terminal.
fn width(text: &str) -> usize {
    console::measure_text_width(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> ReportTable {
        let cell = |mean, std| Some(Cell { mean, std: Some(std), runs: 3 });
        ReportTable {
            title: "Test accuracy (%)".into(),
            corner: "method".into(),
            columns: vec!["symmetric:0.5".into(), "pair:0.35".into()],
            rows: vec![
                ("standard".into(), vec![cell(85.912, 0.5), None]),
                ("npcl".into(), vec![cell(94.0, 0.31), Some(Cell { mean: 92.6, std: None, runs: 1 })]),
            ],
        }
    }

    fn screen() -> Screen {
        Screen { json: false, quiet: false, color: false, live: false, width: 100 }
    }

    #[test]
    fn text_marks_the_best_with_a_star() {
        let expected = "\
Test accuracy (%)
  method     symmetric:0.5     pair:0.35
  standard    85.91 ± 0.50             –
  npcl        94.00 ± 0.31 *       92.60
";
        assert_eq!(table().text(&screen()), expected, "\n{}", table().text(&screen()));
    }

    #[test]
    fn markdown_and_latex_mark_the_best_in_bold() {
        assert!(table().markdown().contains("| npcl | **94.00 ± 0.31** | 92.60 |"), "{}", table().markdown());
        assert!(table().latex().contains("npcl & {\\boldmath$94.00 \\pm 0.31$} & $92.60$ \\\\"), "{}", table().latex());
    }

    #[test]
    fn equal_figures_are_marked_alike() {
        let mut table = table();
        table.rows[0].1[0].as_mut().unwrap().mean = 93.999;
        assert!(table.is_best(0, 0) && table.is_best(1, 0));
    }

    #[test]
    fn std_is_the_sample_standard_deviation() {
        let cell = Cell::over(&[1.0, 2.0, 4.0]).unwrap();
        assert!((cell.std.unwrap() - 1.527_525_231_651_946_7).abs() < 1e-12, "{cell:?}");
        assert_eq!(Cell::over(&[3.0]).unwrap().std, None);
        assert_eq!(Cell::over(&[]), None);
    }
}
