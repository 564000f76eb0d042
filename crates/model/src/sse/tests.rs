use proptest::prelude::*;

use super::*;

type Owned = (String, String);

fn decode(chunks: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<Vec<Owned>, SseError> {
    let mut decoder = SseDecoder::new(1024);
    let mut events = Vec::new();
    for chunk in chunks {
        decoder.feed(chunk.as_ref(), |event| {
            events.push((event.name.to_owned(), event.data.to_owned()));
            Ok::<_, SseError>(())
        })?;
    }
    Ok(events)
}

/// The same events come out, wherever the text is cut.
fn check(text: &str, expected: &[(&str, &str)]) {
    let expected: Vec<Owned> =
        expected.iter().map(|(name, data)| ((*name).to_owned(), (*data).to_owned())).collect();
    for size in 1..=text.len().max(1) {
        let events = decode(text.as_bytes().chunks(size)).unwrap();
        assert_eq!(events, expected, "{text:?} in pieces of {size}");
    }
    for at in 0..=text.len() {
        let (one, two) = text.as_bytes().split_at(at);
        assert_eq!(decode([one, two]).unwrap(), expected, "{text:?} cut at {at}");
    }
}

#[test]
fn fields_and_ends_of_lines() {
    check("data: a\n\n", &[("", "a")]);
    check("data:a\r\n\r\ndata: b\r\rdata:  c\n\n", &[("", "a"), ("", "b"), ("", " c")]);
    check("event: x\ndata: a\ndata: b\n\ndata: c\n\n", &[("x", "a\nb"), ("", "c")]);
    check("data\n\ndata:\n\n", &[("", ""), ("", "")]);
    check(": comment\n\nid: 7\nretry: 1\ndatum: x\n\n", &[]);
    check("event: first\nevent: second\ndata: äöü€😀\n\n", &[("second", "äöü€😀")]);
    check("event: lost\n\ndata: a\n\n", &[("", "a")]);
    check("data: incomplete", &[]);
    check("data: incomplete\n", &[]);
    check("\n\n\r\n\rdata: a\r\n\n\n", &[("", "a")]);
    check("data: a\n\r\ndata: b\r\n\r\n", &[("", "a"), ("", "b")]);
}

#[test]
fn a_byte_order_mark_counts_only_at_the_beginning() {
    check("\u{feff}data: a\n\n", &[("", "a")]);
    check("\u{feff}\ndata: a\n\n", &[("", "a")]);
    check("data: a\n\n\u{feff}data: b\n\n", &[("", "a")]);
}

#[test]
fn what_is_not_text_is_an_error() {
    assert_eq!(decode([b"data: \xff\n\n"]), Err(SseError::NotUtf8));
    assert_eq!(decode([b"event: \xc3\ndata: x\n\n"]), Err(SseError::NotUtf8));
}

#[test]
fn memory_has_a_bound_however_long_the_line() {
    for unit in ["x", "data: ", "data: x\n", ": ", "event: y"] {
        let mut decoder = SseDecoder::new(64 * 1024);
        let chunk = unit.repeat(1000);
        let mut most = 0;
        // A gigabyte, if nothing stopped it.
        let outcome = (0..1_000_000).try_for_each(|_| {
            let outcome = decoder.feed(chunk.as_bytes(), |_| Ok(()));
            most = most.max(decoder.held());
            outcome
        });
        assert_eq!(outcome, Err(SseError::TooLong { limit: 64 * 1024 }), "{unit}");
        assert!(most <= 64 * 1024, "{most} bytes were held");
    }
}

#[test]
fn one_chunk_that_is_too_long_is_too_long_as_well() {
    let long = format!("data: {}\ndata: x\n\n", "x".repeat(2000));
    assert_eq!(decode([&long]), Err(SseError::TooLong { limit: 1024 }));
    assert_eq!(decode(["data: 1\n".repeat(600)]), Err(SseError::TooLong { limit: 1024 }));
}

proptest! {
    #[test]
    fn any_bytes_in_any_pieces(
        bytes in proptest::collection::vec(prop_oneof![
            Just(b'\n'), Just(b'\r'), Just(b':'), Just(b' '), Just(b'd'), any::<u8>(),
        ], 0..200),
        cuts in proptest::collection::vec(0usize..200, 0..8),
    ) {
        let whole = decode([&bytes]);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|it| &bytes[it[0]..it[1]]).collect();
        prop_assert_eq!(decode(pieces), whole);
    }
}
