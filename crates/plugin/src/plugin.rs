//! A plugin as the active set sees it: what decides about it at hand, the rest decoded when needed.

use std::{cell::OnceCell, fmt};

use agents_system::{
    cache::{Digest, digest},
    finding::Finding,
};
use agents_workspace::{CrateName, Member};
use camino::{Utf8Path, Utf8PathBuf};
use semver::Version;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{
    manifest::{Audience, Chained, Manifest, PluginName, SubcommandName},
    predicate::{Gate, PredicateName},
};

/// A loaded plugin. Thousands of them are read at every start and few of them apply, so only what decides
/// about that is decoded; [`offers`](Self::offers) and [`manifest`](Self::manifest) decode the rest when asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plugin {
    /// Its name.
    pub name: PluginName,
    /// Where it comes from.
    pub origin: Origin,
    /// The file that defines it.
    pub file: Utf8PathBuf,
    /// When it applies.
    pub gate: Gate,
    /// Whether it needs the user's consent first.
    pub waking: Waking,
    /// What asking its conditions does.
    pub asking: Asking,
    /// Whether it has hooks.
    pub hooking: Hooking,
    /// The predicates that it defines, which count whether it applies or not.
    pub predicates: Vec<PredicateName>,
    /// The digest of its file's text, its [`Offers`], then its manifest.
    packed: Packed,
    // Boxed, because most of the thousands never have them.
    #[serde(skip)]
    offers: OnceCell<Box<Offers>>,
    #[serde(skip)]
    manifest: OnceCell<Box<Manifest>>,
}

/// What a plugin that applies offers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offers {
    /// Its subcommands.
    pub subcommands: Vec<SubcommandSummary>,
    /// The plugins that it brings along.
    pub chained: Vec<Chained>,
}

/// Bytes that are copied as a whole: a plain `Vec<u8>` is decoded one number at a time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Packed(pub(crate) Vec<u8>);

impl Serialize for Packed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Packed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&[u8]>::deserialize(deserializer).map(|bytes| Self(bytes.to_owned()))
    }
}

/// What help and dispatch need to know about a subcommand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubcommandSummary {
    /// Its name.
    pub name: SubcommandName,
    /// One line for the help.
    pub description: String,
    /// In which section of the help it stands.
    pub audience: Audience,
    /// When it applies, besides the plugin's own gate.
    pub gate: Gate,
}

/// Whether a plugin needs the user's consent before it can be active.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Waking {
    /// Its gates decide.
    ByItself,
    /// It names no crate at all, so it sleeps until `[plugins] use` names it.
    WhenUsed,
}

/// What asking the conditions of a plugin does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Asking {
    /// It only looks.
    Looks,
    /// Some of them run a program.
    RunsPrograms,
}

/// Whether a plugin has hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hooking {
    /// It has none.
    No,
    /// It has some.
    Yes,
}

/// Where a plugin comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Origin {
    /// The program itself.
    BuiltIn,
    /// A registry that the user configured.
    Registry(String),
    /// The workspace the user stands in.
    Member(String),
    /// A crate: a dependency, or one that another plugin or the user named.
    Crate(CrateName, Version),
}

impl Plugin {
    /// Summarises a manifest that `file` names, but that is made of more than what stands there.
    #[must_use]
    pub fn new(manifest: &Manifest, origin: Origin, file: &Utf8Path) -> Self {
        Self::summarise(manifest, origin, file, None)
    }

    /// Summarises a manifest that is all of what `file` says, which is this text.
    #[must_use]
    pub fn of_text(manifest: &Manifest, origin: Origin, file: &Utf8Path, text: &str) -> Self {
        Self::summarise(manifest, origin, file, Some(digest(text.as_bytes())))
    }

