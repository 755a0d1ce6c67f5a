//! Azure and Google Cloud Storage through their emulators: the listed and read files are the ones put there,
//! and never a mixture of two versions.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../remote/common.rs"]
mod common;

use common::{count, fault, listing, text};
use tegula::Input;
use tegula_remote::Settings;
use tegula_remote_servers::{Azure, Gcs};

fn azure(server: &Azure) -> Settings {
    Settings::new()
        .with("AZURE_STORAGE_ENDPOINT", server.endpoint())
        .with("AZURE_STORAGE_ACCOUNT_NAME", Azure::ACCOUNT)
        .with("AZURE_STORAGE_ACCOUNT_KEY", Azure::KEY)
        .with("TEGULA_REMOTE_TRIES", "4")
}

#[test]
fn azure_is_read_as_files_are() {
    let server = Azure::start();
    let settings = azure(&server);
    is_read_as_files_are(&settings, "az://texts", |name, bytes| server.put("texts", name, bytes));
    let message = fault(settings.input("az://none/one"));
    assert!(message.contains("no such file"), "{message}");
    // The key of nobody, of the right length.
    let other = settings.with("AZURE_STORAGE_ACCOUNT_KEY", "A".repeat(86) + "==");
    let message = fault(other.input("az://texts/one"));
    assert!(message.contains("403") && message.contains("AZURE_STORAGE_ACCOUNT_KEY"), "{message}");
}

#[test]
fn google_cloud_storage_is_read_as_files_are() {
    let server = Gcs::start();
    let settings =
        Settings::new().with("GOOGLE_BASE_URL", server.endpoint()).with("TEGULA_REMOTE_TRIES", "4");
    is_read_as_files_are(&settings, "gs://texts", |name, bytes| server.put("texts", name, bytes));
}

fn is_read_as_files_are(settings: &Settings, root: &str, put: impl Fn(&str, &[u8])) {
    let text = text(5 << 20);
    put("one", &text);
    for (name, bytes) in [("logs/2026-01/a.txt", &b"a b a"[..]), ("logs/2026-02/b.txt", b"b c")] {
        put(name, bytes);
    }
    put("logs/readme", b"");
    let names = |given: &str| {
        let input = settings.input(&format!("{root}/{given}")).unwrap();
        let found = listing(&input).into_iter();
        let names = found.map(|(name, bytes)| (name.replace(&format!("{root}/"), ""), bytes));
        names.collect::<Vec<_>>()
    };
    let (a, b) = (("logs/2026-01/a.txt".to_owned(), 5), ("logs/2026-02/b.txt".to_owned(), 3));
    let readme = ("logs/readme".to_owned(), 0);
    assert_eq!(names("logs/"), [a.clone(), b.clone(), readme.clone()]);
    assert_eq!(names("logs/*/*.txt"), [a.clone(), b.clone()]);
    assert_eq!(names("**/b.*"), [b]);
    assert_eq!(names("logs/2026-01"), [a]);
    assert_eq!(names("l*/readme"), [readme]);
    assert_eq!(names("one"), [("one".to_owned(), text.len() as u64)]);

    let expected = count(Input::bytes(text.clone()), 1).unwrap();
    let url = format!("{root}/one");
    for workers in [1, 3] {
        assert!(count(settings.input(&url).unwrap(), workers).unwrap() == expected, "{workers}");
    }
    // Its listing came by another kind of answer than that of one object.
    let listed = settings.input(&format!("{root}/on*")).unwrap();
    assert!(count(listed, 2).unwrap() == expected);

    let message = fault(settings.input(&format!("{root}/none")));
    assert!(message.contains("no such file or folder"), "{message}");
    for (name, listed) in [("one", "one"), ("one", "on*")] {
        let input = settings.input(&format!("{root}/{listed}")).unwrap();
        put(name, &text[1..]);
        let message = fault(count(input, 2));
        assert!(message.contains("changed after the job began"), "{message}");
        put(name, &text);
    }
}
