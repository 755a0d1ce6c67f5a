//! Who a request is from: by a token in its header, or by a cookie that the page got for one. Tokens are compared as
//! digests, in constant time; cookies are signed and expire, and nothing of them is kept.

use crate::Fault;
use crate::store::{new_secret, random};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long a cookie is valid.
const VALID: Duration = Duration::from_secs(12 * 3600);
/// The user of a server with one token.
pub(crate) const ONE_USER: &str = "me";
/// The shortest token that a person may choose.
const TOKEN_LEAST: usize = 16;

/// A user of the server.
#[derive(Clone, Debug)]
pub(crate) struct User {
    /// The name that jobs have.
    pub(crate) name: String,
    /// The share of the machine, beside that of others.
    pub(crate) weight: f64,
    /// The most jobs that may wait, if it has a limit of its own.
    pub(crate) queue_most: Option<usize>,
    digest: blake3::Hash,
}

/// All users, and the key of their cookies.
#[derive(Debug)]
pub(crate) struct Auth {
    users: Vec<User>,
    key: [u8; 32],
    cookie: String,
}

/// Reads the token in a file that only its owner can read, or in a pipe, or makes one where there is nothing.
///
/// # Errors
/// [`Fault`] if others can read the file, or it has no token, or it cannot be read or made. What is there is never written
/// to.
pub fn token_in(path: &Path) -> Result<String, Fault> {
    let fault = |cause: &str| Fault(format!("{}: {cause}", path.display()));
    let unreadable = |cause: io::Error| fault(&format!("cannot read the token: {cause}"));
    match fs::metadata(path) {
        Ok(found) if found.is_file() || found.file_type().is_fifo() => {
            if found.mode() & 0o077 != 0 {
                return Err(fault(
                    "others can read this token; chmod 600 the file, or remove it to have another token made",
                ));
            }
            match fs::read_to_string(path).map_err(unreadable)?.trim() {
                "" => Err(fault("no token is in it; remove it to have one made")),
                token if token.len() >= TOKEN_LEAST => Ok(token.to_owned()),
                _ => Err(fault("a token has at least 16 characters")),
            }
        }
        Ok(_) => Err(fault("is no file; give a file for the token")),
        Err(cause) if cause.kind() == ErrorKind::NotFound => {
            let token = hex(&random()?);
            new_secret(path, format!("{token}\n").as_bytes())?;
            Ok(token)
        }
        Err(cause) => Err(unreadable(cause)),
    }
}

impl User {
    fn new(name: &str, token: &str, weight: f64, queue_most: Option<usize>) -> User {
        let (name, digest) = (name.to_owned(), blake3::hash(token.as_bytes()));
        User { name, weight, queue_most, digest }
    }

    /// Parses the lines of `--tokens`: name, token, weight (1) and the most jobs that wait (no limit of its own).
    pub(crate) fn parse_all(text: &str) -> Result<Vec<User>, String> {
        let lines = text.lines().enumerate();
        let lines = lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        let user = |(number, line): (usize, &str)| {
            let fault = |cause: &str| format!("line {}: {cause}", number + 1);
            let mut words = line.split_whitespace();
            let (Some(name), Some(token)) = (words.next(), words.next()) else {
                return Err(fault(
                    "write a name, a token, and perhaps a weight and a number of jobs",
                ));
            };
            if token.len() < TOKEN_LEAST {
                return Err(fault("a token has at least 16 characters"));
            }
            let weight = words.next().unwrap_or("1").parse::<f64>().ok();
            let weight = weight.filter(|weight| weight.is_finite() && *weight > 0.0);
            let weight = weight.ok_or_else(|| fault("a weight is a number above 0"))?;
            let queue_most = words.next().map(|most| {
                most.parse::<usize>().map_err(|_| fault("the number of jobs is a whole number"))
            });
            Ok(User::new(name, token, weight, queue_most.transpose()?))
        };
        let users: Vec<User> = lines.map(user).collect::<Result<_, _>>()?;
        if users.is_empty() {
            return Err("no user is here".to_owned());
        }
        Ok(users)
    }

    /// Returns the one user of a token.
    pub(crate) fn of_token(token: &str) -> User {
        User::new(ONE_USER, token, 1.0, None)
    }
}

impl Auth {
    /// Knows these users. `port` tells the cookies of several servers of a host apart.
    pub(crate) fn new(users: Vec<User>, key: [u8; 32], port: u16) -> Auth {
        Auth { users, key, cookie: format!("tegula-{port}") }
    }

    /// Returns the user of a token. All are compared.
    pub(crate) fn of_token(&self, token: &str) -> Option<&User> {
        let digest = blake3::hash(token.as_bytes());
        self.users
            .iter()
            .fold(None, |found, user| if user.digest == digest { Some(user) } else { found })
    }

    /// Returns the user of a `Cookie` header.
    pub(crate) fn of_cookies(&self, header: &str) -> Option<&User> {
        let cookies = header.split(';').filter_map(|cookie| cookie.trim().split_once('='));
        let mut values = cookies.filter(|(name, _)| *name == self.cookie).map(|(_, value)| value);
        values.find_map(|value| self.of_value(value, now_s()))
    }

