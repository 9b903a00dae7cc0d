//! [`HeatMap`]: a matrix of fractions as a picture. Rows are true classes, columns are given or predicted ones.

use super::canvas::{self, Drawing, GRID, HEAT, INK, ON_HEAT, SOFT, Size, font};
use crate::ui::failure::Outcome;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A matrix with names. Each row sums to 1, or is all zero for a class without rows.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    /// What the matrix is.
    pub title: String,
    /// What the rows are.
    pub row_label: String,
    /// What the columns are.
    pub column_label: String,
    /// Names of rows and columns.
    pub classes: Vec<String>,
    /// Fractions, `[row][column]`.
    pub values: Vec<Vec<f64>>,
}

impl HeatMap {
    /// With more classes the cells would be too small to see; the description names the largest ones instead.
    pub const MOST_CLASSES: usize = 120;

    /// Whether its cells are large enough to be seen.
    pub fn is_visible(&self) -> bool {
        self.classes.len() <= Self::MOST_CLASSES
    }

    /// Turns counts into fractions of their row.
    pub fn from_counts(
        title: impl Into<String>,
        row_label: impl Into<String>,
        column_label: impl Into<String>,
        classes: &[String],
        counts: &[Vec<u64>],
    ) -> Self {
        let fractions = |row: &Vec<u64>| {
            let total = row.iter().map(|&count| count as f64).sum::<f64>().max(1.0);
            row.iter().map(|&count| count as f64 / total).collect()
        };
        Self {
            title: title.into(),
            row_label: row_label.into(),
            column_label: column_label.into(),
            classes: classes.to_vec(),
            values: counts.iter().map(fractions).collect(),
        }
    }

    /// The picture's size: cells of 4 to 44 pixels, and room for the names.
    pub fn size(&self) -> Size {
        let cell = (420 / self.classes.len().max(1)).clamp(4, 44) as u32;
        // With few classes, cells are larger still, so that the heading above them fits.
        let side = (cell * self.classes.len() as u32).max(8 * self.heading().chars().count() as u32);
        let labels = if self.shows_names() { self.name_width() } else { 12 };
        Size { width: labels + 34 + side, height: 34 + labels.min(120) + side, type_size: 16 }
    }

    /// As an `<svg>` element.
    ///
    /// # Errors
    /// A picture that cannot be drawn.
    pub fn svg(&self) -> Outcome<String> {
        canvas::svg(self, self.size(), &self.title, &self.description())
    }

    /// As the bytes of a PNG file.
    ///
    /// # Errors
    /// A picture that cannot be drawn.
    pub fn png(&self) -> Outcome<Vec<u8>> {
        canvas::png(self, self.size())
    }

    /// The picture in words, for screen readers: the mean of the diagonal and the largest confusions.
    pub fn description(&self) -> String {
        let row =
            |(i, row): (usize, &Vec<f64>)| row.iter().enumerate().map(|(j, &value)| (i, j, value)).collect::<Vec<_>>();
        describe(&self.row_label, &self.column_label, &self.classes, self.values.iter().enumerate().flat_map(row))
    }

    fn heading(&self) -> String {
        format!("{} in %", self.column_label)
    }

    fn shows_names(&self) -> bool {
        self.classes.len() <= 40
    }

    /// Room for the longest name, in pixels, assuming that a letter is 8 pixels wide.
    fn name_width(&self) -> u32 {
        let longest = self.classes.iter().map(|name| shortened(name).chars().count()).max().unwrap_or(1);
        14 + 8 * longest as u32
    }
}

/// Describes a matrix, given its entries (row, column, fraction); entries that are left out count as 0.
pub fn describe(
    row_label: &str,
    column_label: &str,
    classes: &[String],
    entries: impl Iterator<Item = (usize, usize, f64)>,
) -> String {
    let mut diagonal = 0.0;
    // Keep only the three largest, and of equal ones the first: there may be millions of entries.
    let mut most: Vec<(f64, usize, usize)> = Vec::new();
    for (i, j, value) in entries {
        if i == j {
            diagonal += value / classes.len().max(1) as f64;
        } else if value > 0.0 && (most.len() < 3 || value > most[2].0) {
            most.insert(most.partition_point(|largest| largest.0 >= value), (value, i, j));
            most.truncate(3);
        }
    }
    let largest: Vec<String> =
        most.iter().map(|(value, i, j)| format!("{} as {} {:.1} %", classes[*i], classes[*j], 100.0 * value)).collect();
    let mut text =
        format!("Rows: {row_label}; columns: {column_label}. Diagonal {:.1} % on average.", 100.0 * diagonal);
    if !largest.is_empty() {
        text.push_str(&format!(" Largest off the diagonal: {}.", largest.join(", ")));
    }
    text
}

