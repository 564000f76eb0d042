//! Blocks of code in a page.

/// One of them.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    /// `toml`, `console`, ...
    pub language: String,
    /// What stands behind the language.
    pub info: String,
    /// What is in it, without the indentation of the list that it stands in.
    pub text: String,
    /// The line of its fence, from 1.
    pub line: usize,
}

impl Block {
    /// What file it is meant to be, for blocks that are one of ours.
    pub fn name(&self) -> Option<String> {
        let named = match self.language.as_str() {
            "toml" | "markdown" | "yaml" if !self.info.is_empty() => self.info.as_str(),
            "toml" => self.text.lines().next()?.strip_prefix("# ")?,
            _ => return None,
        };
        let path = named.split_whitespace().next()?.trim_end_matches([',', ':']);
        path.rsplit('/').next().map(str::to_owned)
    }
}

/// The blocks of a page, in order. Fences of four and more characters are about blocks, and none of them.
pub fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some((indentation, fence, info)) = fence(line) else { continue };
        let inside = lines.by_ref().map(|(_, line)| line).take_while(|line| line.trim() != fence);
        let text: String = inside
            .map(|line| line.get(indentation..).unwrap_or_default().to_owned() + "\n")
            .collect();
        if fence.len() == 3 {
            let (language, info) = info.split_once(' ').unwrap_or((info, ""));
            let (language, info) = (language.to_owned(), info.trim().to_owned());
            found.push(Block { language, info, text, line: number + 1 });
        }
    }
    found
}

/// The page without its blocks.
pub fn prose(page: &str) -> String {
    let mut said = String::new();
    let mut within: Option<&str> = None;
    for line in page.lines() {
        match (within, fence(line)) {
            (Some(open), _) if line.trim() == open => within = None,
            (Some(_), _) => {}
            (None, Some((_, open, _))) => within = Some(open),
            (None, None) => {
                said.push_str(line);
                said.push('\n');
            }
        }
    }
    said
}

/// The indentation, the fence and what follows it, if the line begins a block.
fn fence(line: &str) -> Option<(usize, &str, &str)> {
    let rest = line.trim_start();
    let length = rest.bytes().take_while(|byte| *byte == b'`').count();
    let (fence, info) = rest.split_at(length);
    (length >= 3 && !info.contains('`')).then_some((line.len() - rest.len(), fence, info))
}

#[test]
fn blocks_are_found_in_lists_too_and_know_their_names() {
    let page = "a\n```toml\n# x/config.toml: b\nc = 1\n```\n1. d\n\n   ```markdown SKILL.md\n   ---\n   e\n   ```\n```sh\n# f.sh\n```\n";
    let found = blocks(page);
    let names: Vec<Option<String>> = found.iter().map(Block::name).collect();
    assert_eq!(names, [Some("config.toml".to_owned()), Some("SKILL.md".to_owned()), None]);
    assert_eq!(found[1].text, "---\ne\n");
    assert_eq!((found[0].line, found[1].line), (2, 8));
    assert_eq!(prose(page), "a\n1. d\n\n");
}
