//! `--memory` holds for the whole process, as the system counts it; pairs beyond it go to disk, change no
//! answer, and are removed.

use super::*;
use serde_json::Value;

/// Distinct words, more than the budget below holds.
fn words() -> String {
    (0..600_000_u64)
        .map(|i| format!("{:x}\n", (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .collect()
}

const BUDGET: u64 = 36 << 20;

fn stats(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("stats")).unwrap()).unwrap()
}

#[test]
fn the_peak_of_the_process_is_within_the_budget_and_the_answer_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (text, scratch) = (write(folder.path(), "text", words()), folder.path().join("scratch"));
    fs::create_dir(&scratch).unwrap();
    let text = text.to_str().unwrap();
    for order in ["key", "value", "none"] {
        let expected = answer(wordcount(&[text, "-j2", "--order", order]));
        let budget = BUDGET.to_string();
        let stats_json = folder.path().join("stats");
        let limited = wordcount(&[
            text,
            "-j2",
            "--order",
            order,
            "--memory",
            &budget,
            "--scratch",
            scratch.to_str().unwrap(),
            "--stats-json",
            stats_json.to_str().unwrap(),
        ]);
        assert!(answer(limited) == expected, "{order}");
        let stats = stats(folder.path());
        let figure = |name: &str| stats[name].as_u64().unwrap();
        assert!(figure("spilled_bytes") > 0);
        assert!(figure("memory_resident_peak") <= BUDGET, "{stats:#}");
        assert_eq!(names(&scratch), Vec::<String>::new());
    }
}

/// Shows of all pairs are made of the same budget: their text, and the figures that are estimated.
#[test]
fn shows_of_all_pairs_are_within_the_budget() {
    let folder = tempfile::tempdir().unwrap();
    let input = write(folder.path(), "text", words());
    let (shows, stats_json) = (folder.path().join("shows"), folder.path().join("stats"));
    let limited = wordcount(&[
        input.to_str().unwrap(),
        "-j2",
        "--memory",
        &BUDGET.to_string(),
        "--show=every=40%",
        "--show-top=all",
        "--show-to",
        shows.to_str().unwrap(),
        "--stats-json",
        stats_json.to_str().unwrap(),
    ]);
    assert_eq!(text(limited).lines().count(), 600_000);
    assert!(stats(folder.path())["memory_resident_peak"].as_u64().unwrap() <= BUDGET);
    let shows = fs::read_to_string(shows).unwrap();
    let shows: Vec<&str> = shows.split("# show ").skip(1).collect();
    let [_, second, last] = shows[..] else { panic!("{} shows", shows.len()) };
    assert_eq!(last.lines().count(), 600_001);
    // Words of the first show have a confidence interval in the second, until the memory for them ends.
    let sure = second.lines().skip(1).filter(|line| !line.ends_with('?')).count();
    assert!((100..2000).contains(&sure), "{sure}");
}

/// The values of one key must fit, several times, while they are merged and written; so must the text
/// that they become, and none of it may escape the count.
#[test]
fn a_key_of_many_values_is_held_within_the_budget() {
    let folder = tempfile::tempdir().unwrap();
    let line = |i: u64| format!("the {:x} the\n", i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let text: String = (0..250_000).map(line).collect();
    let text = write(folder.path(), "text", text);
    let (text, stats_json) = (text.to_str().unwrap(), folder.path().join("stats"));
    let index = |more: &[&str]| tegula().args(["index", text, "-j2"]).args(more).output().unwrap();
    let limited = index(&[
        "--memory=72M",
        "--scratch",
        folder.path().to_str().unwrap(),
        "--stats-json",
        stats_json.to_str().unwrap(),
    ]);
    assert!(answer(limited) == answer(index(&[])));
    let stats = stats(folder.path());
    assert!(stats["spilled_bytes"].as_u64().unwrap() > 0, "{stats:#}");
    // The program that tests run has more pages of code than a release, for which room is left.
    let most = (72 << 20) + (1 << 20);
    assert!(stats["memory_resident_peak"].as_u64().unwrap() <= most, "{stats:#}");
}

#[test]
fn too_little_is_refused_with_the_least_that_would_do() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let text = write(folder.path(), "text", "to be or not to be");
    let output = wordcount(&[text.to_str().unwrap(), "--memory=1M", "-o", out.to_str().unwrap()]);
    check_fault(&output, 1, &["1048576 bytes is too small", "at least", "--memory"]);
    assert!(!out.exists());
}

/// A product can be larger than all that was read.
#[cfg(feature = "linalg")]
#[test]
fn a_matrix_for_which_there_is_no_room_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let matmul = |rows: usize, more: &[&str]| {
        write(folder, "column", "1\n".repeat(rows));
        write(folder, "row", "1 ".repeat(rows) + "\n");
        let mut run = tegula();
        run.args(["matmul", "column", "row", "-j2", "--stats-json=stats"]).args(more);
        run.current_dir(folder).output().unwrap()
    };
    check_fault(&matmul(6000, &["--memory=60M"]), 1, &["memory budget", "--memory"]);
    let fits = matmul(1000, &["--memory=60M"]);
    assert!(
        answer(fits) == ("1.0".to_owned() + &"\t1.0".repeat(999) + "\n").repeat(1000).as_bytes()
    );
    assert!(stats(folder)["memory_resident_peak"].as_u64().unwrap() <= 60 << 20);
    let row =
        |number: usize| (0..800).map(|at| format!("{} ", number * at % 7)).collect::<String>();
    write(folder, "rows", (0..20).map(|number| row(number) + "\n").collect::<String>());
    let pca = |memory: &str| {
        let mut run = tegula();
        run.args(["pca", "rows", "-j2", "--stats-json=stats", "--memory", memory]);
        run.current_dir(folder).output().unwrap()
    };
    check_fault(&pca("40M"), 1, &["memory budget", "--memory"]);
    answer(pca("80M"));
    assert!(stats(folder)["memory_resident_peak"].as_u64().unwrap() <= 80 << 20);
}

/// The rows are one block of 2.4 MB; the sum of products and the one list that is added to it take 18 MB each.
#[test]
fn a_worker_without_rows_needs_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let row = |number: usize| (0..1500).map(move |at| (number * at % 7).to_string() + " ");
    let rows: String = (0..200).map(|number| row(number).collect::<String>() + "\n").collect();
    write(folder.path(), "rows", rows);
    let mut run = tegula();
    run.args(["pca", "rows", "-j16", "-c0", "--memory=90M"]).current_dir(folder.path());
    answer(run.output().unwrap());
}

#[test]
fn a_scratch_folder_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let text = write(folder.path(), "text", words());
    let output =
        wordcount(&[text.to_str().unwrap(), "-j2", "--memory=28M", "--scratch=/no/such/folder"]);
    check_fault(&output, 1, &["/no/such/folder", "--scratch"]);
}
