//! Flags of every command go together, and a command that was left out is refused by its feature.

use super::*;
use tegula_cli::parts::{commands, left_out};

#[test]
fn flags_of_every_command_go_together() {
    commands().debug_assert();
}

#[test]
fn a_command_that_was_left_out_is_refused_by_its_feature() {
    let refusal = |arguments: &[&str]| match commands().try_get_matches_from(arguments) {
        Ok(_) => panic!("{arguments:?} is no command"),
        Err(refused) => left_out(&refused, &[("multiply", "linalg")]),
    };
    for arguments in [&["tegula", "multiply"][..], &["tegula", "multiply", "a", "--help"]] {
        let message = refusal(arguments).unwrap_or_default();
        assert!(message.starts_with("multiply: ") && message.contains("--features linalg"));
    }
    for arguments in [&["tegula", "divide"][..], &["tegula"], &["tegula", "topology", "multiply"]] {
        assert_eq!(refusal(arguments), None, "{arguments:?}");
    }
}

/// A flag that would change nothing is refused by its name, with the reason.
#[test]
fn flags_that_would_do_nothing_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = write(folder.path(), "text", "b\na\n");
    let state = format!("--state={}", folder.path().join("state").display());
    for (command, flags) in [
        ("sort", &["--skip-bad"][..]),
        ("histogram", &["--skip-bad"]),
        ("histogram", &["--plain"]),
        ("linreg", &["--skip-bad", "--points=bytes"]),
        ("kmeans", &["--incremental", "-k1", "--job=a", &state]),
        ("kmeans", &["--reads=direct", "-k1"]),
        ("kmeans", &["--gather=1", "-k1", "--nodes=local:1"]),
        ("kmeans", &["--parts=out", "-k1", "--nodes=local:1"]),
        ("wordcount", &["--groups=1", "--job=a", "--incremental", &state]),
        ("index", &["--show-by=value", "--show=every=50%"]),
    ] {
        let output = tegula().arg(command).arg(&text).args(flags).output().unwrap();
        let name = flags[0].split('=').next().unwrap();
        check_fault(&output, 2, &[name]);
    }
}
