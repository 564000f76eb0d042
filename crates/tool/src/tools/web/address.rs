//! Where an address leads, and whether that is somebody else's machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};

use reqwest::Url;

use crate::tool::ToolError;

/// Whether addresses inside of this machine and its network may be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PrivateAddresses {
    /// They may not.
    #[default]
    Refused,
    /// They may.
    Allowed,
}

/// The places that a connection may go to. One that is private makes all of them so: which one is used would be left to chance.
pub(super) async fn resolve(
    url: &Url,
    private: PrivateAddresses,
) -> Result<Vec<SocketAddr>, ToolError> {
    let host = url.host_str().unwrap_or_default().to_owned();
    let port = url.port_or_known_default().unwrap_or(443);
    let bare = host.trim_matches(['[', ']']).to_owned();
    let places = match bare.parse::<IpAddr>() {
        Ok(address) => vec![SocketAddr::new(address, port)],
        Err(_) => {
            let asked = tokio::task::spawn_blocking(move || {
                (bare.as_str(), port).to_socket_addrs().map(Iterator::collect::<Vec<_>>)
            });
            let found = asked.await.unwrap_or_else(|_| Ok(Vec::new()));
            found.map_err(|error| ToolError::failed(format!("there is no `{host}`: {error}")))?
        }
    };
    if places.is_empty() {
        return Err(ToolError::failed(format!("there is no `{host}`")));
    }
    let inside = places.iter().find(|it| is_private(it.ip()));
    match (inside, private) {
        (Some(place), PrivateAddresses::Refused) => Err(ToolError::hinted(
            format!("`{host}` is `{}`, inside of this machine or its network", place.ip()),
            "only the user can allow that, in the configuration",
        )),
        _ => Ok(places),
    }
}

/// Whether an address is not one of the public network. What is not known to be public is not.
#[must_use]
pub fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (b == 18 || b == 19))
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    // Addresses of the other kind in disguise: mapped, translated, or carried in 6to4.
    let carried = match segments {
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some((high, low))
        }
        [0x2002, high, low, ..] => Some((high, low)),
        _ => None,
    };
    if let Some((high, low)) = carried {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        return is_private_v4(Ipv4Addr::new(a, b, c, d));
    }
    // Only this part is given to anybody.
    segments[0] & 0xe000 != 0x2000
        || segments[0] == 0x2001 && segments[1] < 0x200
        || segments[0] == 0x2001 && segments[1] == 0xdb8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_public_network_is_public() {
        for (address, private) in [
            ("93.184.216.34", false),
            ("8.8.8.8", false),
            ("127.0.0.1", true),
            ("127.255.0.3", true),
            ("10.1.2.3", true),
            ("172.16.0.1", true),
            ("172.32.0.1", false),
            ("192.168.1.1", true),
            ("169.254.169.254", true),
            ("100.64.0.1", true),
            ("100.128.0.1", false),
            ("0.0.0.0", true),
            ("255.255.255.255", true),
            ("224.0.0.1", true),
            ("192.0.0.9", true),
            ("192.0.1.1", false),
            ("192.1.0.1", false),
            ("1.0.0.1", false),
            ("198.18.0.1", true),
            ("198.19.255.1", true),
            ("198.17.0.1", false),
            ("198.20.0.1", false),
            ("97.18.0.1", false),
            ("2606:4700::1111", false),
            ("::1", true),
            ("::", true),
            ("fe80::1", true),
            ("fd00::1", true),
            ("ff02::1", true),
            ("2001:db8::1", true),
            ("2001::1", true),
            ("2001:1ff::1", true),
            ("2001:200::1", false),
            ("2001:4860:4860::8888", false),
            ("2606:100::1", false),
            ("2606:db8::1", false),
            ("::ffff:127.0.0.1", true),
            ("::ffff:8.8.8.8", false),
            ("::127.0.0.1", true),
            ("64:ff9b::a00:1", true),
            ("2002:a00:1::", true),
        ] {
            assert_eq!(is_private(address.parse().unwrap()), private, "{address}");
        }
    }
}
