//! `[web]`.

use agents_system::{
    decode::{Table, Text, remote},
    finding::Finding,
    keys::{KeyError, KeySource, find_key},
};

use crate::tools::web::{PrivateAddresses, Service, Sites, WebFetch, WebSearch};

/// What agents may do on the web: nothing, unless the user says so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WebSettings {
    /// Whether they may read pages, and which.
    pub fetch: Option<FetchSettings>,
    /// Whether they may search, and with whom.
    pub search: Option<SearchSettings>,
}

/// Which pages may be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FetchSettings {
    /// On which hosts.
    pub sites: Sites,
    /// Whether also inside of this machine and its network.
    pub private: PrivateAddresses,
}

/// Who is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchSettings {
    /// The service.
    pub service: Service,
    /// Its address.
    pub url: String,
    /// Where its key may be, in this order.
    pub keys: Vec<KeySource>,
}

impl WebSettings {
    const KEYS: [&str; 4] = ["fetch", "hosts", "private-addresses", "search"];

    pub(super) fn decode(table: &Table<'_>) -> Self {
        remote::refuse_secrets(table);
        remote::deny_others(table, &Self::KEYS);
        let fetch = table.boolean("fetch").unwrap_or_default();
        let pages = FetchSettings::read(table);
        let restricts = [
            ("hosts", pages.sites.hosts().next().is_some()),
            ("private-addresses", pages.private == PrivateAddresses::Allowed),
        ];
        for (key, _) in
            restricts.into_iter().filter(|(_, says_something)| !fetch && *says_something)
        {
            let message = format!("`{key}` in [web] has no effect without `fetch = true`");
            table.report(Finding::warning(message));
        }
        Self {
            fetch: fetch.then_some(pages),
            search: table
                .table("search")
                .and_then(|it| SearchSettings::decode(&it.labelled("[web.search]"))),
        }
    }
}

impl SearchSettings {
    const KEYS: [&str; 4] = ["provider", "url", "key-env", "key-command"];

    fn decode(table: &Table<'_>) -> Option<Self> {
        remote::refuse_secrets(table);
        remote::deny_others(table, &Self::KEYS);
        if !table.has("provider") {
            table.missing("provider");
        }
        let service = table.choice("provider", &Service::WORDS);
        let url = table.string("url").and_then(|text| remote::address(&text));
        let mut keys = remote::key_sources(table);
        let service = service?;
        if keys.is_empty() {
            keys.extend(service.usual_key().map(|name| KeySource::Env(name.to_owned())));
            keys.push(KeySource::Keyring(service.word().to_owned()));
        }
        let url = match (url, service.usual_url()) {
            (Some(url), _) => url,
            (None, Some(url)) => url.to_owned(),
            (None, None) => {
                let message =
                    format!("`url` is missing in [web.search]: where your {} is", service.name());
                table.report(Finding::error(message));
                return None;
            }
        };
        Some(Self { service, url, keys })
    }

    /// The tool. Its key is read now; a service that needs one and has none is told as a finding, and not offered.
    pub fn open(&self) -> Result<Result<WebSearch, Finding>, KeyError> {
        let key = find_key(&self.keys)?;
        if key.is_none() && self.service.usual_key().is_some() {
            let looked: Vec<String> = self.keys.iter().map(ToString::to_string).collect();
            let message =
                format!("`web_search` is not offered: there is no key for {}", self.service.name());
            return Ok(Err(Finding::warning(message)
                .hint(format!("looked for it in {}", looked.join(" and ")))));
        }
        let engine = self.service.at(&self.url, key.map(|key| key.secret));
        Ok(Ok(WebSearch::new(std::sync::Arc::new(engine))))
    }
}

impl FetchSettings {
    /// What `[web]` says about pages, whether they may be read or not.
    pub(super) fn read(table: &Table<'_>) -> Self {
        let hosts = table.strings("hosts");
        for host in &hosts {
            let name = host.strip_prefix("*.").unwrap_or(host);
            let fine =
                |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ':' | '[' | ']');
            if name.is_empty() || !name.chars().all(fine) {
                host.report(
                    Finding::error(format!("`{host}` is not the name of a host"))
                        .hint("`docs.rs` is this host, `*.rust-lang.org` all below that name"),
                );
            }
        }
        Self {
            sites: Sites::new(hosts.iter().map(Text::as_str)),
            private: match table.boolean("private-addresses") {
                Some(true) => PrivateAddresses::Allowed,
                _ => PrivateAddresses::Refused,
            },
        }
    }

    /// The tool.
    #[must_use]
    pub fn tool(&self) -> WebFetch {
        WebFetch { private: self.private, sites: self.sites.clone() }
    }
}
