//! An object that is replaced, shortened or removed after it was listed ends the job with a message;
//! never are old and new bytes counted together.

use crate::common::{count, fault, settings, text};
use tegula::{Engine, Options, State};
use tegula_apps::{WordCount, Words};
use tegula_remote_servers::S3;

#[test]
fn each_change_is_named() {
    let server = S3::start();
    let text = text(1 << 20);
    let settings = settings(server.endpoint());
    let changed = |change: &dyn Fn(), said: &str| {
        server.put("texts", "one", &text);
        let input = settings.input("s3://texts/one").unwrap();
        change();
        let message = fault(count(input, 2));
        assert!(message.starts_with("s3://texts/one: ") && message.contains(said), "{message}");
    };
    let mut other = text.clone();
    other[text.len() - 1] ^= 1;
    changed(&|| server.put("texts", "one", &other), "changed after the job began");
    changed(&|| server.put("texts", "one", &text[1..]), "changed after the job began");
    changed(&|| server.put("texts", "one", b"x"), "changed after the job began");
    changed(&|| server.put("texts", "one", b""), "changed after the job began");
    changed(&|| server.objects().delete("texts", "one"), "vanished");
    // The same bytes again are the same object.
    let input = settings.input("s3://texts/one");
    assert!(fault(input).contains("no such file"));
    server.put("texts", "one", &text);
    let input = settings.input("s3://texts/one").unwrap();
    server.put("texts", "one", &text);
    assert!(count(input, 2).is_ok());
}

/// A run that is resumed finds that an object was replaced since, even by one of the same length.
#[test]
fn a_run_that_is_resumed_refuses_another_version() {
    let (server, folder) = (S3::start(), tempfile::tempdir().unwrap());
    let settings = settings(server.endpoint());
    let run = || {
        let engine = Engine::builder().workers(1).build().unwrap();
        let state = Some(State::new(folder.path(), "words"));
        let options = Options { state, ..Options::default() };
        let job = WordCount { words: Words::Whitespace };
        let output = engine.job(&job).options(&options).run(settings.input("s3://texts/one")?)?;
        Ok(output.stats().restored_bytes)
    };
    server.put("texts", "one", b"to be or not");
    assert_eq!(run().unwrap(), 0);
    assert_eq!(run().unwrap(), 12);
    server.put("texts", "one", b"or not to be");
    let message = fault(run());
    assert!(message.contains("s3://texts/one was changed since"), "{message}");
}
