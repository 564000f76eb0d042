//! The hosts that we know how to start.

use agents_probe::{
    client::{self, Place},
    sample::Servers,
};

#[test]
fn each_is_told_of_the_model_and_sees_nothing_of_the_user() {
    for client in client::all() {
        let place = Place {
            program: "/opt/client".into(),
            path: "/opt:/usr/bin".as_ref(),
            home: "/scratch/home".into(),
            workspace: "/scratch/work".into(),
            url: "http://127.0.0.1:4711",
            model: "scripted-model",
        };
        let files = client.files(&place);
        let env = client.env(&place);
        let texts = files.iter().map(|it| &it.1).chain(env.iter().map(|it| &it.1));
        assert!(
            texts.into_iter().any(|it| it.contains("127.0.0.1:4711")),
            "{} does not know where the model is",
            client.host()
        );
        for (path, _) in &files {
            assert!(path.is_relative(), "`{path}` is not below the home");
        }
        let call = client.prompt(&place, "the prompt");
        assert!(call.display().starts_with("/opt/client "), "{}", call.display());
        assert!(call.display().contains("the prompt"), "{}", call.display());
        assert_ne!(Servers::One.call(client.as_ref()).0, Servers::Each.call(client.as_ref()).0);
    }
}
