//! The text of a page.

use agents_system::digits;

/// Elements of which nothing is text.
const SKIPPED: &[&str] = &["script", "style", "head", "noscript", "template", "svg", "iframe"];
/// Elements that stand on lines of their own.
const BLOCKS: &[&str] = &[
    "p",
    "div",
    "br",
    "li",
    "ul",
    "ol",
    "tr",
    "table",
    "section",
    "article",
    "header",
    "footer",
    "nav",
    "main",
    "aside",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "blockquote",
    "dt",
    "dd",
    "hr",
    "pre",
];

/// What there is to read; `None` for what is no text.
#[must_use]
pub fn readable(kind: &str, body: &[u8]) -> Option<String> {
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let is_text = kind.is_empty()
        || kind.starts_with("text/")
        || ["json", "xml", "javascript", "toml", "yaml"].iter().any(|it| kind.contains(it));
    if !is_text || body.iter().take(8 * 1024).any(|byte| *byte == 0) {
        return None;
    }
    let text = String::from_utf8_lossy(body);
    let is_html = kind.contains("html") || kind.is_empty() && text.trim_start().starts_with("<!");
    Some(if is_html { html(&text) } else { text.into_owned() })
}

/// The text between the tags: good enough to read, not to render. Every character is looked at once.
fn html(page: &str) -> String {
    let mut out = String::new();
    let mut rest = page;
    let mut verbatim = 0_usize;
    while let Some(at) = rest.find('<') {
        push_text(&mut out, &rest[..at], verbatim > 0);
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
            continue;
        }
        let Some(end) = rest.find('>') else { break };
        let tag = &rest[1..end];
        rest = &rest[end + 1..];
        let closing = tag.starts_with('/');
        let name = tag.trim_start_matches('/').split(|c: char| !c.is_ascii_alphanumeric()).next();
        let name = name.unwrap_or_default().to_ascii_lowercase();
        if SKIPPED.contains(&name.as_str()) && !closing && !tag.ends_with('/') {
            rest = after_closing(rest, &name);
            continue;
        }
        if BLOCKS.contains(&name.as_str()) {
            if !out.is_empty() && !out.ends_with('\n') {
                out.push('\n');
            }
            match name.as_bytes() {
                [b'h', level @ b'1'..=b'6'] if !closing => {
                    out.push_str(&"#".repeat(usize::from(level - b'0')));
                    out.push(' ');
                }
                b"li" if !closing => out.push_str("- "),
                b"pre" if closing => verbatim = verbatim.saturating_sub(1),
                b"pre" => verbatim += 1,
                _ => {}
            }
        }
    }
    if !rest.starts_with('<') {
        push_text(&mut out, rest, verbatim > 0);
    }
    let lines = out.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    lines.trim().to_owned()
}

fn after_closing<'p>(rest: &'p str, name: &str) -> &'p str {
    let mut from = 0;
    while let Some(at) = rest[from..].find("</") {
        let start = from + at + 2;
        let is_it =
            rest.get(start..start + name.len()).is_some_and(|it| it.eq_ignore_ascii_case(name));
        if is_it {
            return rest[start..].find('>').map_or("", |end| &rest[start + end + 1..]);
        }
        from = start;
    }
    ""
}

fn push_text(out: &mut String, text: &str, verbatim: bool) {
    if verbatim {
        unescape(out, text);
        return;
    }
    let begins_apart = text.starts_with(char::is_whitespace);
    for (at, word) in text.split_whitespace().enumerate() {
        let fresh = out.is_empty() || out.ends_with(['\n', ' ']);
        if !fresh && (at > 0 || begins_apart) {
            out.push(' ');
        }
        unescape(out, word);
    }
    if text.ends_with(char::is_whitespace) && !out.is_empty() && !out.ends_with(['\n', ' ']) {
        out.push(' ');
    }
}

fn unescape(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.as_bytes().iter().take(10).position(|byte| *byte == b';');
        let known = end.and_then(|end| Some((character(&rest[1..end])?, end)));
        match known {
            Some((c, end)) => {
                out.push(c);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
}

fn character(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "mdash" => '—',
        "ndash" => '–',
        "hellip" => '…',
        "copy" => '©',
        name => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => digits::hexadecimal(hex)?,
                None => digits::decimal(number)?,
            };
            char::from_u32(code).filter(|c| !c.is_control() || *c == '\n')?
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_page_becomes_its_text() {
        let page = "<!DOCTYPE html><html><head><title>T</title><style>p{}</style></head><body><h1>One &amp; two</h1>\n<script>if (a</b) {}</script>\
            <p>A <b>bold</b> <i>word</i>, &lt;tag&gt; &#x41;&#66; &unknown; &#+65; x</p><ul><li>first<li>second</ul><!-- no > --><pre>a\n  b</pre></body></html>";
        assert_eq!(
            html(page),
            "# One & two\nA bold word, <tag> AB &unknown; &#+65; x\n- first\n- second\na\n  b"
        );
        assert_eq!(readable("application/json; charset=utf-8", b"{}").as_deref(), Some("{}"));
        assert_eq!(readable("image/png", b"x"), None);
        assert_eq!(readable("text/plain", b"a\0b"), None);
    }

    proptest! {
        #[test]
        fn nothing_that_looks_like_a_page_breaks_it(page in "(<|>|/|!--|-->|script|pre|p|&|;|#|x|4|ä| |\n){0,80}") {
            let _ = html(&page);
        }
    }
}
