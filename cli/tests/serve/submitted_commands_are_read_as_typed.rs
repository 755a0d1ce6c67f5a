//! A submitted command line is read by the parser of the command line, and its arguments that name files are known.

use tegula_cli::parts::{check_submitted, commands, is_input};
use tegula_server::{Checked, Refused};

fn check(command: &[&str]) -> Result<Checked, Refused> {
    let words: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
    check_submitted(&words)
}

#[test]
fn input_is_told_from_other_arguments() {
    let cases: &[(&[&str], &[&str])] = &[
        (&["wordcount", "a", "--top", "3", "b*"], &["a", "b*"]),
        (&["wordcount", "--words=alpha", "--", "--a"], &["--a"]),
        (&["grep", "pat.*tern", "a"], &["a"]),
        (&["index", "a", "--words-from", "list"], &["a", "list"]),
        (&["stringmatch", "--keys", "list", "a"], &["list", "a"]),
        (&["top", "5", "a", "--by", "2"], &["a"]),
        (&["sort", "a", "--key", "0..4"], &["a"]),
        (&["run", "lib.so", "a", "--map", "m", "--combine", "count"], &["lib.so", "a"]),
    ];
    for (command, inputs) in cases {
        let mut found = check(command).unwrap().inputs;
        let mut inputs: Vec<String> = inputs.iter().map(|&input| input.to_owned()).collect();
        found.sort();
        inputs.sort();
        assert_eq!(found, inputs, "{command:?}");
    }
}

/// A flag that is added later and names a file must not be passed over: each name of a value is decided here.
#[test]
fn every_name_of_a_value_is_known_to_be_a_file_or_not() {
    let no_files = [
        "N",
        "SIZE",
        "auto|SIZE",
        "auto|N|FILE",
        "ID",
        "auto|Ntiles|Ns",
        "every=5%|10s|1G",
        "every=round|Nrounds",
        "N|all",
        "FIELD",
        "C",
        "WORD",
        "KEY",
        "NAME",
        "auto|cpu|gpu|NAME",
        "auto|gpu|NAME",
        "lines|fixed:N",
        "lines|fixed:N|terasort",
        "A..B",
        "PATTERN",
        "FD|FILE",
        "FD",
        "BY",
        "MEANS",
        "local:N,...|up|ray://auto",
        "NODE",
    ];
    let jobs = [
        "wordcount",
        "index",
        "stations",
        "logstats",
        "grep",
        "top",
        "histogram",
        "linreg",
        "kmeans",
        "run",
        "offload",
        "stringmatch",
        "matmul",
        "pca",
        "sort",
        "teravalidate",
    ];
    let mut unknown = Vec::new();
    for command in commands().get_subcommands().filter(|command| jobs.contains(&command.get_name()))
    {
        for argument in
            command.get_arguments().filter(|argument| argument.get_action().takes_values())
        {
            let names = argument.get_value_names().unwrap_or_default();
            let is_choice = !argument.get_possible_values().is_empty();
            if !is_choice
                && !is_input(argument)
                && !names.iter().all(|name| no_files.contains(&name.as_str()))
            {
                unknown.push(format!("{} {} {names:?}", command.get_name(), argument.get_id()));
            }
        }
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn commands_that_make_no_sense_are_told_from_those_that_are_not_allowed() {
    assert!(matches!(check(&["wordcount"]), Err(Refused::Malformed(_))));
    assert!(matches!(check(&["wordcount", "a", "--top", "x"]), Err(Refused::Malformed(_))));
    assert!(matches!(check(&["serve"]), Err(Refused::Forbidden(_))));
    assert!(matches!(check(&["wordcount", "a", "-o", "b"]), Err(Refused::Forbidden(_))));
    let Err(Refused::Malformed(said)) = check(&["wordcount", "a", "--tops", "3"]) else {
        panic!("there is no such flag")
    };
    assert!(said.contains("--tops") && !said.contains('\n'), "{said}");
}

#[test]
fn a_command_that_saves_and_shares_is_known() {
    let kind = |command: &[&str]| {
        let checked = check(command).unwrap();
        (checked.saves, checked.shares)
    };
    assert_eq!(kind(&["wordcount", "a"]), (true, true));
    assert_eq!(kind(&["sort", "a"]), (false, false));
}
