//! What others send while we wait for it: models their answers, hosts their events, handlers what they decided.

use agents_hook::{
    Decision, HookOutput,
    wire::{Received, Wire},
};
use agents_host::Event;
use agents_model::wire::{Wire as ModelWire, WireDecoder};

/// So much of one event of a stream is kept.
const LIMIT: usize = 1024;

/// Wherever a stream is cut, the same events come out of it, and no more of it is kept than was agreed.
pub fn answer(wire: ModelWire, data: &[u8]) {
    let decode = |size: usize| {
        let mut decoder = WireDecoder::new(wire, LIMIT);
        let mut events = Vec::new();
        let mut fed = Ok(());
        for chunk in data.chunks(size) {
            fed = decoder.feed(chunk, &mut events);
            assert!(decoder.held() <= LIMIT, "{} bytes are kept", decoder.held());
            if fed.is_err() {
                break;
            }
        }
        let ended = fed.and_then(|()| decoder.finish(&mut events));
        (events, ended.map_err(|it| it.to_string()))
    };
    let whole = decode(data.len().max(1));
    for size in [1, 3, 1 + data.len() / 2] {
        assert_eq!(decode(size), whole, "in pieces of {size}");
    }
}

/// Whatever one host tells can be told to handlers of all others, and is understood there.
pub fn hook_input(data: &[u8]) {
    for wire in Wire::ALL {
        for event in Event::ALL {
            let Ok(Received::Input(input)) = wire.parse_input(event, data) else { continue };
            assert_eq!(input.event(), event);
            for other in Wire::ALL {
                let told = other.render_input(&input);
                let heard = other.parse_input(event, &told);
                assert!(heard.is_ok(), "{wire:?} to {other:?}: {heard:?}");
            }
            drop(agents_hook::wire::whereabouts(data));
        }
    }
}

/// A denial in any format is one in all others, or it is said that it cannot be.
pub fn hook_output(text: &str) {
    for wire in Wire::ALL {
        for event in Event::ALL {
            let Ok(output) = wire.parse_output(event, text) else { continue };
            for other in Wire::ALL {
                denies(other, event, &output);
            }
        }
    }
}

fn denies(wire: Wire, event: Event, output: &HookOutput) {
    let (answer, losses) = wire.render_output(event, output);
    if output.decision != Some(Decision::Deny) || answer.code != 0 || !losses.is_empty() {
        return;
    }
    let heard = wire.parse_output(event, &answer.stdout).expect("what we say can be read");
    assert!(heard.decision == Some(Decision::Deny) || heard.stop, "{wire:?} {event:?}: {answer:?}");
}
