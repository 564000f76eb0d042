//! A cache, a cargo home with vendored crates, a plugin directory, and short ways to use them.

use agents_install::{
    CargoPlace, Entry, InstallError, Installation, InstallationName, Installations, Installer,
    Runnable, Source, Update,
};
use agents_system::{explain::Explain, progress::Progress};
use agents_testkit::{
    repo::Repo,
    scratch::{Scratch, write},
    vendor::Vendor,
};
use agents_workspace::{Cargo, Network};
use camino::{Utf8Path, Utf8PathBuf};

pub(crate) struct World {
    pub(crate) root: Utf8PathBuf,
    pub(crate) installations: Installations,
    pub(crate) network: Network,
    _scratch: Option<Scratch>,
}

impl World {
    pub(crate) fn new() -> Self {
        let scratch = Scratch::new();
        let root = scratch.root().to_owned();
        Vendor::new(root.join("vendor")).write_home(&root.join("cargo-home"));
        scratch.write("plugin/SYMPOSIUM.toml", "");
        // Cargo installs with a build directory of its own unless the environment of the tests says
        // otherwise.
        scratch.script("cargo", "unset CARGO_TARGET_DIR CARGO_BUILD_TARGET_DIR\nexec cargo \"$@\"");
        Self { _scratch: Some(scratch), ..Self::at(root) }
    }

    /// The same one, in another process.
    pub(crate) fn at(root: Utf8PathBuf) -> Self {
        let installations = Installations::new();
        Self { root, installations, network: Network::Allowed, _scratch: None }
    }

    pub(crate) fn path(&self, relative: &str) -> Utf8PathBuf {
        self.root.join(relative)
    }

    pub(crate) fn cache(&self) -> Utf8PathBuf {
        self.path("cache")
    }

    pub(crate) fn cargo(&self) -> Cargo {
        Cargo::at(self.path("cargo").as_str(), self.network).with_home(&self.path("cargo-home"))
    }

    /// A crate in the registry; each of its binaries prints its name, the version and its arguments.
    pub(crate) fn publish(&self, name: &str, version: &str, binaries: &[&str]) {
        let files = binary_files(binaries);
        let files: Vec<_> =
            files.iter().map(|(path, code)| (path.as_str(), code.as_str())).collect();
        Vendor::new(self.path("vendor")).krate(name, version, "", &files);
    }

    /// A repository `name` that holds the files.
    pub(crate) fn repo(&self, name: &str, files: &[(&str, &str)]) -> Repo {
        let repo = Repo::init(self.path(&format!("repos/{name}")));
        for (path, text) in files {
            repo.write(path, text);
        }
        repo.commit("first");
        repo
    }

    pub(crate) fn add(&mut self, name: &str, installation: Installation) {
        self.installations.insert(InstallationName::new(name), installation);
    }

