//! Seconds online per user: a login subtracts its time from the user's sum, a logout adds it. So a session
//! contributes its length, in whatever order the lines come.

use crate::digits::whole;
use tegula::{Emit, Identity, Job, Result, Resumable, Sees, Split, Sum};

/// Sums logout times minus login times, by user, from lines of `user login|logout seconds`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Logins;

impl Job for Logins {
    type Key = [u8];
    type Combine = Sum<i64>;

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        for record in split.records::<3>(b' ') {
            match record {
                Ok([user, action, seconds]) if !user.is_empty() => match change(action, seconds) {
                    Some(change) => emit.emit(user, change),
                    None => split.bad(user, BAD_LINE)?,
                },
                Ok([line, ..]) | Err(line) => split.bad(line, BAD_LINE)?,
            }
        }
        Ok(())
    }
}

impl Resumable for Logins {
    fn identity(&self) -> Identity {
        Identity::new("logstats", 1).with("of", "logins")
    }

    fn sees(&self) -> Sees {
        Sees::Records
    }
}

const BAD_LINE: &str =
    "a line must be a user, login or logout, and a time in whole seconds, with one space between";

/// Returns the amount that a line adds to its user's sum. Login or logout is as good as random, so there is
/// no branch. Each word is recognised by its length and its first and last four bytes, which saves a call
/// to compare.
#[inline(always)]
fn change(action: &[u8], seconds: &[u8]) -> Option<i64> {
    let (first, last) = (action.first_chunk()?, action.last_chunk()?);
    let is_logout = action.len() == b"logout".len();
    let expected = if is_logout { (b"logo", b"gout") } else { (b"logi", b"ogin") };
    let is_action = (first, last) == expected && (is_logout | (action.len() == b"login".len()));
    let seconds = whole(seconds)?.cast_signed();
    is_action.then_some(if is_logout { seconds } else { -seconds })
}
