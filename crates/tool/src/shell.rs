//! What a command for the shell would run, judged on its syntax tree.
//!
//! The tree comes from tree-sitter's grammar of bash, which reads anything, never fails and never recurses; a grammar written
//! for editors is not the shell, though. So an allowance is given only where there is nothing to get wrong: a list of
//! plain commands. Every byte between two nodes must be blank, every word is read again by our own rules, and whatever is not on the short
//! list of known nodes makes the command one that *cannot be judged*, which is never allowed.

use std::{fmt, sync::OnceLock};

use tree_sitter::{Language, Node, ParseOptions, ParseState, Parser};

use crate::pattern::{Pattern, Symbol};

mod word;

/// Longer commands are not judged: the time that the parser takes grows with the square of a long pipeline.
const MAX_LENGTH: usize = 4 * 1024;
/// How often the parser may report that it still parses, each time after a hundred steps.
const MAX_LOOKS: usize = 5_000;
/// How often a command may hold another one (`sh -c`, `eval`).
const MAX_NESTING: usize = 4;

/// Why a command cannot be judged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unjudged {
    /// It is longer or more tangled than we look at.
    #[error("the command is too long or too tangled")]
    TooLong,
    /// It is not what the grammar knows.
    #[error("the command cannot be parsed at byte {0}")]
    Syntax(usize),
    /// It holds something that runs or becomes what only the shell knows.
    #[error("{what} cannot be judged: `{text}`")]
    Construct {
        /// What kind of thing.
        what: &'static str,
        /// As it is written, at most a few words of it.
        text: String,
    },
}

impl Unjudged {
    fn new(what: &'static str, text: &str) -> Self {
        let mut end = text.len().min(60);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Self::Construct { what, text: text[..end].to_owned() }
    }
}

/// One program with its arguments, as far as they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simple {
    words: Vec<Vec<Symbol>>,
}

/// A command, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Every program that is named anywhere in it, also where it is only perhaps run.
    commands: Vec<Simple>,
    /// Whether that is all there is to it.
    plain: Result<(), Unjudged>,
}

/// Something that a command runs and a pattern does not allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotCovered(String);

impl fmt::Display for NotCovered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A word that the shell takes as it is.
#[must_use]
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Parses a command. What is not even syntax is an error.
pub fn parse(command: &str) -> Result<Script, Unjudged> {
    parse_within(command, MAX_LOOKS)
}

fn parse_within(command: &str, most_looks: usize) -> Result<Script, Unjudged> {
    if command.len() > MAX_LENGTH {
        return Err(Unjudged::TooLong);
    }
    if let Some(at) = command.find(|c: char| c.is_control() && c != '\n' && c != '\t') {
        return Err(Unjudged::Syntax(at));
    }
    let mut parser = Parser::new();
    parser.set_language(language()).map_err(|_| Unjudged::Syntax(0))?;
    // Repairing what cannot be repaired is given up: what takes long is not what people write.
    let mut looks = 0;
    let mut watch = |_: &ParseState| {
        looks += 1;
        looks > most_looks
    };
    let options = ParseOptions::new().progress_callback(&mut watch);
    let bytes = command.as_bytes();
    let mut text = |at: usize, _| bytes.get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut text, None, Some(options));
    let tree = tree.ok_or(Unjudged::TooLong)?;
    let root = tree.root_node();
    let mut reader = Reader { source: command, commands: Vec::new(), plain: Ok(()) };
    reader.read(root)?;
    reader.check_gaps(root, 0, command.len(), Blank::Lines);
    // In the order in which they are written.
    reader.commands.sort_by_key(|(start, _)| *start);
    let commands = reader.commands.into_iter().map(|(_, command)| command).collect();
    Ok(Script { commands, plain: reader.plain })
}

fn language() -> &'static Language {
    static LANGUAGE: OnceLock<Language> = OnceLock::new();
    LANGUAGE.get_or_init(|| tree_sitter_bash::LANGUAGE.into())
}

impl Script {
    /// Whether each of its programs is one that some pattern allows, and nothing else happens: no other program, no
    /// file written or read by the shell.
    pub(crate) fn covered_by(&self, patterns: &[Pattern]) -> Result<(), Uncovered> {
        self.plain.clone().map_err(Uncovered::Unjudged)?;
        if self.commands.is_empty() {
            return Err(Uncovered::Unjudged(Unjudged::new("a command that runs nothing", "")));
        }
        for command in &self.commands {
            let line = command.line();
            if !patterns.iter().any(|pattern| pattern.certainly(&line)) {
                return Err(Uncovered::Command(NotCovered(command.shown())));
            }
        }
        Ok(())
    }

