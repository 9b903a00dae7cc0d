//! Curves over epochs: a line for the mean over seeds, a shaded area for one standard deviation around it.

use super::canvas::{self, Drawing, GRID, INK, SERIES, SOFT, Size, font};
use super::table::Cell;
use crate::ui::failure::Outcome;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A picture of curves.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    /// What the picture shows.
    pub title: String,
    /// What the y axis shows.
    pub y_label: String,
    /// One curve per method.
    pub series: Vec<Series>,
}

/// One curve: for each epoch (counted from 1) a mean and a standard deviation.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Epoch, mean, standard deviation (0 for a single run).
    pub points: Vec<(f64, f64, f64)>,
}

impl Series {
    /// The curve of several runs. An epoch that only some of them reached is averaged over those.
    pub fn over(name: impl Into<String>, runs: &[Vec<Option<f64>>]) -> Self {
        let length = runs.iter().map(Vec::len).max().unwrap_or(0);
        let points = (0..length).filter_map(|epoch| {
            let values: Vec<f64> =
                runs.iter().filter_map(|run| *run.get(epoch)?).filter(|value| value.is_finite()).collect();
            Cell::over(&values).map(|cell| ((epoch + 1) as f64, cell.mean, cell.std.unwrap_or(0.0)))
        });
        Self { name: name.into(), points: points.collect() }
    }
}

impl Curves {
    /// For wide screens.
    pub const WIDE: Size = Size { width: 860, height: 400, type_size: 17 };
    /// For phones.
    pub const NARROW: Size = Size { width: 380, height: 330, type_size: 16 };

    /// True if there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.series.iter().all(|series| series.points.is_empty())
    }

    /// True if every value is 0.
    pub fn is_zero(&self) -> bool {
        self.series.iter().flat_map(|series| &series.points).all(|(_, mean, _)| *mean == 0.0)
    }

    /// As an `<svg>` element.
    ///
    /// # Errors
    /// A picture that cannot be drawn.
    pub fn svg(&self, size: Size) -> Outcome<String> {
        canvas::svg(self, size, &self.title, &self.description())
    }

    /// As the bytes of a PNG file.
    ///
    /// # Errors
    /// A picture that cannot be drawn.
    pub fn png(&self) -> Outcome<Vec<u8>> {
        canvas::png(self, Self::WIDE)
    }

    /// The picture in words, for screen readers: where each curve begins and ends.
    pub fn description(&self) -> String {
        let ends = self.series.iter().filter_map(|series| {
            let ((_, first, _), (epoch, last, _)) = (series.points.first()?, series.points.last()?);
            Some(format!("{}: from {:.1} % to {:.1} % at epoch {epoch}", series.name, 100.0 * first, 100.0 * last))
        });
        format!("{} over epochs. {}.", self.y_label, ends.collect::<Vec<_>>().join("; "))
    }

    /// The range of the y axis: the smallest range of whole tenths that holds all curves; it goes above 1 only if a mean does,
    /// as bounds can.
    fn y_range(&self) -> (f64, f64) {
        let values = || self.series.iter().flat_map(|series| series.points.iter());
        let low = values().map(|(_, mean, std)| mean - std).fold(f64::MAX, f64::min);
        let high = values().map(|(_, mean, std)| mean + std).fold(f64::MIN, f64::max);
        if low > high {
            return (0.0, 1.0);
        }
        let (low, high) = ((low * 10.0 - 1e-9).floor() / 10.0, (high * 10.0 + 1e-9).ceil() / 10.0);
        let low = low.clamp(0.0, 0.9);
        let most = if values().any(|(_, mean, _)| *mean > 1.0) { f64::MAX } else { 1.0 };
        (low, high.clamp(low + 0.1, most))
    }
}

impl Drawing for Curves {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>, size: Size, scale: u32) -> Result<(), String>
    where
        B::ErrorType: 'static,
    {
        let words = |error: DrawingAreaErrorKind<B::ErrorType>| error.to_string();
        let em = size.type_size as i32;
        let text = |color: &RGBColor| font(size.type_size).color(color);
        // The legend is drawn above the chart, so that it never hides a curve. It wraps.
        let mut pen = (em * 7 / 2, em);
        for (series, color) in self.series.iter().zip(SERIES.iter().cycle()) {
            let (wide, _) = area.estimate_text_size(&series.name, &text(&INK)).map_err(words)?;
            let advance = wide as i32 + em * 7 / 2;
            if pen.0 + advance > size.width as i32 && pen.0 > em * 7 / 2 {
                pen = (em * 7 / 2, pen.1 + em * 3 / 2);
            }
            let stroke = color.stroke_width(3 * scale);
            area.draw(&PathElement::new(vec![(pen.0, pen.1), (pen.0 + em * 5 / 4, pen.1)], stroke)).map_err(words)?;
            let style = text(&INK).pos(Pos::new(HPos::Left, VPos::Center));
            area.draw(&Text::new(series.name.clone(), (pen.0 + em * 7 / 4, pen.1), style)).map_err(words)?;
            pen.0 += advance;
        }
        let (_, rest) = area.split_vertically(pen.1 + em);
        let (low, high) = self.y_range();
        let last =
            self.series.iter().filter_map(|series| series.points.last()).map(|point| point.0).fold(2.0, f64::max);
        let mut chart = ChartBuilder::on(&rest)
            .margin_top(em / 2)
            .margin_right(em)
            .margin_bottom(em / 4)
            .x_label_area_size(em * 5 / 2)
            .y_label_area_size(em * 7 / 2)
            .build_cartesian_2d(1.0..last, low..high)
            .map_err(words)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID.stroke_width(scale))
            .axis_style(GRID.stroke_width(scale))
            .x_labels((size.width / size.type_size / 5) as usize)
            .y_labels(6)
            .x_label_formatter(&|epoch| format!("{epoch:.0}"))
            .y_label_formatter(&|value| format!("{:.0} %", 100.0 * value))
            .label_style(text(&SOFT))
            .axis_desc_style(text(&SOFT))
            .x_desc("epoch")
            .draw()
            .map_err(words)?;
        for (series, color) in self.series.iter().zip(SERIES.iter().cycle()) {
            let above = series.points.iter().map(|&(epoch, mean, std)| (epoch, (mean + std).min(high)));
            let below = series.points.iter().rev().map(|&(epoch, mean, std)| (epoch, (mean - std).max(low)));
            let shade: Vec<_> = above.chain(below).collect();
            if series.points.len() > 1 && series.points.iter().any(|point| point.2 > 0.0) {
                chart.draw_series([Polygon::new(shade, color.mix(0.18))]).map_err(words)?;
            }
            let line = series.points.iter().map(|&(epoch, mean, _)| (epoch, mean));
            if series.points.len() == 1 {
                let dots = line.map(|point| Circle::new(point, 3 * scale as i32, color.filled()));
                chart.draw_series(dots).map_err(words)?;
            } else {
                chart.draw_series(LineSeries::new(line, color.stroke_width(2 * scale))).map_err(words)?;
            }
        }
        Ok(())
    }
}
