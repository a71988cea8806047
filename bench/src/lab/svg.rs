//! A small writer of SVG: one picture that can be read in light and dark, without fonts or scripts from elsewhere.

use std::fmt::Write as _;

/// What every picture looks like. The colours keep apart for all kinds of colour blindness (after Okabe and Ito); lines
/// differ in their dashes too.
const STYLE: &str = "
text { font: 12px system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif; fill: #1f2328 }
.title { font-size: 15px; font-weight: 600 }
.panel { font-weight: 600 }
.note { fill: #59636e }
.paper { fill: #ffffff; stroke: #d1d9e0 }
.grid { stroke: #e3e7ea }
.axis { stroke: #818b98; fill: none }
.line { fill: none; stroke-width: 2; stroke-linejoin: round }
.c0 { stroke: #d55e00 } .d0 { fill: #d55e00 }
.c1 { stroke: #0072b2 } .d1 { fill: #0072b2 }
.c2 { stroke: #008560 } .d2 { fill: #008560 }
.c3 { stroke: #a23e7c } .d3 { fill: #a23e7c }
.c4 { stroke: #6e7781 } .d4 { fill: #6e7781 }
.c1 { stroke-dasharray: 9 3 } .c2 { stroke-dasharray: 2 4 } .c3 { stroke-dasharray: 9 3 2 3 } .c4 { stroke-dasharray: 3 3 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.note { fill: #9198a1 }
.paper { fill: #0d1117; stroke: #3d444d }
.grid { stroke: #262c34 }
.axis { stroke: #768390 }
.c0 { stroke: #ff8c42 } .d0 { fill: #ff8c42 }
.c1 { stroke: #58b0f0 } .d1 { fill: #58b0f0 }
.c2 { stroke: #34c79a } .d2 { fill: #34c79a }
.c3 { stroke: #e391c2 } .d3 { fill: #e391c2 }
.c4 { stroke: #9aa4af } .d4 { fill: #9aa4af }
}
";

/// Where a text's given point is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A picture in the making.
pub(super) struct Svg {
    body: String,
    width: f64,
    height: f64,
}

impl Svg {
    pub(super) fn new(width: f64, height: f64) -> Self {
        Self {
            body: String::new(),
            width,
            height,
        }
    }

    pub(super) fn text(&mut self, x: f64, y: f64, anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let _ = writeln!(
            self.body,
            r#"<text x="{}" y="{}" text-anchor="{anchor}" class="{class}">{}</text>"#,
            number(x),
            number(y),
            escaped(text)
        );
    }

    /// A text that is read from below.
    pub(super) fn upright(&mut self, x: f64, y: f64, text: &str) {
        let (x, y) = (number(x), number(y));
        let _ = writeln!(
            self.body,
            r#"<text x="{x}" y="{y}" text-anchor="middle" class="note" transform="rotate(-90 {x} {y})">{}</text>"#,
            escaped(text)
        );
    }

    pub(super) fn line(&mut self, class: &str, points: &[(f64, f64)]) {
        let points: Vec<String> = points
            .iter()
            .map(|(x, y)| format!("{},{}", number(*x), number(*y)))
            .collect();
        let _ = writeln!(
            self.body,
            r#"<polyline class="{class}" points="{}"/>"#,
            points.join(" ")
        );
    }

    /// A mark whose shape tells the series apart as its colour does.
    pub(super) fn mark(&mut self, series: usize, x: f64, y: f64) {
        let class = format!("d{series}");
        let radius = 3.0;
        let _ = if series == 0 {
            let side = 1.7 * radius;
            writeln!(
                self.body,
                r#"<rect class="{class}" x="{}" y="{}" width="{}" height="{}"/>"#,
                number(x - side / 2.0),
                number(y - side / 2.0),
                number(side),
                number(side)
            )
        } else {
            writeln!(
                self.body,
                r#"<circle class="{class}" cx="{}" cy="{}" r="{}"/>"#,
                number(x),
                number(y),
                number(radius)
            )
        };
    }

    /// The whole picture. Title and description are what a screen reader says.
    pub(super) fn finish(self, title: &str, description: &str) -> String {
        let (width, height) = (number(self.width), number(self.height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\" aria-labelledby=\"title desc\">\n<title id=\"title\">{}</title>\n\
             <desc id=\"desc\">{}</desc>\n<style>{STYLE}</style>\n\
             <rect class=\"paper\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"6\"/>\n{}</svg>\n",
            escaped(title),
            escaped(description),
            number(self.width - 1.0),
            number(self.height - 1.0),
            self.body
        )
    }
}

/// With one digit after the point at the most: more cannot be seen.
fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_the_same_each_time_and_says_what_it_shows() {
        let draw = || {
            let mut svg = Svg::new(100.0, 50.0);
            svg.text(10.0, 20.04, Anchor::Start, "note", "a < b & c");
            svg.line("line c1", &[(0.0, 1.0), (2.26, 3.0)]);
            svg.finish("Title", "What is seen")
        };
        let picture = draw();
        assert_eq!(picture, draw());
        assert!(picture.contains(">a &lt; b &amp; c</text>"), "{picture}");
        assert!(picture.contains(r#"points="0,1 2.3,3""#), "{picture}");
        assert!(picture.contains("prefers-color-scheme: dark"));
        assert!(picture.contains("<title id=\"title\">Title</title>"));
    }
}
