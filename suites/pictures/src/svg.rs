//! A terminal's screen as an SVG that needs no font but one of fixed width, and reads well on light and dark pages.

use std::fmt::Write as _;

use agents_testkit::book::tame;
use vt100::{Cell, Color, Parser, Screen};

/// The width and height of a character, and the space around all of them.
const ACROSS: f32 = 8.4;
const DOWN: f32 = 18.0;
const MARGIN: f32 = 16.0;

/// Sixteen colours for the sixteen that programs name: readable on the background below.
const NAMED: [&str; 16] = [
    "#3b4252", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d8dee9",
    "#6b7489", "#ff7b86", "#b5e890", "#ffd787", "#82c4ff", "#dd9df2", "#7fd6e0", "#ffffff",
];
const PAPER: &str = "#1e222a";
const INK: &str = "#d8dee9";

/// What was typed, and what a terminal of that width shows of what came.
pub(crate) fn picture(typed: &str, shown: &str, columns: u16, rows: u16) -> String {
    let mut parser = Parser::new(rows, columns, 0);
    parser.process(format!("\x1b[1;32m$\x1b[0m \x1b[1m{typed}\x1b[0m\r\n").as_bytes());
    parser.process(shown.as_bytes());
    let screen = parser.screen();
    let used = (0..rows).rev().find(|row| !is_blank(screen, *row)).map_or(1, |row| row + 1);
    let width = f32::from(columns) * ACROSS + 2.0 * MARGIN;
    let height = f32::from(used) * DOWN + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\">\n\
         <title>{}</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{PAPER}\"/>\n\
         <g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"14\" fill=\"{INK}\">\n",
        escaped(typed)
    );
    for row in 0..used {
        line(&mut svg, screen, row, columns);
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

fn is_blank(screen: &Screen, row: u16) -> bool {
    (0..screen.size().1).all(|column| !screen.cell(row, column).is_some_and(is_ink))
}

fn is_ink(cell: &Cell) -> bool {
    !cell.contents().trim().is_empty()
}

/// One line: what looks alike and stands together is one piece of text, placed by its column, so that no font can shift it. Where two
/// spaces or more are between words, a new piece begins: browsers make one of them, and would stretch the rest.
fn line(svg: &mut String, screen: &Screen, row: u16, columns: u16) {
    let ink = |column: u16| screen.cell(row, column).filter(|it| column < columns && is_ink(it));
    let mut column = 0;
    while column < columns {
        let Some(first) = ink(column) else {
            column += 1;
            continue;
        };
        let (since, look) = (column, look(first));
        let (mut text, mut wide) = (String::new(), 0);
        loop {
            if let Some(cell) = ink(column).filter(|cell| self::look(cell) == look) {
                text.push_str(cell.contents());
                column += if cell.is_wide() { 2 } else { 1 };
                wide = column - since;
            } else if ink(column).is_none() && ink(column + 1).is_some() && column + 1 < columns {
                text.push(' ');
                column += 1;
            } else {
                break;
            }
        }
        let (x, y) = (MARGIN + f32::from(since) * ACROSS, MARGIN + (f32::from(row) + 0.75) * DOWN);
        let long = f32::from(wide) * ACROSS;
        // Infallible: it is a string.
        let _ = writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{long:.1}\"{look}>{}</text>",
            escaped(text.trim_end())
        );
    }
}

/// How a cell looks, as attributes.
fn look(cell: &Cell) -> String {
    let mut look = match cell.fgcolor() {
        Color::Default => String::new(),
        Color::Idx(index) => format!(" fill=\"{}\"", NAMED[usize::from(index % 16)]),
        Color::Rgb(red, green, blue) => format!(" fill=\"#{red:02x}{green:02x}{blue:02x}\""),
    };
    if cell.bold() {
        look.push_str(" font-weight=\"bold\"");
    }
    if cell.dim() {
        look.push_str(" opacity=\"0.65\"");
    }
    if cell.italic() {
        look.push_str(" font-style=\"italic\"");
    }
    if cell.underline() {
        look.push_str(" text-decoration=\"underline\"");
    }
    look
}

/// What a picture shows, without what differs from run to run. What runs side by side may end in any order, so there is none.
pub(crate) fn lines(svg: &str) -> Vec<String> {
    let texts = svg.lines().filter_map(|line| {
        let (_, text) = line.strip_prefix("<text ")?.split_once('>')?;
        text.strip_suffix("</text>")
    });
    let mut lines: Vec<String> = texts.map(tame).collect();
    lines.sort();
    lines
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_shows_what_the_screen_shows() {
        let svg =
            picture("a <b>", "\x1b[31mred\x1b[0m & plain\r\nsecond\rSE\x1b[2K\rthird\r\n", 40, 10);
        assert!(svg.contains("<title>a &lt;b&gt;</title>"), "{svg}");
        assert!(svg.contains("fill=\"#e06c75\">red</text>"), "{svg}");
        assert!(svg.contains(">&amp; plain</text>"), "{svg}");
        assert!(svg.contains(">third</text>") && !svg.contains("second"), "{svg}");
        assert_eq!(lines(&svg), ["$", "&amp; plain", "a &lt;b&gt;", "red", "third"]);
        let columns = picture("x", "ab  cd e\r\n", 40, 10);
        assert!(
            columns.contains("x=\"16.0\" y=\"47.5\" textLength=\"16.8\">ab</text>"),
            "{columns}"
        );
        assert!(
            columns.contains("x=\"49.6\" y=\"47.5\" textLength=\"33.6\">cd e</text>"),
            "{columns}"
        );
        // Three lines, not ten.
        assert!(svg.contains("viewBox=\"0 0 368 86\""), "{svg}");
    }

    #[test]
    fn times_ids_and_the_order_of_lines_may_differ() {
        let one = picture("x", "run-0a1b2c3d\r\na: 0.1 s\r\nb: 2 s\r\n", 40, 10);
        let other = picture("x", "run-ffffffff\r\nb: 3 s\r\na: 0.2 s\r\n", 40, 10);
        let different = picture("x", "run-ffffffff\r\nb: 3 s\r\nc: 0.2 s\r\n", 40, 10);
        assert_eq!(lines(&one), lines(&other));
        assert_ne!(lines(&one), lines(&different));
    }
}
