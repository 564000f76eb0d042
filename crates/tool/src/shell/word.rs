//! One word of a command, as the shell would read it.

use crate::pattern::Symbol;

/// A word, with what could not be known of it.
pub(super) struct Word {
    pub(super) symbols: Vec<Symbol>,
    /// An error if reading it runs something, or if we cannot tell.
    pub(super) plain: Result<(), &'static str>,
}

/// Reads the text of one word: quotes are resolved, variables and file patterns are unknown.
pub(super) fn read(text: &str) -> Word {
    let mut word = Word { symbols: Vec::new(), plain: Ok(()) };
    let mut rest = text.chars().peekable();
    if matches!(rest.peek(), Some('~')) {
        word.unknown();
        rest.next();
    }
    if matches!(rest.peek(), Some('#')) {
        word.strange("a comment behind a command");
    }
    while let Some(c) = rest.next() {
        match c {
            '\'' => loop {
                match rest.next() {
                    Some('\'') => break,
                    Some(c) => word.symbols.push(Symbol::Char(c)),
                    None => {
                        word.strange("an open quote");
                        break;
                    }
                }
            },
            '"' => quoted(&mut word, &mut rest),
            '\\' => match rest.next() {
                Some('\n') | None => word.strange("a word over two lines"),
                Some(c) => word.symbols.push(Symbol::Char(c)),
            },
            '$' if matches!(rest.peek(), Some('\'' | '"')) => {
                word.strange("a string of the shell's own kind");
                return word;
            }
            '$' => expansion(&mut word, &mut rest),
            '`' => {
                word.strange("a command inside of a command");
                return word;
            }
            '*' | '?' | '[' | ']' | '{' | '}' => word.unknown(),
            '<' | '>' if matches!(rest.peek(), Some('(')) => {
                word.strange("a process in the place of a file");
                return word;
            }
            ';' | '&' | '|' | '<' | '>' | '(' | ')' | ' ' | '\t' | '\n' => {
                word.strange("this part of the command");
                return word;
            }
            // Home directories are known after these, too.
            '=' | ':' if matches!(rest.peek(), Some('~')) => {
                word.symbols.push(Symbol::Char(c));
                word.unknown();
                rest.next();
            }
            c => word.symbols.push(Symbol::Char(c)),
        }
    }
    word
}

impl Word {
    fn unknown(&mut self) {
        if self.symbols.last() != Some(&Symbol::Unknown) {
            self.symbols.push(Symbol::Unknown);
        }
    }

    fn strange(&mut self, what: &'static str) {
        self.unknown();
        if self.plain.is_ok() {
            self.plain = Err(what);
        }
    }
}

type Rest<'t> = std::iter::Peekable<std::str::Chars<'t>>;

fn quoted(word: &mut Word, rest: &mut Rest<'_>) {
    loop {
        match rest.next() {
            Some('"') => return,
            Some('\\') => match rest.next() {
                Some(c @ ('$' | '`' | '"' | '\\')) => word.symbols.push(Symbol::Char(c)),
                Some('\n') | None => word.strange("a word over two lines"),
                Some(c) => word.symbols.extend([Symbol::Char('\\'), Symbol::Char(c)]),
            },
            Some('$') => expansion(word, rest),
            Some('`') => word.strange("a command inside of a command"),
            Some(c) => word.symbols.push(Symbol::Char(c)),
            None => return word.strange("an open quote"),
        }
    }
}

/// `$NAME`, `${NAME}` and the like run nothing; everything else behind a `$` might.
fn expansion(word: &mut Word, rest: &mut Rest<'_>) {
    let is_name = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    match rest.peek() {
        Some('{') => {
            rest.next();
            let mut name = String::new();
            loop {
                match rest.next() {
                    Some('}') if !name.is_empty() => return word.unknown(),
                    Some(c) if is_name(&c) => name.push(c),
                    _ => return word.strange("an expansion"),
                }
            }
        }
        Some(c) if is_name(c) => {
            while rest.next_if(is_name).is_some() {}
            word.unknown();
        }
        Some('?' | '#' | '@' | '*' | '!' | '-' | '$') => {
            rest.next();
            word.unknown();
        }
        Some('(') => word.strange("a command inside of a command"),
        Some('[' | '\'' | '"') => word.strange("an expansion"),
        _ => word.symbols.push(Symbol::Char('$')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A word as it is shown: `?` is what only the shell knows.
    fn shown(text: &str) -> (String, Result<(), &'static str>) {
        let Word { symbols, plain } = read(text);
        let show = |symbol: &Symbol| match symbol {
            Symbol::Char(c) => *c,
            Symbol::Gap => ' ',
            Symbol::Unknown => '?',
        };
        (symbols.iter().map(show).collect(), plain)
    }

    #[test]
    fn what_is_known_of_a_word() {
        for (text, known) in [
            ("a'b c'\"d e\"\\ f", "ab cd e f"),
            ("\"a\\\"b\\c\"", "a\"b\\c"),
            ("~/a", "?/a"),
            ("a=~/b:~/c", "a=?/b:?/c"),
            ("a=b:c", "a=b:c"),
            ("a$", "a$"),
            ("$a_1/$b", "?/?"),
            ("${a}b", "?b"),
            ("\"${a}b\"", "?b"),
            ("$?$#$@$*$!$-$$", "?"),
            ("a*b", "a?b"),
        ] {
            assert_eq!(shown(text), (known.to_owned(), Ok(())), "{text}");
        }
    }

    #[test]
    fn what_nobody_may_rely_on() {
        for (text, why) in [
            ("#a", "a comment behind a command"),
            ("'a", "an open quote"),
            ("\"a", "an open quote"),
            ("a\\\nb", "a word over two lines"),
            ("$'a'", "a string of the shell's own kind"),
            ("$\"a\"", "a string of the shell's own kind"),
            ("\"$'a'\"", "an expansion"),
            ("$[1]", "an expansion"),
            ("${}", "an expansion"),
            ("${a:-b}", "an expansion"),
            ("`a`", "a command inside of a command"),
            ("\"`a`\"", "a command inside of a command"),
            ("$(a)", "a command inside of a command"),
            ("<(a)", "a process in the place of a file"),
            ("a<b", "this part of the command"),
            ("a;b", "this part of the command"),
        ] {
            assert_eq!(shown(text).1, Err(why), "{text}");
        }
    }
}
