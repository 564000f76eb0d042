#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| agents_fuzz::run("provider_models", data));
