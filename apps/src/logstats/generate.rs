//! Generates a log of logins and logouts from a seed: the same seed gives the same bytes on every machine.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::io::Write;

/// The log's first time, in seconds since 1970.
const BEGIN: u64 = 1_700_000_000;
const LINES_PER_SECOND: u64 = 300;

/// Generates lines of `user login|logout seconds`. Users are numbers from 1. All users are equally likely
/// in each line, and come and go by turns. Towards the end all who are online leave, so that every session
/// ends; for an odd number of lines, one does not.
#[derive(Clone, Debug)]
pub struct LoginLines {
    /// Whether each user is online.
    online: Vec<bool>,
    online_count: u64,
    lines: u64,
    line: u64,
    random: Xoshiro256PlusPlus,
}

impl LoginLines {
    /// Creates a log of `lines` lines and `users` users, at least 1.
    pub fn new(lines: u64, users: usize, seed: u64) -> LoginLines {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let online = vec![false; users.max(1)];
        LoginLines { online, online_count: 0, lines, line: 0, random }
    }

    /// Appends the next line.
    pub fn line(&mut self, out: &mut Vec<u8>) {
        let choice = u128::from(self.random.next_u64()) * self.online.len() as u128;
        let mut user = (choice >> 64) as usize;
        if self.lines.saturating_sub(self.line) <= self.online_count {
            // Searches the next user who is online: all leave, so each is skipped about once.
            while !self.online[user] && self.online_count > 0 {
                user = (user + 1) % self.online.len();
            }
        }
        let was_online = self.online[user];
        self.online[user] = !was_online;
        self.online_count = if was_online { self.online_count - 1 } else { self.online_count + 1 };
        let action = if was_online { "logout" } else { "login" };
        let seconds = BEGIN + self.line / LINES_PER_SECOND;
        self.line += 1;
        // Writing to a vector cannot fail.
        let _ = writeln!(out, "{} {action} {seconds}", user + 1);
    }
}
