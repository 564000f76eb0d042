//! Where pages are, and what services say about them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use agents_tool::{
    Subject, Tool as _,
    tools::web::{PrivateAddresses, Service, Sites, WebFetch, is_private, read_hits},
};
use camino::Utf8Path;
use serde_json::json;

use crate::peers::context;

/// How much of a result is shown.
const EXCERPT: usize = 2_000;

/// An address on the first line, then hosts that may be read and addresses of machines: what is read is on one of those hosts and is what
/// is asked about, by name; no password goes along; and no machine of ours is taken for one of the public network.
pub fn web_address(text: &str) {
    let mut lines = text.lines();
    let address = lines.next().unwrap_or_default();
    let rest: Vec<&str> = lines.take(16).collect();
    rest.iter().filter_map(|it| it.parse().ok()).for_each(check_private);
    let hosts: Vec<&str> = rest.iter().copied().filter(|it| !it.is_empty()).collect();
    let context = context(Utf8Path::new("/"));
    let asked = |sites: Sites| {
        let fetch = WebFetch { private: PrivateAddresses::Refused, sites };
        match fetch.intent(&json!({ "url": address }), &context) {
            Ok(intent) => match intent.subject {
                Subject::Text(text) => Some(text),
                other => panic!("{other:?}"),
            },
            Err(error) => {
                assert!(!error.to_string().is_empty());
                None
            }
        }
    };
    let (free, bound) = (asked(Sites::default()), asked(Sites::new(&hosts)));
    let Some(host) = free.as_deref().map(|it| it.strip_prefix("domain:").expect("a host")) else {
        return assert_eq!(bound, None, "a list of hosts allows what nobody may read");
    };
    let odd = |it: char| it.is_whitespace() || it.is_control() || "@/\\?#*".contains(it);
    assert!(!host.is_empty() && !host.contains(odd), "{host:?}");
    if let Ok(place) = host.trim_matches(['[', ']']).parse() {
        check_private(place);
    }
    if bound.is_some() && !hosts.is_empty() {
        assert_eq!(bound, free, "what is asked about does not depend on the list");
        let host = host.trim_end_matches('.');
        let names = |it: &&str| {
            let it = it.to_ascii_lowercase();
            it == host || it.strip_prefix('*').is_some_and(|it| it.len() > 1 && host.ends_with(it))
        };
        assert!(hosts.iter().any(names), "{host} is not among {hosts:?}");
    }
}

/// What the standard library knows to be inside of this machine or its network is private, in every disguise.
fn check_private(place: IpAddr) {
    let inside_v4 = |it: Ipv4Addr| {
        it.is_loopback() || it.is_private() || it.is_link_local() || it.is_unspecified()
    };
    let inside_v6 = |it: Ipv6Addr| {
        it.is_loopback()
            || it.is_unspecified()
            || it.is_unique_local()
            || it.is_unicast_link_local()
            || it.is_multicast()
            || it.to_ipv4().is_some_and(inside_v4)
    };
    let is_inside = match place {
        IpAddr::V4(place) => inside_v4(place),
        IpAddr::V6(place) => inside_v6(place),
    };
    assert!(!is_inside || is_private(place), "{place}");
    if let IpAddr::V4(v4) = place {
        let [a, b, c, d] = v4.octets();
        let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        for disguise in [
            v4.to_ipv6_mapped(),
            v4.to_ipv6_compatible(),
            Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
            Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
        ] {
            assert_eq!(is_private(disguise.into()), is_private(place), "{disguise}");
        }
    }
}

/// What a service for searching answers: no more results than were asked for, each with an address, in bounded words without tags or
/// lines, or why there are none.
pub fn web_search(data: &[u8]) {
    for (_, service) in Service::WORDS {
        for limit in [1, 20] {
            let hits = match read_hits(service, data, limit) {
                Ok(hits) => hits,
                Err(error) => {
                    assert!(error.to_string().starts_with(service.name()), "{error}");
                    continue;
                }
            };
            assert!(hits.len() <= limit);
            for hit in &hits {
                for text in [&hit.title, &hit.excerpt] {
                    assert!(text.len() <= EXCERPT && !text.contains('\n'), "{text:?}");
                }
                assert!(hit.url.len() <= EXCERPT && !hit.url.contains(char::is_whitespace));
            }
        }
    }
}
