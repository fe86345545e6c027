//! The rows as a picture: time / ideal on each server, a mark for each strategy.

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::rows::Row;
use crate::stats::float;

const SIZE: (u32, u32) = (1000, 500);
/// What the axes enclose.
const LEFT: f64 = 60.0;
const RIGHT: f64 = 984.0;
const TOP: f64 = 84.0;
const BOTTOM: f64 = 460.0;
const INK: RGBColor = RGBColor(40, 40, 40);
const FAINT: RGBColor = RGBColor(222, 222, 222);
const BAND: RGBColor = RGBColor(246, 246, 246);
/// How the strategies look, in their order: told apart by shape, and by colour whatever one's vision.
const LOOKS: [(RGBColor, Shape); 6] = [
    (RGBColor(120, 120, 120), Shape::Corners(3, 0.5)),
    (RGBColor(230, 159, 0), Shape::Corners(3, 0.0)),
    (RGBColor(86, 180, 233), Shape::Corners(4, 0.0)),
    (RGBColor(213, 60, 60), Shape::Corners(4, 0.5)),
    (RGBColor(0, 90, 170), Shape::Round),
    (RGBColor(0, 158, 115), Shape::Round),
];
const RADIUS: f64 = 5.5;

#[derive(Clone, Copy)]
enum Shape {
    Round,
    /// So many corners, the first at the top, turned by this share of the angle between two.
    Corners(u32, f64),
}

type Canvas<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The rows as SVG. The servers stand side by side in the order of the rows, the strategies within each; the scale of
/// the ratio is logarithmic.
pub(crate) fn svg(rows: &[Row]) -> Result<String> {
    let mut text = String::new();
    draw(rows, &SVGBackend::with_string(&mut text, SIZE).into_drawing_area())?;
    Ok(text)
}

fn draw(rows: &[Row], canvas: &Canvas<'_>) -> Result<()> {
    let names = |of: fn(&Row) -> &str| {
        let mut names: Vec<&str> = Vec::new();
        for row in rows {
            if !names.contains(&of(row)) {
                names.push(of(row));
            }
        }
        names
    };
    let (servers, strategies) = (names(|row| &row.server), names(|row| &row.strategy));
    let scale = Scale::of(rows, servers.len(), strategies.len());
    canvas.fill(&WHITE).map_err(broken)?;
    axes(&scale, &servers, canvas)?;
    legend(&strategies, canvas)?;
    for row in rows {
        let position = |names: &[&str], name: &str| names.iter().position(|n| *n == name).unwrap_or_default();
        let strategy = position(&strategies, &row.strategy);
        let at = (scale.x(position(&servers, &row.server), strategy), scale.y(row.ratio));
        let whole = row.unfinished == 0 && row.lost <= 0.0;
        mark(at, look(&row.strategy), whole, canvas)?;
    }
    canvas.present().map_err(broken)
}

/// Where things are, in pixels.
struct Scale {
    servers: f64,
    strategies: f64,
    /// Logarithms of the ratios at the bottom and at the top.
    low: f64,
    high: f64,
}

impl Scale {
    fn of(rows: &[Row], servers: usize, strategies: usize) -> Self {
        let ratios = || rows.iter().map(|row| row.ratio);
        let low = ratios().fold(1.0, f64::min) / 1.1;
        let high = ratios().fold(2.0, f64::max) * 1.15;
        Self { servers: float(servers), strategies: float(strategies), low: low.ln(), high: high.ln() }
    }

    /// The left border of a server's column.
    fn column(&self, server: usize) -> f64 {
        (RIGHT - LEFT).mul_add(float(server) / self.servers, LEFT)
    }

    fn x(&self, server: usize, strategy: usize) -> f64 {
        let width = (RIGHT - LEFT) / self.servers;
        width.mul_add((float(strategy) + 1.0) / (self.strategies + 1.0), self.column(server))
    }

    fn y(&self, ratio: f64) -> f64 {
        BOTTOM - (BOTTOM - TOP) * (ratio.ln() - self.low) / (self.high - self.low)
    }
}

