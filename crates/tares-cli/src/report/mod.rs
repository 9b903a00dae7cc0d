//! Reports are pure functions of records: the same records give the same bytes. Nothing here trains, reads data or
//! uses Burn; only [`write_all`] and [`write_tables`] write files.

pub mod audit_page;
pub mod consensus_page;
pub mod curves;
pub mod document;
pub mod escape;
pub mod gallery;
pub mod heat_map;
pub mod page;
pub mod quantity;
pub mod summary;
pub mod table;
pub mod told_apart;

mod canvas;

use crate::files::{create_directory, file_name, write_whole};
use crate::record::{RunRecord, in_order};
use crate::ui::failure::Outcome;
use quantity::QUANTITIES;
use std::path::Path;
use summary::Summary;

/// Writes the page, the tables and the pictures of some runs into a directory; returns one row per run.
///
/// # Errors
/// The directory cannot be written, or a picture cannot be drawn.
pub fn write_all(directory: &Path, title: &str, runs: &[RunRecord]) -> Outcome<Vec<Summary>> {
    create_directory(directory)?;
    let write = |name: &str, bytes: &[u8]| write_whole(&directory.join(name), bytes);
    let rows: Vec<Summary> = runs.iter().filter_map(Summary::of).collect();
    write("summary.csv", summary::csv(&rows)?.as_bytes())?;
    write_tables(directory, &rows)?;
    for quantity in &QUANTITIES {
        for (noise, picture) in quantity::curves(runs, quantity) {
            let name = format!("{}-{}", quantity.file, file_name(&noise));
            write(&format!("{name}.svg"), picture.svg(curves::Curves::WIDE)?.as_bytes())?;
            write(&format!("{name}.png"), &picture.png()?)?;
        }
    }
    for run in page::representatives(runs) {
        for (kind, map) in page::matrices(run).into_iter().filter(|(_, map)| map.is_visible()) {
            let name = format!("{kind}-{}-{}", file_name(&run.manifest.method), file_name(&page::noise_name(run)));
            write(&format!("{name}.svg"), map.svg()?.as_bytes())?;
            write(&format!("{name}.png"), &map.png()?)?;
        }
    }
    write("report.html", page::page(title, runs)?.as_bytes())?;
    Ok(rows)
}

/// Writes the tables of accuracy and label precision as text, Markdown, LaTeX and CSV.
///
/// # Errors
/// The directory cannot be written.
pub fn write_tables(directory: &Path, rows: &[Summary]) -> Outcome<()> {
    let paper = crate::ui::terminal::Screen { json: false, quiet: true, color: false, live: false, width: 100 };
    let tables =
        [("test-accuracy", summary::accuracy_table(rows)), ("label-precision", summary::precision_table(rows))];
    for (name, table) in tables {
        let forms =
            [("txt", table.text(&paper)), ("md", table.markdown()), ("tex", table.latex()), ("csv", table.csv())];
        for (ending, text) in forms {
            write_whole(&directory.join(format!("table-{name}.{ending}")), text.as_bytes())?;
        }
    }
    Ok(())
}

/// A title for some runs: their data and methods.
pub fn title(runs: &[RunRecord]) -> String {
    let data = in_order(runs.iter().map(|run| run.manifest.data.source.clone())).join(", ");
    let methods = in_order(runs.iter().map(|run| run.manifest.method.clone()));
    match methods.as_slice() {
        [one] => format!("{data}: {one}"),
        several => format!("{data}: {} methods compared", several.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::made_up::made_up;
    use std::path::PathBuf;

    fn runs() -> Vec<RunRecord> {
        let mut runs = Vec::new();
        for (noise, rate) in [("symmetric", 0.5), ("pair", 0.35)] {
            for (method, level) in [("standard", 0.8), ("npcl", 0.9)] {
                runs.extend((1..=3).map(|seed| made_up(method, noise, rate, seed, level)));
            }
        }
        runs
    }

    /// Compares with a file in `tests/golden/`. `TARES_BLESS=1 cargo test` overwrites the file; review the diff then.
    fn golden(name: &str, actual: &str) {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
        if std::env::var_os("TARES_BLESS").is_some() {
            std::fs::write(&path, actual).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(expected == actual, "{name} differs from {}:\n{actual}", path.display());
    }

    #[test]
    fn tables_are_as_pinned() {
        let rows: Vec<Summary> = runs().iter().filter_map(Summary::of).collect();
        let place = tempfile::tempdir().unwrap();
        write_tables(place.path(), &rows).unwrap();
        for name in
            ["table-test-accuracy.txt", "table-test-accuracy.md", "table-test-accuracy.tex", "table-test-accuracy.csv"]
        {
            golden(name, &std::fs::read_to_string(place.path().join(name)).unwrap());
        }
        golden("summary.csv", &summary::csv(&rows).unwrap());
    }

    #[test]
    fn pictures_are_as_pinned() {
        let (_, picture) = quantity::curves(&runs(), &QUANTITIES[0]).remove(0);
        golden("test-accuracy.svg", &picture.svg(curves::Curves::WIDE).unwrap());
        let (_, map) = page::matrices(&runs()[0]).remove(0);
        golden("confusion.svg", &map.svg().unwrap());
    }

    #[test]
    fn the_page_is_as_pinned_and_hostile_names_stay_text() {
        let page = page::page("<script>alert(1)</script>", &runs()).unwrap();
        golden("report.html", &page);
        assert!(!page.contains("<script>") && !page.contains("<b>cow"));
        for outside in ["src=\"http", "href=\"http", "url(", "@import"] {
            assert!(!page.contains(outside), "{outside}");
        }
    }

    #[test]
    fn everything_is_written_and_pngs_are_pngs() {
        let place = tempfile::tempdir().unwrap();
        let rows = write_all(place.path(), "made up", &runs()).unwrap();
        assert_eq!(rows.len(), 12);
        let mut pictures = 0;
        for entry in std::fs::read_dir(place.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "png") {
                pictures += 1;
                assert!(std::fs::read(&path).unwrap().starts_with(b"\x89PNG"), "{}", path.display());
                assert!(path.with_extension("svg").exists());
            }
        }
        assert_eq!(pictures, 5 * 2 + 2 * 4); // five curves per noise, two matrices per row
    }

    #[test]
    fn an_unfinished_run_has_a_report_too() {
        let mut run = made_up("npcl", "symmetric", 0.5, 1, 0.9);
        run.manifest.result = None;
        run.gallery.clear();
        run.epochs.truncate(1);
        let page = page::page("one epoch", std::slice::from_ref(&run)).unwrap();
        assert!(page.contains("one epoch") && !page.contains("curves-1"), "one epoch is a dot, not a curve");
    }
}
