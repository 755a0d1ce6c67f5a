//! Flags of every command go together, and a command that was left out is refused by its feature.

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
