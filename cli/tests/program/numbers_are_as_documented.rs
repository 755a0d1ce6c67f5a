//! The commands about numbers print the answers of their pages in `docs/`, for any number of workers; refused
//! input leaves no output.

use super::*;

/// Runs a command in `folder`, with each number of workers; the answer must be the same.
fn run(folder: &Path, arguments: &[&str]) -> String {
    let run = |workers: &str| {
        let mut command = tegula();
        command.current_dir(folder).args(arguments).args(["-j", workers]);
        text(command.output().unwrap())
    };
    let one = run("1");
    assert_eq!(run("3"), one, "{arguments:?}");
    one
}

fn fault(folder: &Path, arguments: &[&str], code: i32, parts: &[&str]) {
    let before = names(folder);
    let mut command = tegula();
    let output = command.current_dir(folder).args(arguments).args(["-o", "answer"]).output();
    check_fault(&output.unwrap(), code, parts);
    assert_eq!(names(folder), before, "{arguments:?}");
}

#[test]
fn histogram() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "two.ppm", b"P6 2 1 255\n\xff\x80\0\xff\0\0");
    let counts = run(folder.path(), &["histogram", "two.ppm", "--svg", "two.svg"]);
    assert_eq!(counts.lines().count(), 768);
    let seen: Vec<&str> = counts.lines().filter(|line| !line.ends_with("\t0")).collect();
    assert_eq!(seen, ["red\t255\t2", "green\t0\t1", "green\t128\t1", "blue\t0\t2"]);
    assert!(fs::read_to_string(folder.path().join("two.svg")).unwrap().ends_with("</svg>\n"));
    let json = run(folder.path(), &["histogram", "two.ppm", "--format", "jsonl"]);
    assert!(json.starts_with("{\"channel\":\"red\",\"level\":0,\"count\":0}\n"), "{json}");
    write(folder.path(), "not.bmp", "x");
    let arguments = ["histogram", "two.ppm", "not.bmp", "--svg", "not.svg"];
    fault(folder.path(), &arguments, 1, &["not.bmp", "not a BMP or binary PPM"]);
}

#[test]
fn linreg() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "points", "1 5\n2,7\n3 9.5\n");
    let line = "points\t3\nslope\t2.25\nintercept\t2.6666666666666665\nr\t0.9979487157886734\n\
        mean_x\t2.0\nmean_y\t7.166666666666667\n";
    assert_eq!(run(folder.path(), &["linreg", "points"]), line);
    write(folder.path(), "bytes", b"\x01\x05\xff\x01\x02\x07");
    let line = run(folder.path(), &["linreg", "--points", "bytes", "bytes"]);
    assert!(line.starts_with("points\t3\nslope\t2.0\nintercept\t3.0\nr\t1.0\n"), "{line}");
    write(folder.path(), "words", "1 2\n3 x\n");
    fault(folder.path(), &["linreg", "words"], 1, &["words, line 2, byte 6: \"x\""]);
    fault(folder.path(), &["linreg", "--points", "bytes", "words", "words", "not"], 1, &["not"]);
}

#[test]
fn kmeans() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "points.txt", "0 0\n0 1\n9 9\n9 8\n");
    let groups = run(folder.path(), &["kmeans", "-k", "2", "points.txt"]);
    assert_eq!(groups, "2\t9.0\t8.5\n2\t0.0\t0.5\n");
    let groups = run(folder.path(), &["kmeans", "-k", "2", "--start", "spread", "points.txt"]);
    assert_eq!(groups.lines().filter(|line| line.starts_with("2\t")).count(), 2);
    fault(folder.path(), &["kmeans", "-k", "5", "points.txt"], 2, &["5 of 4 points"]);
}

