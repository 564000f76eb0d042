use super::*;

fn hosts() -> Vec<Choice> {
    vec![
        Choice::new("Claude Code").note("installed").start(Start::Picked),
        Choice::new("Codex"),
        Choice::new("Gemini CLI").note("configured"),
    ]
}

fn consent() -> Vec<Choice> {
    vec![Choice::new("yes").key('y'), Choice::new("always").key('w'), Choice::new("no").key('n')]
}

const USUAL: Size = Size::USUAL;

/// What the keys lead to, the last of which must end the question.
fn press(menu: &mut Menu<'_>, keys: &[Key]) -> Step {
    let Some((last, before)) = keys.split_last() else { return Step::Stay };
    for key in before {
        assert_eq!(menu.press(*key), Step::Stay, "{key:?}");
    }
    menu.press(*last)
}

fn shown(menu: &Menu<'_>, size: Size) -> Vec<String> {
    menu.frame(size).into_iter().map(|line| line.text).collect()
}

#[test]
fn any_number_can_be_picked() {
    let choices = hosts();
    for (keys, picked) in [
        (&[Key::Enter][..], &[0][..]),
        (&[Key::Char(' '), Key::Enter], &[]),
        (&[Key::Down, Key::Char(' '), Key::Enter], &[0, 1]),
        (&[Key::Up, Key::Char(' '), Key::Enter], &[0, 2]),
        (&[Key::Last, Key::Down, Key::Char(' '), Key::Enter], &[]),
        (&[Key::Last, Key::First, Key::Char(' '), Key::Enter], &[]),
        (&[Key::Char('a'), Key::Enter], &[0, 1, 2]),
        (&[Key::Char('a'), Key::Char('a'), Key::Enter], &[]),
        (&[Key::Unknown, Key::Char('y'), Key::Enter], &[0]),
    ] {
        let mut menu = Menu::new("Which?", &choices, How::Many);
        assert_eq!(press(&mut menu, keys), Step::Done(picked.to_vec()), "{keys:?}");
    }
    let mut menu = Menu::new("Which?", &choices, How::Many);
    assert_eq!(press(&mut menu, &[Key::Char(' '), Key::Cancel]), Step::Cancel);
}

#[test]
fn exactly_one_can_be_picked_by_cursor_or_key() {
    let choices = consent();
    for (keys, picked) in [
        (&[Key::Enter][..], 2),
        (&[Key::Up, Key::Enter], 1),
        (&[Key::Down, Key::Enter], 0),
        (&[Key::Char('y')], 0),
        (&[Key::Char('W')], 1),
        (&[Key::Char('x'), Key::Char(' '), Key::Char('n')], 2),
    ] {
        let mut menu = Menu::new("Run it?", &choices, How::One { preferred: 2 });
        assert_eq!(press(&mut menu, keys), Step::Done(vec![picked]), "{keys:?}");
    }
}

#[test]
fn a_question_without_choices_has_no_answer() {
    let mut menu = Menu::new("Which?", &[], How::One { preferred: 7 });
    assert_eq!(press(&mut menu, &[Key::Up, Key::Down, Key::Enter]), Step::Cancel);
    let mut menu = Menu::new("Which?", &[], How::Many);
    assert_eq!(press(&mut menu, &[Key::Up, Key::Char(' '), Key::Enter]), Step::Done(vec![]));
}

#[test]
fn it_reads_well_without_colours() {
    let choices = hosts();
    let mut menu = Menu::new("Which?", &choices, How::Many);
    menu.press(Key::Down);
    assert_eq!(
        shown(&menu, USUAL),
        [
            "Which?",
            "  [x] Claude Code  installed",
            "> [ ] Codex",
            "  [ ] Gemini CLI   configured",
            "space: change, a: all, enter: accept, esc: cancel",
        ]
    );
    assert_eq!(menu.answered(&[0, 2]), "Which?  Claude Code, Gemini CLI");
    assert_eq!(menu.answered(&[]), "Which?  none");
    let choices = consent();
    let menu = Menu::new("Run it?", &choices, How::One { preferred: 0 });
    assert_eq!(
        shown(&menu, USUAL),
        ["Run it?", "> [y]es", "  [w] always", "  [n]o", "enter: accept, esc: cancel"]
    );
}

#[test]
fn it_fits_into_every_window_and_the_cursor_is_always_seen() {
    let choices: Vec<Choice> =
        (0..13).map(|number| Choice::new(format!("choice 漢字 {number}"))).collect();
    for columns in 1..40 {
        for rows in 1..20 {
            let mut menu = Menu::new("Which of these?", &choices, How::Many);
            for _ in 0..choices.len() {
                let frame = menu.frame(Size { columns, rows });
                let fits = |line: &Line| line.text.width() < columns.max(2);
                assert!(frame.iter().all(fits), "{columns}: {frame:?}");
                assert!(frame.len() < rows.max(4), "{rows}: {frame:?}");
                let under = frame.iter().filter(|line| line.tone == Tone::UnderCursor);
                assert_eq!(under.count(), 1, "{columns} x {rows}: {frame:?}");
                menu.press(Key::Down);
            }
        }
    }
    let mut menu = Menu::new("Which of these?", &choices, How::Many);
    menu.press(Key::Last);
    assert_eq!(
        shown(&menu, Size { columns: 18, rows: 5 }),
        ["Which of these?", "  [ ] choice 漢…", "> [ ] choice 漢…", "13/13  space: ch…"]
    );
}

#[test]
fn what_is_asked_about_cannot_steer_the_terminal() {
    let choices = [Choice::new("evil\u{1b}[2J\nyes").note("a\tb\u{202e}")];
    let menu = Menu::new("Trust\r\nthis?", &choices, How::Many);
    for text in shown(&menu, USUAL).into_iter().chain(menu.numbered().0) {
        assert!(!text.contains(|c: char| c.is_control() || c == '\u{202e}'), "{text:?}");
    }
}

#[test]
fn lines_do_what_keys_do() {
    let choices = hosts();
    let mut menu = Menu::new("Which?", &choices, How::Many);
    let (lines, prompt) = menu.numbered();
    assert_eq!(
        lines,
        [
            "Which?",
            "   1  [x] Claude Code  installed",
            "   2  [ ] Codex",
            "   3  [ ] Gemini CLI   configured",
        ]
    );
    assert_eq!(prompt, "numbers to change, `a` for all, or enter to accept: ");
    assert_eq!(menu.enter_line("1, 3"), Step::Stay);
    for wrong in ["0", "4", "x", "2 x", "-1", "99999999999999999999999"] {
        assert!(matches!(menu.enter_line(wrong), Step::Refused(_)), "{wrong}");
    }
    assert_eq!(menu.enter_line(""), Step::Done(vec![2]), "what was refused changed nothing");
    assert_eq!(menu.enter_line("a"), Step::Stay);
    assert_eq!(menu.enter_line(""), Step::Done(vec![0, 1, 2]));

    let choices = consent();
    let mut menu = Menu::new("Run it?", &choices, How::One { preferred: 2 });
    let (lines, prompt) = menu.numbered();
    assert_eq!(lines, ["Run it?", "   1  [y]es", "   2  [w] always", ">  3  [n]o"]);
    assert_eq!(prompt, "a number, or enter for 3: ");
    assert!(matches!(menu.enter_line("1 2"), Step::Refused(_)));
    assert_eq!(menu.clone().enter_line(""), Step::Done(vec![2]));
    assert_eq!(menu.clone().enter_line("1"), Step::Done(vec![0]));
    assert_eq!(menu.enter_line("w"), Step::Done(vec![1]));
}
