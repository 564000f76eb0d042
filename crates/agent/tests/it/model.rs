//! Ten thousand generated trees against a model of the precedence rules that fits on a page.

use std::collections::BTreeMap;

use agents_agent::definition::Dialect;
use agents_agent::{
    Finder, Search,
    search::{Bundled, Climb, Family, FileKind},
};
use agents_testkit::scratch::Scratch;
use camino::{Utf8Path, Utf8PathBuf};

const TREES: u64 = 10_000;

/// A small generator of numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let high = usize::try_from(self.0 >> 33).unwrap();
        high % sides
    }
}

const FAMILIES: [&str; 4] = [".agents", ".omp", ".claude", ".codex"];
const NAMES: [&str; 4] = ["a", "A", "b", "c"];
const FILES: [&str; 5] = ["a.md", "B.md", "b.md", "x.txt", "z.md"];

/// A tree as the model sees it: relative path of a file to the agent in it; `None` for a broken one.
type Files = BTreeMap<String, Option<&'static str>>;

/// `home/w/repo/sub`, of which `repo` may be a repository.
fn generate(dice: &mut Dice) -> (Files, bool, usize) {
    let mut files = Files::new();
    let levels = ["home", "home/w", "home/w/repo", "home/w/repo/sub"];
    for _ in 0..dice.roll(9) {
        let level = levels[dice.roll(levels.len())];
        let family = FAMILIES[dice.roll(FAMILIES.len())];
        let file = FILES[dice.roll(FILES.len())];
        let content = (dice.roll(6) > 0).then(|| NAMES[dice.roll(NAMES.len())]);
        files.insert(format!("{level}/{family}/agents/{file}"), content);
    }
    (files, dice.roll(2) == 0, 1 + dice.roll(3))
}

/// What must come out: the name and the file of each winner.
fn model(files: &Files, repository: bool, depth: usize) -> BTreeMap<&'static str, String> {
    let levels = ["home/w", "home/w/repo", "home/w/repo/sub"];
    // From where the user stands upwards, to the repository if they are in it.
    let mut ways: Vec<&str> = levels[..depth].iter().rev().copied().collect();
    if repository && depth >= 2 {
        ways.retain(|level| *level != "home/w");
    }
    let mut winners = BTreeMap::new();
    for family in FAMILIES {
        let inside = |level: &str| {
            let dir = format!("{level}/{family}/agents/");
            files.iter().filter(move |(file, _)| file.starts_with(&dir))
        };
        let nearest = ways.iter().find(|level| inside(level).next().is_some());
        for level in nearest.into_iter().chain([&"home"]) {
            // The map is in the order of bytes.
            for (file, name) in inside(level).filter(|(file, _)| file.ends_with(".md")) {
                if let Some(name) = name {
                    winners.entry(*name).or_insert_with(|| file.clone());
                }
            }
        }
    }
    winners
}

fn search(root: &Utf8Path, depth: usize) -> Search {
    let levels = ["home/w", "home/w/repo", "home/w/repo/sub"];
    let families = FAMILIES.map(|family| Family {
        name: family.to_owned(),
        project: Some(format!("{family}/agents").into()),
        user: Some(root.join("home").join(family).join("agents")),
        files: vec![FileKind { suffix: ".md".to_owned(), dialect: Dialect::Ours }],
    });
    Search {
        folder: agents_agent::search::Folder::Agents,
        cwd: root.join(levels[depth - 1]),
        home: root.join("home"),
        climb: Climb::ToRepository,
        named: Vec::new(),
        families: families.to_vec(),
        plugins: Vec::new(),
        plugin_lists: Vec::new(),
        bundled: Bundled::Excluded,
        trusted: agents_agent::trust::Trusted::default(),
        copies: agents_agent::search::Copies::default(),
        held: agents_agent::search::Held::default(),
    }
}

/// Brings a directory from one tree to the next, so that the finder meets every kind of change on the way.
fn rebuild(scratch: &Scratch, before: &Files, after: &Files, repository: bool) {
    for file in before.keys().filter(|file| !after.contains_key(*file)) {
        let path = scratch.path(file);
        fs_err::remove_file(&path).unwrap();
        // An empty directory would still be the nearest one.
        for dir in path.ancestors().skip(1).take(2) {
            if fs_err::remove_dir(dir).is_err() {
                break;
            }
        }
    }
    for (file, content) in after.iter().filter(|(file, content)| before.get(*file) != Some(content))
    {
        let text = match content {
            Some(name) => format!("---\nname: {name}\ndescription: d\n---\n"),
            None => "broken".to_owned(),
        };
        scratch.write(file, text);
    }
    fs_err::create_dir_all(scratch.path("home/w/repo/sub")).unwrap();
    let git = scratch.path("home/w/repo/.git");
    match (repository, git.exists()) {
        (true, false) => fs_err::create_dir(&git).unwrap(),
        (false, true) => fs_err::remove_dir(&git).unwrap(),
        _ => {}
    }
}

#[test]
fn ten_thousand_trees_are_found_as_the_model_says_cold_and_warm() {
    let scratch = Scratch::in_memory();
    let mut finder = Finder::new();
    let mut before = Files::new();
    let mut winners = 0;
    for seed in 0..TREES {
        let mut dice = Dice(seed);
        dice.roll(2);
        let (files, repository, depth) = generate(&mut dice);
        rebuild(&scratch, &before, &files, repository);
        let search = search(scratch.root(), depth);
        let expected = model(&files, repository, depth);
        let found = |agents: &agents_agent::Agents| -> BTreeMap<String, Utf8PathBuf> {
            agents.iter().map(|it| (it.name.to_string(), it.origin.file.clone().unwrap())).collect()
        };
        let expected: BTreeMap<String, Utf8PathBuf> = expected
            .into_iter()
            .map(|(name, file)| (name.to_owned(), scratch.path(file)))
            .collect();
        let warm = finder.find(&search).unwrap();
        assert_eq!(found(&warm), expected, "seed {seed}, {depth} deep, {repository}: {files:?}");
        if seed % 8 == 0 {
            let cold = agents_agent::discover(&search).unwrap();
            assert_eq!(*warm, cold, "seed {seed}");
        }
        winners += expected.len();
        before = files;
    }
    assert!(winners > 10_000, "the trees are not empty: {winners}");
}