#[test]
fn kmeans_says_when_its_rounds_were_too_few() {
    let folder = tempfile::tempdir().unwrap();
    let points = write(folder.path(), "points.txt", "0 0\n0 1\n9 9\n9 8\n");
    let rounds = |most: &str| {
        let mut command = tegula();
        command.args(["kmeans", "-k", "2", "--rounds", most]).arg(&points);
        command.output().unwrap()
    };
    let cut_short = rounds("1");
    check_fault(&cut_short, 0, &["means still moved in round 1", "--rounds"]);
    assert_eq!(cut_short.stdout, b"1\t9.0\t9.0\n3\t3.0\t3.0\n");
    assert_eq!(text(rounds("9")), "2\t9.0\t8.5\n2\t0.0\t0.5\n");
}

#[test]
fn stringmatch() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "lines.txt", "ferrari\nhowareyou\nferraris\nferrari\r\n");
    write(folder.path(), "keys", "ferrari\nhowareyou\r\n");
    let command = ["stringmatch", "-k", "ferrari", "lines.txt"];
    assert_eq!(run(folder.path(), &command), "ferrari\t2\n");
    assert_eq!(
        run(folder.path(), &["stringmatch", "--keys", "keys", "lines.txt", "--order", "value"]),
        "ferrari\t2\nhowareyou\t1\n"
    );
    assert_eq!(
        run(folder.path(), &["stringmatch", "-k", "ferrari", "--places", "lines.txt"]),
        "ferrari\tlines.txt\t0\nferrari\tlines.txt\t27\n"
    );
    fault(folder.path(), &["stringmatch", "-k", "a\nb", "lines.txt"], 2, &["--key"]);
    fault(folder.path(), &["stringmatch", "--keys", "none", "lines.txt"], 1, &["none"]);
}

#[cfg(feature = "linalg")]
#[test]
fn matmul() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.txt", "1 2\n3 4\n");
    write(folder.path(), "b.txt", "5 6 7\n8 9 10\n");
    let product = "21.0\t24.0\t27.0\n47.0\t54.0\t61.0\n";
    assert_eq!(run(folder.path(), &["matmul", "a.txt", "b.txt"]), product);
    let saved = ["matmul", "a.txt", "b.txt", "--format", "npy", "-o", "c.npy"];
    assert_eq!(run(folder.path(), &saved), "");
    write(folder.path(), "one.txt", "1 0\n0 1\n");
    // A product that was saved multiplies again.
    assert_eq!(run(folder.path(), &["matmul", "one.txt", "c.npy"]), product);
    fault(folder.path(), &["matmul", "b.txt", "a.txt"], 1, &["2 x 3 of f64 times 2 x 2 of f64"]);
    write(folder.path(), "ragged.txt", "1 2\n3\n");
    fault(
        folder.path(),
        &["matmul", "a.txt", "ragged.txt"],
        1,
        &["ragged.txt, byte 4: a row of 1"],
    );
}

#[cfg(feature = "linalg")]
#[test]
fn pca() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "rows.txt", "1 2\n2 4\n3 6\n4 9\n");
    let said = run(folder.path(), &["pca", "rows.txt", "--covariance", "-c", "1"]);
    let covariances = run(folder.path(), &["pca", "rows.txt", "--covariance", "-c", "0"]);
    assert!(said.starts_with(&covariances) && !covariances.contains("\nvariance"));
    let fields: Vec<Vec<&str>> = said.lines().map(|line| line.split('\t').collect()).collect();
    let names: Vec<&str> = fields.iter().map(|line| line[0]).collect();
    assert_eq!(names, ["mean", "covariance", "covariance", "variance", "component"]);
    assert_eq!(fields[0][1..], ["2.5", "5.25"]);
    // The last bits depend on the machine's instructions.
    let expected = [
        [1.6666666666666667, 3.8333333333333335].as_slice(),
        &[3.8333333333333335, 8.916666666666666],
        &[10.56756179872193],
        &[0.39554570065379413, 0.9184462960316727],
    ];
    for (line, expected) in fields[1..].iter().zip(expected) {
        for (found, expected) in line[1..].iter().zip(expected) {
            let found: f64 = found.parse().unwrap();
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }
    write(folder.path(), "row.txt", "1 2\n");
    fault(folder.path(), &["pca", "row.txt"], 1, &["fewer than two rows"]);
}