impl Drawing for HeatMap {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>, size: Size, scale: u32) -> Result<(), String>
    where
        B::ErrorType: 'static,
    {
        let words = |error: DrawingAreaErrorKind<B::ErrorType>| error.to_string();
        let (k, scale) = (self.classes.len(), scale as i32);
        let names = scale * if self.shows_names() { self.name_width() as i32 } else { 12 };
        let (left, top) = (names + 26 * scale, 28 * scale);
        let cell = (size.width as i32 - left - 8 * scale) / k.max(1) as i32;
        let style = |color: RGBColor, h, v| font(size.type_size).color(&color).pos(Pos::new(h, v));
        for (i, row) in self.values.iter().enumerate() {
            for (j, &value) in row.iter().enumerate() {
                let corner = (left + j as i32 * cell, top + i as i32 * cell);
                let value = if value.is_finite() { value.clamp(0.0, 1.0) } else { 0.0 };
                let gap = i32::from(cell > 10 * scale) * scale;
                let far = (corner.0 + cell - gap, corner.1 + cell - gap);
                // The square root makes small fractions visible, which matter off the diagonal.
                let heat = HEAT.mix(0.04 + 0.92 * value.sqrt());
                area.draw(&Rectangle::new([corner, far], heat.filled())).map_err(words)?;
                if cell >= 26 * scale && value >= 0.005 {
                    let color = if value.sqrt() > 0.8 { ON_HEAT } else { INK };
                    let small = font(size.type_size * 14 / 16).color(&color).pos(Pos::new(HPos::Center, VPos::Center));
                    let middle = (corner.0 + cell / 2, corner.1 + cell / 2);
                    area.draw(&Text::new(format!("{:.0}", 100.0 * value), middle, small)).map_err(words)?;
                }
            }
        }
        if self.shows_names() {
            let every = if cell >= 14 * scale { 1 } else { 2 };
            for (i, name) in self.classes.iter().enumerate().step_by(every) {
                let name = shortened(&crate::ui::terminal::plain(name));
                let middle = i as i32 * cell + cell / 2;
                let place = (left - 6 * scale, top + middle);
                area.draw(&Text::new(name.clone(), place, style(INK, HPos::Right, VPos::Center))).map_err(words)?;
                let below = (left + middle, top + k as i32 * cell + 6 * scale);
                if name.chars().count() as i32 * 8 * scale <= cell {
                    area.draw(&Text::new(name, below, style(INK, HPos::Center, VPos::Top))).map_err(words)?;
                } else {
                    let turned = font(size.type_size).transform(FontTransform::Rotate270).color(&INK);
                    let turned = turned.pos(Pos::new(HPos::Right, VPos::Center));
                    area.draw(&Text::new(name, below, turned)).map_err(words)?;
                }
            }
        }
        area.draw(&Text::new(self.heading(), (left, top - 8 * scale), style(SOFT, HPos::Left, VPos::Bottom)))
            .map_err(words)?;
        let side =
            font(size.type_size).transform(FontTransform::Rotate270).color(&SOFT).pos(Pos::new(HPos::Right, VPos::Top));
        area.draw(&Text::new(self.row_label.clone(), (4 * scale, top), side)).map_err(words)?;
        let frame = [(left, top), (left + k as i32 * cell, top + k as i32 * cell)];
        area.draw(&Rectangle::new(frame, GRID.stroke_width(scale as u32))).map_err(words)
    }
}

/// A name of at most 16 characters.
fn shortened(name: &str) -> String {
    if name.chars().count() <= 16 { name.to_owned() } else { name.chars().take(15).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It used to be stretched to the width of the page, with letters as large as the cells.
    #[test]
    fn a_map_of_two_classes_is_a_small_picture_with_type_of_the_usual_size() {
        let classes = ["negative".to_owned(), "positive".to_owned()];
        let map = HeatMap::from_counts("Noise", "true class", "given label", &classes, &[vec![90, 10], vec![3, 7]]);
        let Size { width, type_size, .. } = map.size();
        assert!(width < 300 && type_size == 16, "{width} {type_size}");
        assert!(map.svg().unwrap().contains(&format!(" width=\"{width}\"")));
        assert!(crate::report::page::STYLE.contains("figure svg { display: block; max-width: 100%;"));
    }
}