    fn summarise(
        manifest: &Manifest,
        origin: Origin,
        file: &Utf8Path,
        text: Option<Digest>,
    ) -> Self {
        let subcommands = manifest.subcommands.iter().map(|(name, subcommand)| SubcommandSummary {
            name: name.clone(),
            description: subcommand.description.clone(),
            audience: subcommand.audience,
            gate: subcommand.gate.clone(),
        });
        let offers =
            Offers { subcommands: subcommands.collect(), chained: manifest.chained.clone() };
        let sleeps = matches!(origin, Origin::Registry(_)) && !manifest.wakes_by_itself();
        Self {
            name: manifest.name.clone(),
            origin,
            file: file.to_owned(),
            gate: manifest.gate.clone(),
            waking: if sleeps { Waking::WhenUsed } else { Waking::ByItself },
            asking: match manifest.gates().any(Gate::runs_programs) {
                true => Asking::RunsPrograms,
                false => Asking::Looks,
            },
            hooking: if manifest.hooks.is_empty() { Hooking::No } else { Hooking::Yes },
            predicates: manifest.predicates.iter().map(|defined| defined.name.clone()).collect(),
            // Plain data with string keys only: this cannot fail, and if it did, `manifest` would say so.
            packed: Packed(postcard::to_allocvec(&(text, &offers, manifest)).unwrap_or_default()),
            offers: OnceCell::from(Box::new(offers)),
            manifest: OnceCell::new(),
        }
    }

    /// What it offers where it applies.
    #[must_use]
    pub fn offers(&self) -> &Offers {
        // What was stored is verified as a whole before any of it is believed.
        self.offers.get_or_init(|| {
            let decoded = postcard::take_from_bytes::<(Option<Digest>, Offers)>(&self.packed.0);
            Box::new(decoded.map(|((_, offers), _)| offers).unwrap_or_default())
        })
    }

    /// The digest of the text that this plugin was made of: of what counts, whatever its file may say by now. `None` if it was
    /// made of more than one file.
    #[must_use]
    pub fn text_digest(&self) -> Option<Digest> {
        let decoded = postcard::take_from_bytes::<Option<Digest>>(&self.packed.0);
        decoded.ok().and_then(|(text, _)| text)
    }

    /// The whole manifest.
    pub fn manifest(&self) -> Result<&Manifest, Box<Finding>> {
        if let Some(manifest) = self.manifest.get() {
            return Ok(manifest);
        }
        match postcard::from_bytes::<(Option<Digest>, Offers, Manifest)>(&self.packed.0) {
            Ok((_, _, manifest)) => Ok(self.manifest.get_or_init(|| Box::new(manifest))),
            Err(error) => {
                let name = &self.name;
                let message = format!("the stored manifest of `{name}` cannot be read: {error}");
                let hint = "remove our cache directory and try again";
                Err(Box::new(Finding::error(message).hint(hint)))
            }
        }
    }

    /// The name that the user agrees to or refuses: that of the crate, for what a crate embeds, because its plugin may
    /// call itself anything.
    #[must_use]
    pub fn consent_name(&self) -> &str {
        match &self.origin {
            Origin::Crate(name, _) => name.as_str(),
            Origin::BuiltIn | Origin::Registry(_) | Origin::Member(_) => self.name.as_str(),
        }
    }

    /// Whether this is its name, or that of the crate that embeds it.
    #[must_use]
    pub fn is_for(&self, name: &str) -> bool {
        self.name.is(name) || CrateName::new(self.consent_name()) == CrateName::new(name)
    }

    /// The directory of its manifest, which relative paths in it start from.
    #[must_use]
    pub fn dir(&self) -> &Utf8Path {
        self.file.parent().unwrap_or(Utf8Path::new("."))
    }
}

impl Origin {
    /// The workspace member.
    #[must_use]
    pub fn member(member: &Member) -> Self {
        Self::Member(member.name.to_string())
    }

    /// One word for its kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::Registry(_) => "registry",
            Self::Member(_) => "member",
            Self::Crate(..) => "crate",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::Registry(name) => write!(f, "registry `{name}`"),
            Self::Member(name) => write!(f, "workspace member `{name}`"),
            Self::Crate(name, version) => write!(f, "crate {name} {version}"),
        }
    }
}
