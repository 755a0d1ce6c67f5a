//! Each line that its job cannot read fails the job with its place, or is skipped and counted.

use super::*;
use tegula_apps::Stations;
use tegula_apps::logstats::{Access, AccessKey, Logins};
use tegula_apps::top::{FieldCounts, FieldSums};

/// Puts each bad line after a good one and before another.
fn check<J, C>(job: &J, good: &str, bad: &[(impl AsRef<[u8]>, &str)])
where
    J: Job<Key = [u8], Combine = C>,
    C: Combine<Output: PartialEq + Debug>,
{
    for (line, cause) in bad {
        let line = line.as_ref();
        let text = [good.as_bytes(), line, good.as_bytes(), b""].join(&b'\n');
        let place = format!("memory, line 2, byte {}", good.len() + 1);
        for engine in engines() {
            let error = engine.job(job).run(Input::bytes(&text[..])).map(|_| ()).unwrap_err();
            let said = error.to_string();
            assert!(
                said.starts_with(&place) && said.contains(cause),
                "{}: {said}",
                line.escape_ascii()
            );
        }
        let skips = Options { skip_bad: true, ..Options::default() };
        let twice = format!("{good}\n{good}\n");
        let (skipped, without) =
            (pairs(job, &text, 10, &skips), pairs(job, twice.as_bytes(), 10, &skips));
        assert_eq!(skipped, without, "{}", line.escape_ascii());
    }
}

#[test]
fn of_stations() {
    let (temperature, line) = ("a temperature must be", "a line must be a station's name");
    let long = format!("{};1.0", "x".repeat(101));
    check(
        &Stations,
        "Abha;-1.5",
        &[
            ("", line),
            ("Abha", line),
            ("Abha;1.0;2.0", line),
            (";1.0", "1 to 100 bytes"),
            (&long, "1 to 100 bytes"),
            ("Abha;", temperature),
            ("Abha;1", temperature),
            ("Abha;.5", temperature),
            ("Abha;-.5", temperature),
            ("Abha;1.", temperature),
            ("Abha;1.05", temperature),
            ("Abha;100.0", temperature),
            ("Abha;-100.0", temperature),
            ("Abha;+1.0", temperature),
            ("Abha;--1.0", temperature),
            ("Abha;1-.0", temperature),
            ("Abha;1,0", temperature),
            ("Abha;a.0", temperature),
            ("Abha;1.a", temperature),
            ("Abha;1.0\r", temperature),
            ("Abha; 1.0", temperature),
            ("Abha;/0.0", temperature),
        ],
    );
}

/// Bytes that are no UTF-8: a lone continuation, Latin-1, a surrogate, an overlong slash, a character
/// cut short at the semicolon, and beyond the last one there is.
#[test]
fn of_stations_whose_names_are_no_text() {
    let names: [&[u8]; 6] =
        [b"\x80", b"Z\xfcrich", b"\xed\xa0\x80", b"\xc0\xaf", b"Abh\xc3", b"\xf4\x90\x80\x80"];
    let lines = names.map(|name| ([name, b";1.0"].concat(), "UTF-8"));
    check(&Stations, "Abéché;-1.5", &lines);
    // Also in a file of many splits, most of which are valid UTF-8.
    let many = "Zürich;1.0\n".repeat(5000);
    let text = [many.as_bytes(), b"Z\xfcrich;2.0\n", many.as_bytes()].concat();
    for engine in engines() {
        let run = |skip_bad| {
            let options = Options { split_bytes: Some(1000), skip_bad, ..Options::default() };
            engine.job(&Stations).options(&options).run(Input::bytes(&text[..]))
        };
        let said = run(false).map(|_| ()).unwrap_err().to_string();
        assert!(said.starts_with("memory, line 5001, byte 60000: "), "{said}");
        let output = run(true).unwrap();
        let found: Vec<_> = output.iter().unwrap().map(|(name, _)| name.to_vec()).collect();
        assert_eq!((found, output.stats().bad_records), (vec!["Zürich".into()], 1));
    }
}

#[test]
fn of_logins() {
    let cause = "a user, login or logout, and a time";
    let bad = [
        "",
        "ann",
        "ann login",
        "ann login 1 2",
        " login 1",
        "ann Login 1",
        "ann logouts 1",
        "ann login ",
        "ann login x",
        "ann login -1",
        "ann login 1.5",
        "ann\tlogin\t1",
        "ann login 1234567890123456789",
    ];
    check(&Logins, "ann login 17", &bad.map(|line| (line, cause)));
}

#[test]
fn of_access_logs() {
    let good = r#"::1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 12"#;
    let bad = [
        "",
        "::1",
        r#" - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 12"#,
        r#"::1 - - 17/May/2015:10:05:03 "GET / HTTP/1.1" 200 12"#,
        r#"::1 - - [17/May/2015:10:05:03 +0000] GET / 200 12"#,
        r#"::1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1 200 12"#,
        r#"::1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1\" 200 12"#,
        r#"::1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 20 12"#,
        r#"::1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" abc 12"#,
        r#"::1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200"#,
        r#"::1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 many"#,
    ];
    for key in [AccessKey::Host, AccessKey::Path, AccessKey::Status, AccessKey::Hour] {
        check(&Access { key }, good, &bad.map(|line| (line, "Common or Combined Log Format")));
    }
    let times = [
        "17/Mai/2015:10:05:03 +0000",
        "7/May/2015:10:05:03 +0000",
        "17-May-2015:10:05:03",
        "",
        "xx/May/2015:10:05:03 +0000",
    ];
    for time in times {
        let bad = good.replace("17/May/2015:10:05:03 +0000", time);
        check(&Access { key: AccessKey::Hour }, good, &[(&bad, "a time must be as")]);
    }
}

#[test]
fn of_tables() {
    let count = FieldCounts { separator: b',', by: 2 };
    check(&count, "a,b", &[("", "no field 2"), ("a", "no field 2"), ("a;b", "no field 2")]);
    let sum = FieldSums { separator: b',', by: 1, sum: 2 };
    check(
        &sum,
        "a,1.5",
        &[
            ("a", "no field 2"),
            ("a,", "field 2 is no number"),
            ("a,x", "field 2 is no number"),
            ("a,inf", "field 2 is no number"),
            ("a,NaN", "field 2 is no number"),
            ("a,1e999", "field 2 is no number"),
        ],
    );
}
