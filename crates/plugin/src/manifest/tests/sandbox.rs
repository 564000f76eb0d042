//! `[sandbox]`.

use agents_system::sandbox::Network;

use super::*;

#[test]
fn a_plugin_says_what_its_programs_need() {
    assert_eq!(demo("").sandbox, Needs::default());
    let text = "[sandbox]\nread = [\"~/.config/demo\"]\nwrite = [\"target\", \"/var/demo\"]\nnetwork = true\n";
    let needs = Needs {
        read: vec!["~/.config/demo".to_owned()],
        write: vec!["target".to_owned(), "/var/demo".to_owned()],
        network: Network::Allowed,
    };
    assert_eq!(demo(text).sandbox, needs);
    assert_eq!(demo("[sandbox]\nnetwork = false\n").sandbox, Needs::default());
}

#[test]
fn what_it_cannot_mean_is_refused() {
    check_error("[sandbox]\nwrite = [\"../other\"]\n", "a path of the sandbox has `..` in it");
    check_error(
        "[sandbox]\nread = [\"\"]\n",
        "a path of the sandbox is empty or has a null character in it",
    );
    check_error("[sandbox]\nnet = true\n", "unknown key `net` in [sandbox]");
}

#[test]
fn layers_need_what_either_needs() {
    let layer = |text: &str| parse_as(Manner::Embedded, text).manifest.unwrap();
    let lower = layer("[sandbox]\nread = [\"a\"]\nnetwork = true\n");
    let joined = lower.overlaid_by(layer("[sandbox]\nread = [\"b\"]\n"));
    assert_eq!(joined.sandbox.read, ["a", "b"]);
    assert_eq!(joined.sandbox.network, Network::Allowed);
    let network = |lower: bool, upper: bool| {
        let [lower, upper] =
            [lower, upper].map(|it| layer(&format!("[sandbox]\nnetwork = {it}\n")));
        lower.overlaid_by(upper).sandbox.network
    };
    assert_eq!(network(false, true), Network::Allowed);
    assert_eq!(network(false, false), Network::Denied, "nobody needs it");
}