    /// Whether something that a pattern forbids might be run. A program that runs others (`env`, `xargs`, `sh -c`) is looked
    /// through; one that is given a program text to run cannot be.
    pub(crate) fn touched_by(&self, patterns: &[Pattern]) -> Result<(), Uncovered> {
        self.touched(patterns, 0)
    }

    fn touched(&self, patterns: &[Pattern], depth: usize) -> Result<(), Uncovered> {
        for command in &self.commands {
            command.touched(patterns, depth)?;
        }
        Ok(())
    }

    /// The names of its programs, as far as they are known.
    #[must_use]
    pub fn programs(&self) -> Vec<String> {
        self.commands.iter().filter_map(|it| known(it.words.first()?)).collect()
    }
}

/// Why a command does not pass a list of patterns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Uncovered {
    Unjudged(Unjudged),
    Command(NotCovered),
}

/// Programs whose arguments are the words of another command, from some word on.
const WRAPPERS: &[&str] = &[
    "builtin",
    "busybox",
    "chroot",
    "chrt",
    "command",
    "coproc",
    "doas",
    "env",
    "exec",
    "find",
    "flock",
    "ionice",
    "nice",
    "nohup",
    "nsenter",
    "parallel",
    "runuser",
    "script",
    "setpriv",
    "setsid",
    "ssh",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "time",
    "timeout",
    "toybox",
    "trap",
    "unbuffer",
    "unshare",
    "watch",
    "xargs",
];
/// Programs that take a command as text.
const SHELLS: &[&str] = &["ash", "bash", "dash", "ksh", "mksh", "sh", "zsh"];
/// Programs that take a program as text, and the arguments that say so.
const INTERPRETERS: &[&str] = &[
    "awk",
    "bun",
    "deno",
    "fish",
    "gawk",
    "gdb",
    "lua",
    "mawk",
    "node",
    "osascript",
    "perl",
    "php",
    "pwsh",
    "python",
    "python2",
    "python3",
    "ruby",
    "tclsh",
    "vim",
    "vi",
    "ex",
    "ed",
];

impl Simple {
    fn line(&self) -> Vec<Symbol> {
        self.words.join(&Symbol::Gap)
    }

    fn shown(&self) -> String {
        let show = |symbol: &Symbol| match symbol {
            Symbol::Char(c) => *c,
            Symbol::Gap => ' ',
            Symbol::Unknown => '…',
        };
        self.line().iter().take(80).map(show).collect()
    }

    fn touched(&self, patterns: &[Pattern], depth: usize) -> Result<(), Uncovered> {
        let forbidden = |words: &[Vec<Symbol>]| {
            let line = words.join(&Symbol::Gap);
            let mut short = words.to_vec();
            if let Some(first) = short.first_mut() {
                *first = base_name(first);
            }
            let short = short.join(&Symbol::Gap);
            patterns.iter().any(|it| it.possibly(&line) || it.possibly(&short))
        };
        let refused = || Uncovered::Command(NotCovered(self.shown()));
        // Assignments before a command are not its name.
        let start = self.words.iter().position(|it| !is_assignment(it)).unwrap_or(0);
        let words = &self.words[start..];
        if forbidden(&self.words) || forbidden(words) {
            return Err(refused());
        }
        let Some(name) = words.first().and_then(|first| known(&base_name(first))) else {
            return Ok(());
        };
        if WRAPPERS.contains(&name.as_str()) {
            for at in 1..words.len() {
                if forbidden(&words[at..]) {
                    return Err(refused());
                }
                Self { words: words[at..].to_vec() }.texts(patterns, depth)?;
            }
        }
        Self { words: words.to_vec() }.texts(patterns, depth)
    }

