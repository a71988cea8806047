//! Charts: panels side by side with axes, and one legend for all.

use super::svg::{Anchor, Svg};

const WIDTH: f64 = 880.0;
const HEIGHT: f64 = 330.0;
const TOP: f64 = 96.0;
const BOTTOM: f64 = 48.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 30.0;
const GAP: f64 = 44.0;

/// How numbers become places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale {
    Linear(f64, f64),
    /// From above zero on.
    Log(f64, f64),
}

impl Scale {
    /// From 0 to 1; what is beyond the ends is put there.
    fn place(self, value: f64) -> f64 {
        let part = match self {
            Self::Linear(from, to) => (value - from) / (to - from),
            Self::Log(from, to) => (value.max(from) / from).ln() / (to / from).ln(),
        };
        part.clamp(0.0, 1.0)
    }

    /// Where labels stand: at most so many.
    fn ticks(self, most: usize) -> Vec<f64> {
        match self {
            Self::Linear(from, to) => {
                let rough = (to - from) / most as f64;
                let power = 10_f64.powf(rough.log10().floor());
                let step = [1.0, 2.0, 2.5, 5.0, 10.0]
                    .iter()
                    .map(|n| n * power)
                    .find(|step| *step >= rough * 0.999)
                    .unwrap_or(10.0 * power);
                let first = (from / step).ceil() as i64;
                let last = (to / step + 1e-9).floor() as i64;
                (first..=last).map(|n| n as f64 * step).collect()
            }
            Self::Log(from, to) => {
                let (first, last) = (from.log10().ceil() as i32, to.log10().floor() as i32);
                let step = ((last - first) as usize / (most + 1) + 1) as i32;
                (first..=last)
                    .filter(|n| (n - first) % step == 0)
                    .map(|n| 10_f64.powi(n))
                    .collect()
            }
        }
    }
}

/// An axis.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) label: String,
    pub(super) scale: Scale,
    /// Written behind numbers.
    pub(super) unit: &'static str,
}

impl Axis {
    pub(super) fn new(label: impl Into<String>, scale: Scale, unit: &'static str) -> Self {
        Self {
            label: label.into(),
            scale,
            unit,
        }
    }
}

/// What is drawn.
#[derive(Clone, Debug)]
pub(super) enum Mark {
    Line(usize, Vec<(f64, f64)>),
    Dots(usize, Vec<(f64, f64)>),
}

/// One panel.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) marks: Vec<Mark>,
}

/// A chart.
#[derive(Clone, Debug)]
pub(super) struct Chart {
    pub(super) title: String,
    /// What one should see.
    pub(super) note: String,
    /// The names of the series, by number; those without a name are left out of the legend.
    pub(super) legend: Vec<(usize, String)>,
    /// Whether the series are dots.
    pub(super) dots: bool,
    pub(super) panels: Vec<Panel>,
}

impl Chart {
    /// The chart as a picture.
    pub(super) fn svg(&self) -> String {
        let mut svg = Svg::new(WIDTH, HEIGHT);
        svg.text(16.0, 26.0, Anchor::Start, "title", &self.title);
        svg.text(16.0, 45.0, Anchor::Start, "note", &self.note);
        self.legend(&mut svg);
        let same_y = self.panels.iter().all(|p| p.y.label == self.panels[0].y.label);
        let gap = if same_y { GAP } else { LEFT };
        let count = self.panels.len() as f64;
        let width = (WIDTH - LEFT - RIGHT - gap * (count - 1.0)) / count;
        for (n, panel) in self.panels.iter().enumerate() {
            let frame = Frame {
                x: LEFT + n as f64 * (width + gap),
                width,
            };
            frame.draw(&mut svg, panel, n == 0 || !same_y);
        }
        svg.finish(&self.title, &self.note)
    }

    fn legend(&self, svg: &mut Svg) {
        let mut x = 16.0;
        for (series, name) in &self.legend {
            if self.dots {
                svg.mark(*series, x + 8.0, 62.0);
                x += 18.0;
            } else {
                svg.line(&format!("line c{series}"), &[(x, 62.0), (x + 28.0, 62.0)]);
                x += 34.0;
            }
            svg.text(x, 66.0, Anchor::Start, "", name);
            // Letters are about so wide; there is no way to ask.
            x += 6.6 * name.chars().count() as f64 + 22.0;
        }
    }
}

/// Where a panel is.
struct Frame {
    x: f64,
    width: f64,
}

impl Frame {
    fn draw(&self, svg: &mut Svg, panel: &Panel, with_y: bool) {
        let (top, bottom) = (TOP, HEIGHT - BOTTOM);
        let right = self.x + self.width;
        let x_of = |value: f64| self.x + panel.x.scale.place(value) * self.width;
        let y_of = |value: f64| bottom - panel.y.scale.place(value) * (bottom - top);
        svg.text(self.x, top - 9.0, Anchor::Start, "panel", &panel.title);
        for tick in panel.y.scale.ticks(6) {
            let y = y_of(tick);
            svg.line("grid", &[(self.x, y), (right, y)]);
            if with_y {
                svg.text(self.x - 6.0, y + 4.0, Anchor::End, "note", &label(tick, panel.y.unit));
            }
        }
        // Labels need room: about 50 units each.
        for tick in panel.x.scale.ticks((self.width / 50.0) as usize) {
            let x = x_of(tick);
            svg.line("axis", &[(x, bottom), (x, bottom + 4.0)]);
            svg.text(x, bottom + 17.0, Anchor::Middle, "note", &label(tick, panel.x.unit));
        }
        svg.line("axis", &[(self.x, top), (self.x, bottom), (right, bottom)]);
        svg.text(
            f64::midpoint(self.x, right),
            bottom + 36.0,
            Anchor::Middle,
            "note",
            &panel.x.label,
        );
        if with_y {
            svg.upright(self.x - 56.0, f64::midpoint(top, bottom), &panel.y.label);
        }
        for mark in &panel.marks {
            match mark {
                Mark::Line(series, points) => {
                    let points: Vec<_> = points.iter().map(|(x, y)| (x_of(*x), y_of(*y))).collect();
                    svg.line(&format!("line c{series}"), &points);
                }
                Mark::Dots(series, points) => {
                    for (x, y) in points {
                        svg.mark(*series, x_of(*x), y_of(*y));
                    }
                }
            }
        }
    }
}

/// A number on an axis.
fn label(value: f64, unit: &str) -> String {
    let rounded = (value * 1000.0).round() / 1000.0;
    if value.abs() >= 1000.0 && (value % 1000.0).abs() < 1e-6 {
        format!("{},000{unit}", value / 1000.0)
    } else {
        format!("{rounded}{unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_numbers() {
        assert_eq!(Scale::Linear(0.0, 30.0).ticks(5), [0.0, 10.0, 20.0, 30.0]);
        assert_eq!(Scale::Linear(0.0, 8.0).ticks(4), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(Scale::Log(0.1, 3000.0).ticks(6), [0.1, 1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(label(2000.0, " s"), "2,000 s");
        assert_eq!(label(0.1, " s"), "0.1 s");
    }

    #[test]
    fn what_is_beyond_an_axis_is_drawn_at_its_end() {
        assert!(Scale::Log(0.1, 100.0).place(0.0).abs() < 1e-9);
        assert!((Scale::Linear(0.0, 10.0).place(20.0) - 1.0).abs() < 1e-9);
    }
}
