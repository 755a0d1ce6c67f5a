//! Command lines that a server is given for its jobs. Words come in lines. A command line is refused with a message, or
//! read; the files that it is said to read are words of it, and what is read twice is read alike.

use tegula_cli::parts::check_submitted;
use tegula_server::Refused;

pub(crate) fn run(bytes: &[u8]) {
    let words = bytes.split(|&byte| byte == b'\n');
    let words: Vec<String> = words.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let checked = check_submitted(&words);
    assert_eq!(checked, check_submitted(&words));
    match checked {
        Ok(checked) => {
            for input in checked.inputs {
                let is_given = words.iter().any(|word| word.ends_with(&input));
                assert!(is_given, "{input} is no word of {words:?}");
            }
        }
        Err(Refused::Malformed(cause) | Refused::Forbidden(cause)) => {
            assert!(!cause.trim().is_empty(), "{words:?}");
        }
    }
}