fn axes(scale: &Scale, servers: &[&str], canvas: &Canvas<'_>) -> Result<()> {
    for (n, server) in servers.iter().enumerate() {
        let (left, right) = (scale.column(n), scale.column(n + 1));
        if n % 2 == 0 {
            let band = [pixel((left, TOP)), pixel((right, BOTTOM))];
            canvas.draw(&Rectangle::new(band, BAND.filled())).map_err(broken)?;
        }
        text(server, (f64::midpoint(left, right), BOTTOM + 8.0), 15, (HPos::Center, VPos::Top), canvas)?;
    }
    for line in [1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 50.0, 100.0, 200.0, 500.0] {
        let y = scale.y(line);
        if !(TOP..=BOTTOM).contains(&y) {
            continue;
        }
        let style = if line > 1.0 { FAINT.stroke_width(1) } else { INK.stroke_width(1) };
        let ends = vec![pixel((LEFT, y)), pixel((RIGHT, y))];
        canvas.draw(&PathElement::new(ends, style)).map_err(broken)?;
        text(&format!("{line}"), (LEFT - 8.0, y), 13, (HPos::Right, VPos::Center), canvas)?;
    }
    Ok(())
}

fn legend(strategies: &[&str], canvas: &Canvas<'_>) -> Result<()> {
    let title = "time / ideal by server (1 = a client who knows the server; logarithmic)";
    text(title, (LEFT, 22.0), 17, (HPos::Left, VPos::Center), canvas)?;
    let mut x = LEFT + 6.0;
    for strategy in strategies {
        mark((x, 56.0), look(strategy), true, canvas)?;
        text(strategy, (x + 11.0, 56.0), 14, (HPos::Left, VPos::Center), canvas)?;
        x += 8.0_f64.mul_add(float(strategy.len()), 36.0);
    }
    mark((x, 56.0), (INK, Shape::Round), false, canvas)?;
    let hollow = "hollow: gave papers up, or did not finish";
    text(hollow, (x + 11.0, 56.0), 14, (HPos::Left, VPos::Center), canvas)
}

/// The look of a strategy; in the order of all of them, whichever are shown.
fn look(strategy: &str) -> (RGBColor, Shape) {
    let at = crate::strategy::Strategy::names().position(|name| name == strategy).unwrap_or_default();
    LOOKS[at % LOOKS.len()]
}

fn mark(at: (f64, f64), (colour, shape): (RGBColor, Shape), filled: bool, canvas: &Canvas<'_>) -> Result<()> {
    let style = if filled { colour.filled() } else { colour.stroke_width(2) };
    match shape {
        Shape::Round => canvas.draw(&Circle::new(pixel(at), RADIUS, style)).map_err(broken),
        Shape::Corners(corners, turned) => {
            let corner = |n: u32| {
                let angle = std::f64::consts::TAU * (f64::from(n) + turned) / f64::from(corners);
                let radius = RADIUS * 1.2;
                pixel((radius.mul_add(angle.sin(), at.0), radius.mul_add(-angle.cos(), at.1)))
            };
            let outline = (0..=corners).map(corner);
            if filled {
                canvas.draw(&Polygon::new(outline.collect::<Vec<_>>(), style)).map_err(broken)
            } else {
                canvas.draw(&PathElement::new(outline.collect::<Vec<_>>(), style)).map_err(broken)
            }
        }
    }
}

fn text(text: &str, at: (f64, f64), size: u32, (h, v): (HPos, VPos), canvas: &Canvas<'_>) -> Result<()> {
    let style = ("sans-serif", size).into_font().color(&INK).pos(Pos::new(h, v));
    canvas.draw(&Text::new(text.to_owned(), pixel(at), style)).map_err(broken)
}

#[expect(clippy::cast_possible_truncation, reason = "a place on the canvas")]
fn pixel((x, y): (f64, f64)) -> (i32, i32) {
    (x.round() as i32, y.round() as i32)
}

fn broken(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("cannot draw: {error}")
}
