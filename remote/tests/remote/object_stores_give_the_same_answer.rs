//! An answer is the same from a store and from memory, for any number of workers.

use crate::common::{count, listing, settings, text};
use tegula::Input;
use tegula_remote::Settings;
use tegula_remote_servers::S3;

#[test]
fn one_object_and_many_give_the_answer_of_their_bytes() {
    let server = S3::start();
    let text = text(3 << 20);
    server.put("texts", "one", &text);
    // Cut where lines end, so that no word is torn.
    let half =
        text.len() / 2 + text[text.len() / 2..].iter().position(|&b| b == b'\n').unwrap() + 1;
    server.put("texts", "parts/a", &text[..half]);
    server.put("texts", "parts/b/c", &text[half..]);
    let expected = count(Input::bytes(text), 1).unwrap();
    let settings = settings(server.endpoint());
    for workers in [1, 2, 5] {
        for url in ["s3://texts/one", "s3://texts/parts", "s3://texts/p*/**"] {
            let input = settings.input(url).unwrap();
            assert!(count(input, workers).unwrap() == expected, "{url}, {workers} workers");
        }
    }
}

#[test]
fn urls_and_paths_are_read_together() {
    let server = S3::start();
    server.put("texts", "one", b"a b a");
    let mut input = Input::bytes("b c\n");
    input.append(settings(server.endpoint()).input("s3://texts/one").unwrap());
    assert_eq!(count(input, 2).unwrap(), "a\t2\nb\t2\nc\t1\n");
}

#[test]
fn what_is_public_needs_no_credentials() {
    let server = S3::start_public();
    server.put("texts", "one", b"a b a");
    let settings = Settings::new().with("AWS_ENDPOINT_URL", server.endpoint());
    let input = settings.input("s3://texts/").unwrap();
    assert_eq!(count(input, 2).unwrap(), "a\t2\nb\t1\n");
}

/// Google's store speaks the same lists and ranges in XML.
#[test]
fn google_cloud_storage_is_read_too() {
    let server = S3::start_public();
    server.put("texts", "folder/one", b"a b a");
    let settings = Settings::new().with("GOOGLE_BASE_URL", server.endpoint());
    let input = settings.input("gs://texts/folder").unwrap();
    assert_eq!(listing(&input), [("gs://texts/folder/one".to_owned(), 5)]);
    assert_eq!(count(input, 2).unwrap(), "a\t2\nb\t1\n");
}
