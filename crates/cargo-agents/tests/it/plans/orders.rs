//! What other processes say to a run while it is busy.

use super::{Run, Stage};

const ONE: &str = "plan = \"one\"\n[[tasks]]\nid = \"only\"\nagent = \"helper\"\nprompt = \"GO\"\n";

#[test]
fn a_run_whose_model_does_not_stop_talking_hears_what_others_say() {
    let words = "word ".repeat(600);
    let script = format!(
        r#"
[[replies]]
when = {{ text = "GO" }}
times = 1
calls = [{{ name = "bash", input = {{ command = "touch talks" }} }}]
[[replies]]
text = "{words}"
piece = 1
pace-ms = 20
"#
    );
    let stage = Stage::new(&script, ONE);
    let child = stage.until(&["run", "plan.toml", "--allow", "bash"], "talks");
    let run = stage.run(&["pause", "last"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(stage.state(), "paused");
    let run = stage.run(&["cancel", "last"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!(run.code, Some(130), "{run:?}");
    assert_eq!(stage.state(), "cancelled");
}