    /// Looks into what is given to a shell or an interpreter as text.
    fn texts(&self, patterns: &[Pattern], depth: usize) -> Result<(), Uncovered> {
        let Some(name) = self.words.first().and_then(|first| known(&base_name(first))) else {
            return Ok(());
        };
        let opaque = |what| Err(Uncovered::Unjudged(Unjudged::new(what, &self.shown())));
        let text = if name == "eval" {
            self.words[1..].join(&Symbol::Char(' '))
        } else if SHELLS.contains(&name.as_str()) {
            let takes_text = |word: &Vec<Symbol>| {
                known(word).is_none_or(|it| it.starts_with('-') && it.contains('c'))
            };
            match self.words.iter().position(takes_text) {
                Some(at) => self.words.get(at + 1).cloned().unwrap_or_default(),
                None if self.words.len() == 1 => return opaque("a shell that reads its commands"),
                None => return Ok(()),
            }
        } else if INTERPRETERS.contains(&name.as_str()) {
            return opaque("a program given to an interpreter");
        } else {
            return Ok(());
        };
        let inner = known(&text).filter(|_| depth < MAX_NESTING);
        match inner.map(|it| parse(&it)) {
            Some(Ok(script)) => script.touched(patterns, depth + 1),
            Some(Err(why)) => Err(Uncovered::Unjudged(why)),
            None => opaque("a command given as text"),
        }
    }
}

fn known(word: &[Symbol]) -> Option<String> {
    let known = |symbol: &Symbol| match symbol {
        Symbol::Char(c) => Some(*c),
        Symbol::Gap | Symbol::Unknown => None,
    };
    word.iter().map(known).collect()
}

fn base_name(word: &[Symbol]) -> Vec<Symbol> {
    let start = word.iter().rposition(|it| *it == Symbol::Char('/')).map_or(0, |at| at + 1);
    word[start..].to_vec()
}

fn is_assignment(word: &[Symbol]) -> bool {
    let name = word.iter().position(|it| *it == Symbol::Char('='));
    name.is_some_and(|at| at > 0)
}

/// What may stand between two nodes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Blank {
    /// Blanks, and line ends behind a backslash.
    Words,
    /// Line ends, too.
    Lines,
}

struct Reader<'s> {
    source: &'s str,
    /// With where they start.
    commands: Vec<(usize, Simple)>,
    plain: Result<(), Unjudged>,
}

/// What a name of the shell's own grammar would mean in the place of a program.
const RESERVED: &[&str] = &[
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
    "function", "if", "in", "select", "then", "time", "until", "while", "{", "}",
];

