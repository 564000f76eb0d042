//! What libFuzzer runs: the target that `FUZZ_TARGET` names. Where `FUZZ_LOGS` names a directory with what it printed, that is written into the
//! page of the book instead.

#![no_main]

use std::{env, process::exit, sync::LazyLock};

static TARGET: LazyLock<String> = LazyLock::new(|| env::var("FUZZ_TARGET").unwrap_or_default());

libfuzzer_sys::fuzz_target!(
    init: {
        if let Ok(logs) = env::var("FUZZ_LOGS") {
            let written = agents_fuzz::page::write(logs.as_str().into());
            if let Err(error) = &written {
                eprintln!("error: {error}");
            }
            exit(i32::from(written.is_err()));
        }
    },
    |data: &[u8]| agents_fuzz::targets::run(&TARGET, data)
);

// Every other change is one of the JSON in an input, where it has some.
libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let changed = agents_fuzz::mutate::mutated(&data[..size], seed).filter(|_| seed % 2 == 0);
    match changed.filter(|it| it.len() <= max_size) {
        Some(changed) => {
            data[..changed.len()].copy_from_slice(&changed);
            changed.len()
        }
        None => libfuzzer_sys::fuzzer_mutate(data, size, max_size),
    }
});
