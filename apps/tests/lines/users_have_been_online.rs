//! Seconds online are the logout times less the login times of each user.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use tegula_apps::logstats::{LoginLines, Logins};

/// Nothing where a sum is beyond `i64`, at which the job stops.
fn plain(log: &str) -> Option<Vec<(Vec<u8>, i64)>> {
    let mut users: BTreeMap<Vec<u8>, i128> = BTreeMap::new();
    for line in log.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let seconds: i128 = fields[2].parse().unwrap();
        let change = if fields[1] == "login" { -seconds } else { seconds };
        *users.entry(fields[0].into()).or_default() += change;
    }
    users.into_iter().map(|(user, sum)| Some((user, i64::try_from(sum).ok()?))).collect()
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn in_any_log(
        lines in prop::collection::vec(
            ("[a-c]|[a-zé]{1,40}", any::<bool>(), 0..10_i64.pow(18)), 0..200,
        ),
        split in 1_u64..3000,
    ) {
        let line = |(user, comes, seconds): &(String, bool, i64)| {
            format!("{user} {} {seconds}\n", if *comes { "login" } else { "logout" })
        };
        let log: String = lines.iter().map(line).collect();
        let Some(plain) = plain(&log) else { return Err(TestCaseError::reject("a sum beyond i64")) };
        prop_assert_eq!(pairs(&Logins, log.as_bytes(), split, &Options::default()), plain);
    }

    /// Sessions that all end have a length of their own, whatever the rest of the log.
    #[test]
    fn in_generated_logs(sessions in 1..200_u64, users in 1..30_usize, seed: u64) {
        let mut lines = LoginLines::new(2 * sessions, users, seed);
        let mut log = Vec::new();
        (0..2 * sessions).for_each(|_| lines.line(&mut log));
        let log = String::from_utf8(log).unwrap();
        prop_assert_eq!(log.matches(" login ").count(), log.matches(" logout ").count());
        let online = pairs(&Logins, log.as_bytes(), 100, &Options::default());
        prop_assert!(online.iter().all(|(_, seconds)| (0..10).contains(seconds)));
        prop_assert_eq!(Some(online), plain(&log));
    }
}
