//! The fuzzer of all targets: the variable TARGET names the one that is called.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("TARGET").expect("TARGET names a target");
    tegula_fuzz::target(&name).unwrap_or_else(|| panic!("no target is called {name}"))
});

fuzz_target!(|bytes: &[u8]| TARGET(bytes));
