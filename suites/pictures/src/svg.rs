//! A terminal's screen as an SVG that needs no font but one of fixed width, and reads well on light and dark pages.

use std::fmt::Write as _;

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
         <g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"14\" fill=\"{INK}\" xml:space=\"preserve\">\n",
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

/// One line: what looks alike is one piece of text, placed by its column, so that no font can shift it.
fn line(svg: &mut String, screen: &Screen, row: u16, columns: u16) {
    let mut column = 0;
    while column < columns {
        let Some(first) = screen.cell(row, column).filter(|it| is_ink(it)) else {
            column += 1;
            continue;
        };
        let (since, look) = (column, look(first));
        let mut text = String::new();
        while let Some(cell) = screen.cell(row, column).filter(|_| column < columns) {
            if is_ink(cell) && self::look(cell) != look {
                break;
            }
            text.push_str(if cell.has_contents() { cell.contents() } else { " " });
            column += if cell.is_wide() { 2 } else { 1 };
        }
        let (x, y) = (MARGIN + f32::from(since) * ACROSS, MARGIN + (f32::from(row) + 0.75) * DOWN);
        let text = text.trim_end();
        let long = f32::from(u16::try_from(text.chars().count()).unwrap_or(columns)) * ACROSS;
        if !text.trim().is_empty() {
            // Infallible: it is a string.
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{long:.1}\"{look}>{}</text>",
                escaped(text)
            );
        }
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
        // Three lines, not ten.
        assert!(svg.contains("viewBox=\"0 0 368 86\""), "{svg}");
    }
}