impl Reader<'_> {
    /// Reads the whole tree without recursion. Commands are kept wherever they stand.
    fn read(&mut self, root: Node<'_>) -> Result<(), Unjudged> {
        let mut waiting = vec![(root, "")];
        while let Some((node, parent)) = waiting.pop() {
            if node.is_error() || node.is_missing() {
                return Err(Unjudged::Syntax(node.start_byte()));
            }
            match node.kind() {
                "program" | "list" | "pipeline" | "subshell" | "compound_statement"
                | "negated_command" => {
                    self.check_gaps(node, node.start_byte(), node.end_byte(), Blank::Lines);
                }
                "redirected_statement" => {
                    self.check_gaps(node, node.start_byte(), node.end_byte(), Blank::Words);
                }
                "command" => self.command(node),
                "file_redirect" => self.redirect(node),
                "herestring_redirect" => self.here_string(node),
                "comment" => self.comment(node),
                ";" | "&" | "&&" | "||" | "|" | "|&" | "\n" | "(" | ")" | "{" | "}" | "!" => {}
                // Looked at where they belong.
                "command_name" | "word" | "number" | "string" | "raw_string" | "concatenation"
                | "simple_expansion" => {}
                "variable_assignment" if parent == "command" => {}
                "expansion" if word::read(self.text(node)).plain.is_ok() => continue,
                _ if is_part(node, parent) => {}
                kind => self.not_plain(named(kind), node),
            }
            let mut cursor = node.walk();
            waiting.extend(node.children(&mut cursor).map(|child| (child, node.kind())));
        }
        Ok(())
    }

    fn text(&self, node: Node<'_>) -> &str {
        self.source.get(node.byte_range()).unwrap_or_default()
    }

    fn not_plain(&mut self, what: &'static str, node: Node<'_>) {
        if self.plain.is_ok() {
            self.plain = Err(Unjudged::new(what, self.text(node)));
        }
    }

    fn command(&mut self, node: Node<'_>) {
        self.check_gaps(node, node.start_byte(), node.end_byte(), Blank::Words);
        let mut words = Vec::new();
        let mut program = None;
        let mut end = None;
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                // These stand beside the words.
                "file_redirect" | "herestring_redirect" | "heredoc_redirect" => continue,
                "command_name" => program = Some(words.len()),
                _ => {}
            }
            // Two words without a blank between them are one for the shell.
            if end.replace(child.end_byte()) == Some(child.start_byte()) {
                self.not_plain("text between the words", node);
            }
            let read = word::read(self.text(child));
            if let Err(what) = read.plain {
                self.not_plain(what, child);
            }
            words.push(read.symbols);
        }
        let name = program.and_then(|at| words.get(at)).and_then(|word| known(word));
        match name {
            None => self.not_plain("a program whose name only the shell knows", node),
            Some(name) if name.is_empty() || RESERVED.contains(&name.as_str()) => {
                self.not_plain("a word of the shell's grammar", node);
            }
            Some(_) => {}
        }
        self.commands.push((node.start_byte(), Simple { words }));
    }

    /// A file that the shell opens is a file that no tool was asked for.
    fn redirect(&mut self, node: Node<'_>) {
        self.check_gaps(node, node.start_byte(), node.end_byte(), Blank::Words);
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
        let operator = children.iter().find(|it| !it.is_named()).map_or("", |it| it.kind());
        let mut targets =
            children.iter().filter(|it| it.is_named() && it.kind() != "file_descriptor");
        let (target, more) = (targets.next(), targets.next());
        let target = target.and_then(|it| {
            let read = word::read(self.text(*it));
            read.plain.ok().and_then(|()| known(&read.symbols))
        });
        let is_descriptor =
            |it: &str| it == "-" || (!it.is_empty() && it.bytes().all(|b| b.is_ascii_digit()));
        let harmless = match (operator, target.as_deref(), more) {
            (">&" | "<&", Some(target), None) if is_descriptor(target) => true,
            (">" | ">>" | "<" | "&>" | "&>>" | ">&", Some("/dev/null"), None) => true,
            _ => false,
        };
        if !harmless {
            self.not_plain("a file opened by the shell", node);
        }
    }

    fn here_string(&mut self, node: Node<'_>) {
        self.check_gaps(node, node.start_byte(), node.end_byte(), Blank::Words);
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            if let Err(what) = word::read(self.text(child)).plain {
                self.not_plain(what, child);
            }
        }
    }

    /// Where a comment starts is easily got wrong; at the start of a line it is not.
    fn comment(&mut self, node: Node<'_>) {
        let before = self.source.get(..node.start_byte()).unwrap_or_default();
        let (rest, line) = before.rsplit_once('\n').unwrap_or(("", before));
        if !line.trim_matches([' ', '\t']).is_empty() || rest.ends_with('\\') {
            self.not_plain("a comment behind a command", node);
        }
    }

    /// Whatever the grammar skipped must have been blank.
    fn check_gaps(&mut self, node: Node<'_>, start: usize, end: usize, blank: Blank) {
        let mut at = start;
        let mut cursor = node.walk();
        let mut fine = true;
        for child in node.children(&mut cursor) {
            fine &= is_blank(self.source.get(at..child.start_byte()), blank);
            at = child.end_byte();
        }
        fine &= is_blank(self.source.get(at..end), blank);
        if !fine {
            self.not_plain("text between the words", node);
        }
    }
}

/// Parts of words and of redirections, which have been read as a whole.
fn is_part(node: Node<'_>, parent: &str) -> bool {
    match node.kind() {
        "string_content"
        | "special_variable_name"
        | "variable_name"
        | "\""
        | "$"
        | "file_descriptor"
        | "=" => parent != "command",
        _ => !node.is_named() && matches!(parent, "file_redirect" | "herestring_redirect"),
    }
}

/// A line end behind a backslash joins what stands on both sides, unless there is a blank as well.
fn is_blank(gap: Option<&str>, blank: Blank) -> bool {
    let Some(gap) = gap else { return false };
    let joined = gap.replace("\\\n", "");
    let fine = |c| c == ' ' || c == '\t' || (c == '\n' && blank == Blank::Lines);
    joined.chars().all(fine) && (joined.len() == gap.len() || gap.starts_with([' ', '\t']))
}

/// What a node that we do not look into is called in messages. Parts of words have been named when the word was read.
fn named(kind: &str) -> &'static str {
    match kind {
        "heredoc_redirect" | "heredoc_body" | "heredoc_start" | "heredoc_end" => "a here-document",
        "function_definition" => "a function",
        "if_statement"
        | "while_statement"
        | "for_statement"
        | "c_style_for_statement"
        | "case_statement" => "a statement",
        "declaration_command" | "unset_command" => "a declaration",
        _ => "this part of the command",
    }
}

#[cfg(test)]
mod tests;
