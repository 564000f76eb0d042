use camino::Utf8Path;

use super::*;

fn resolve(texts: &[&str], env: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let roots = Roots { home: Utf8Path::new("/h"), workspace: None, env };
    let path = UserPath::parse_list(texts.iter().copied()).unwrap();
    path.resolve(&roots, Utf8Path::new("/h/.host")).map(Utf8PathBuf::into_string)
}

#[test]
fn the_first_alternative_whose_variable_is_set_counts() {
    let paths = ["$A/a", "$B", "~/c"];
    let set = |names: &'static [(&str, &str)]| {
        move |name: &str| {
            names.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        }
    };
    assert_eq!(resolve(&paths, &set(&[])).unwrap(), "/h/c");
    assert_eq!(resolve(&paths, &set(&[("B", "/b")])).unwrap(), "/b");
    assert_eq!(resolve(&paths, &set(&[("A", "/x"), ("B", "/b")])).unwrap(), "/x/a");
}

#[test]
fn empty_and_relative_values_count_as_not_set() {
    for value in ["", "rel", "./x", "~/x"] {
        assert_eq!(resolve(&["$A", "~/c"], &|_| Some(value.to_owned())).unwrap(), "/h/c");
    }
}

#[test]
fn the_home_of_the_host_and_absolute_paths_are_bases_too() {
    assert_eq!(resolve(&["{home}/skills"], &|_| None).unwrap(), "/h/.host/skills");
    assert_eq!(resolve(&["/opt/x"], &|_| None).unwrap(), "/opt/x");
    assert_eq!(resolve(&["~"], &|_| None).unwrap(), "/h");
}

#[test]
fn what_a_path_may_not_be() {
    let user = |text: &str| UserPath::parse_list([text]).unwrap_err();
    assert_eq!(user(""), PathError::Empty);
    assert_eq!(user("~/../x"), PathError::Climbs);
    assert_eq!(user("x/y"), PathError::NoBase);
    assert_eq!(user("$lower/x"), PathError::NoBase);
    assert_eq!(user("$A/x"), PathError::NoFallback);
    assert_eq!(UserPath::parse_list([]).unwrap_err(), PathError::Empty);

    let project = |text: &str| ProjectPath::parse(text).unwrap_err();
    assert_eq!(project(" "), PathError::Empty);
    assert_eq!(project("a/../../b"), PathError::Climbs);
    assert_eq!(project("a\\..\\b"), PathError::Climbs);
    for text in ["/x", "~/x", "$A/x", "{home}/x"] {
        assert_eq!(project(text), PathError::NotRelative);
    }
}

#[test]
fn paths_are_shown_as_they_were_written() {
    let path = UserPath::parse_list(["$A", "$B/b", "{home}/c", "~"]).unwrap();
    assert_eq!(path.to_string(), "$A or $B/b or {home}/c or ~");
    assert_eq!(path.variables().collect::<Vec<_>>(), ["A", "B"]);
}