    fn of_value(&self, value: &str, now_s: u64) -> Option<&User> {
        let (expiry, mac) = value.split_once('.')?;
        let expires_s: u64 = expiry.parse().ok()?;
        let mac = blake3::Hash::from_hex(mac).ok()?;
        let found = self.users.iter().fold(None, |found, user| {
            if self.mac(user, expires_s) == mac { Some(user) } else { found }
        });
        found.filter(|_| now_s < expires_s)
    }

    /// Returns the value of a `Set-Cookie` header for a user.
    pub(crate) fn cookie_for(&self, user: &User) -> String {
        let expires_s = now_s() + VALID.as_secs();
        let (name, mac, age) = (&self.cookie, self.mac(user, expires_s).to_hex(), VALID.as_secs());
        format!("{name}={expires_s}.{mac}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict")
    }

    /// Signs an expiry. The user's token is in it, so another token ends its cookies.
    fn mac(&self, user: &User, expires_s: u64) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(user.digest.as_bytes()).update(&expires_s.to_le_bytes());
        hasher.finalize()
    }

    /// Returns all users.
    pub(crate) fn users(&self) -> &[User] {
        &self.users
    }
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Formats bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    fn auth() -> Auth {
        let users =
            User::parse_all("ann 0123456789abcdef 2\n# more\nbob fedcba9876543210 1 5\n").unwrap();
        Auth::new(users, [7; 32], 80)
    }

    #[test]
    fn tokens_and_cookies_name_their_user() {
        let auth = auth();
        let name = |user: Option<&User>| user.map(|user| user.name.clone());
        assert_eq!(name(auth.of_token("fedcba9876543210")), Some("bob".to_owned()));
        for wrong in ["", "fedcba987654321", "fedcba98765432100", "0123456789abcdeF"] {
            assert_eq!(name(auth.of_token(wrong)), None);
        }
        let cookie = auth.cookie_for(&auth.users()[0]);
        let value = cookie.split(';').next().unwrap();
        assert_eq!(name(auth.of_cookies(&format!("a=b; {value}"))), Some("ann".to_owned()));
        let mut changed = value.to_owned();
        changed.replace_range(changed.len() - 1.., if value.ends_with('0') { "1" } else { "0" });
        for wrong in [&changed, "tegula-80=", "tegula-80=9999999999999.00", ""] {
            assert_eq!(name(auth.of_cookies(wrong)), None, "{wrong}");
        }
    }

    #[test]
    fn a_token_is_made_where_there_is_nothing_and_nothing_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let made = token_in(&path).unwrap();
        assert!(made.len() >= TOKEN_LEAST && token_in(&path).unwrap() == made);
        let is_private = fs::metadata(&path).unwrap().mode() & 0o777 == 0o600;
        fs::write(&path, "").unwrap();
        let said = token_in(&path).unwrap_err().0;
        assert!(is_private && said.contains("no token is in it"), "{said}");
        assert_eq!(fs::read(&path).unwrap(), b"");
        for (what, says) in [(folder.path(), "is no file"), (Path::new("/dev/null"), "is no file")]
        {
            let before = fs::metadata(what).unwrap().mode();
            let said = token_in(what).unwrap_err().0;
            assert!(said.contains(says), "{said}");
            assert_eq!(fs::metadata(what).unwrap().mode(), before);
        }
    }

    #[test]
    fn a_token_may_come_through_a_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let writer = std::thread::spawn({
            let path = path.clone();
            move || fs::write(path, "0123456789abcdef\n").unwrap()
        });
        assert_eq!(token_in(&path).unwrap(), "0123456789abcdef");
        writer.join().unwrap();
    }

    #[test]
    fn cookies_expire_and_end_with_the_key_and_the_token() {
        let auth = auth();
        let value = |auth: &Auth| {
            let cookie = auth.cookie_for(&auth.users()[0]);
            cookie.split(['=', ';']).nth(1).unwrap().to_owned()
        };
        let own = value(&auth);
        assert!(auth.of_value(&own, now_s()).is_some());
        assert!(auth.of_value(&own, now_s() + VALID.as_secs() + 1).is_none());
        let other = Auth::new(auth.users().to_vec(), [8; 32], 80);
        assert!(other.of_value(&own, now_s()).is_none());
        let users = vec![User::new("ann", "another token 123", 1.0, None)];
        assert!(Auth::new(users, [7; 32], 80).of_value(&own, now_s()).is_none());
    }

    #[test]
    fn a_file_of_tokens_says_what_is_wrong_with_it() {
        for (text, cause) in [
            ("", "no user"),
            ("ann", "line 1: write a name"),
            ("ann short", "16 characters"),
            ("ann 0123456789abcdef -1", "above 0"),
            ("\nann 0123456789abcdef 1 x", "line 2: the number"),
        ] {
            let said = User::parse_all(text).unwrap_err();
            assert!(said.contains(cause), "{said}");
        }
    }
}