    pub(crate) fn with<T>(&self, update: Update, use_it: impl FnOnce(&Installer<'_>) -> T) -> T {
        let (cache, cargo, progress) = (self.cache(), self.cargo(), Progress::silent());
        use_it(&Installer::new(&cache, &cargo, update, &progress))
    }

    pub(crate) fn try_resolve(&self, name: &str, update: Update) -> Result<Runnable, InstallError> {
        let name = InstallationName::new(name);
        self.with(update, |it| it.resolve(&self.installations, &name, &self.path("plugin")))
    }

    #[track_caller]
    pub(crate) fn resolve(&self, name: &str) -> Runnable {
        self.update(name, Update::None)
    }

    #[track_caller]
    pub(crate) fn update(&self, name: &str, update: Update) -> Runnable {
        match self.try_resolve(name, update) {
            Ok(runnable) => runnable,
            Err(error) => panic!("{}", self.shown(&error)),
        }
    }

    pub(crate) fn cached(&self, name: &str) -> Option<Runnable> {
        let name = InstallationName::new(name);
        let plugin = self.path("plugin");
        self.with(Update::None, |it| {
            it.resolve_cached(&self.installations, &name, &plugin).unwrap()
        })
    }

    /// What is printed by what `name` means, after it has been acquired.
    #[track_caller]
    pub(crate) fn run(&self, name: &str) -> String {
        output(&self.resolve(name))
    }

    /// The error as a user sees it.
    #[track_caller]
    pub(crate) fn error(&self, name: &str) -> String {
        match self.try_resolve(name, Update::None) {
            Ok(runnable) => panic!("{runnable:?}"),
            Err(error) => self.shown(&error),
        }
    }

    pub(crate) fn shown(&self, error: &InstallError) -> String {
        let mut text = format!("{:?}: {error}", error.kind());
        let mut source = std::error::Error::source(error);
        while let Some(cause) = source {
            text += &format!("\ncause: {cause}");
            source = cause.source();
        }
        for (label, lines) in [("hint", error.hint()), ("details", error.details())] {
            text += &lines.map(|lines| format!("\n{label}: {lines}")).unwrap_or_default();
        }
        text.replace(self.root.as_str(), "[ROOT]")
    }

    /// The lines of a file, none if there is no such file.
    pub(crate) fn lines(&self, relative: &str) -> Vec<String> {
        let text = fs_err::read_to_string(self.path(relative)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The names in the only slot of the cache.
    pub(crate) fn slot_names(&self) -> Vec<String> {
        let slots: Vec<_> = fs_err::read_dir(self.cache().join("installations")).unwrap().collect();
        assert_eq!(slots.len(), 1, "{slots:?}");
        let slot = slots.into_iter().next().unwrap().unwrap();
        let names = fs_err::read_dir(slot.path()).unwrap();
        let mut names: Vec<_> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// A crate like those in the registry, somewhere else.
pub(crate) fn write_crate(dir: &Utf8Path, name: &str, version: &str, binaries: &[&str]) {
    let manifest =
        format!("[package]\nname = \"{name}\"\nversion = \"{version}\"\nedition = \"2021\"\n");
    write(&dir.join("Cargo.toml"), manifest);
    for (path, code) in binary_files(binaries) {
        write(&dir.join(path), code);
    }
}

fn binary_files(names: &[&str]) -> Vec<(String, String)> {
    let code = |name: &str| {
        format!(
            "fn main() {{ let args: Vec<_> = std::env::args().skip(1).collect();\n\
             println!(\"{name} {{}} {{}}\", env!(\"CARGO_PKG_VERSION\"), args.join(\",\")); }}\n"
        )
    };
    names.iter().map(|name| (format!("src/bin/{name}.rs"), code(name))).collect()
}

#[track_caller]
pub(crate) fn output(runnable: &Runnable) -> String {
    let done = runnable.call().capture().unwrap();
    assert!(done.status.success(), "{}", done.said());
    done.stdout_text().trim().to_owned()
}

pub(crate) fn from(source: Option<Source>) -> Installation {
    Installation {
        source,
        entry: None,
        args: Vec::new(),
        install_commands: Vec::new(),
        requirements: Vec::new(),
    }
}

/// `tool` or `tool@1.2.3` from the registry.
pub(crate) fn krate(spec: &str) -> Installation {
    let (name, version) = match spec.split_once('@') {
        Some((name, version)) => (name, Some(version.to_owned())),
        None => (spec, None),
    };
    from(Some(Source::Cargo { name: name.to_owned(), version, git: None, place: CargoPlace::Own }))
}

pub(crate) fn tree(url: impl Into<String>) -> Installation {
    from(Some(Source::Git { url: url.into() }))
}

pub(crate) fn local() -> Installation {
    from(None)
}

/// The rest of an installation, in the words of a manifest.
pub(crate) trait Also: Sized {
    fn executable(self, path: &str) -> Self;
    fn script(self, path: &str) -> Self;
    fn args(self, args: &[&str]) -> Self;
    fn install_commands(self, commands: &[&str]) -> Self;
    fn requirements(self, names: &[&str]) -> Self;
}

impl Also for Installation {
    fn executable(self, path: &str) -> Self {
        Self { entry: Some(Entry::Executable(path.to_owned())), ..self }
    }

    fn script(self, path: &str) -> Self {
        Self { entry: Some(Entry::Script(path.to_owned())), ..self }
    }

    fn args(self, args: &[&str]) -> Self {
        Self { args: args.iter().map(|arg| (*arg).to_owned()).collect(), ..self }
    }

    fn install_commands(self, commands: &[&str]) -> Self {
        let install_commands = commands.iter().map(|command| (*command).to_owned()).collect();
        Self { install_commands, ..self }
    }

    fn requirements(self, names: &[&str]) -> Self {
        let requirements = names.iter().copied().map(InstallationName::new).collect();
        Self { requirements, ..self }
    }
}
