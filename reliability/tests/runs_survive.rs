//! A part of the campaign, with each commit.

use std::process::Command;

/// Runs a part of the campaign; what it prints must say that every answer was right.
fn campaign(arguments: &[&str]) {
    let program = env!("CARGO_BIN_EXE_reliability");
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|cause| panic!("{program}: {cause}"));
    let said = String::from_utf8_lossy(&output.stdout);
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("every answer was"), "{said}{why}");
    println!("{said}");
}

#[test]
fn fifty_kills() {
    campaign(&["kills", "--kills", "50", "--seed", "2026"]);
}

#[test]
fn a_hundred_faults() {
    campaign(&["faults", "--faults", "100", "--seed", "2026"]);
}

#[test]
fn sixty_full_disks() {
    campaign(&["full", "--disks", "60", "--sizes", "4", "--seed", "2026"]);
}

#[test]
fn three_shapes() {
    campaign(&["shapes", "--shapes", "3", "--seed", "2026"]);
}
