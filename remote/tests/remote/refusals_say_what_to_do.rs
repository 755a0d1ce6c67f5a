//! A file that cannot be read is one clear message: the URL, the reason, and the remedy. It comes soon.

use crate::common::{SOON, fault, listing, settings};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;
use tegula::{Error, InputError};
use tegula_remote::Settings;
use tegula_remote_servers::S3;

#[test]
fn each_refusal_names_the_url_the_cause_and_the_remedy() {
    let server = S3::start();
    server.put("bucket", "key", b"x");
    let good = settings(server.endpoint());
    let wrong_secret = good.clone().with("AWS_SECRET_ACCESS_KEY", "wrong");
    let wrong_key = good.clone().with("AWS_ACCESS_KEY_ID", "wrong");
    let unsigned = Settings::new().with("AWS_ENDPOINT_URL", server.endpoint());
    let half = Settings::new().with("AWS_ACCESS_KEY_ID", "wrong");
    let impatient = good.clone().with("TEGULA_REMOTE_TRIES", "0");
    for (settings, url, said) in [
        (&good, "s3://bucket/none", "no such file or folder; check the path"),
        (&good, "s3://bucket/none*", "the pattern matches no file"),
        (&good, "s3://bucket/k[", "not a valid pattern"),
        (&good, "s3://none/key", "NoSuchBucket"),
        (&good, "s3://none/", "check the bucket's name"),
        (&good, "ftp://bucket/key", "use s3://, gs://, az:// or hdfs://"),
        (&good, "s3:///key", "names no bucket"),
        (&good, "s3://bucket/a//b", "cannot be read; rename it"),
        (&good, "s3://bucket//key", "its name begins with a slash"),
        (&wrong_secret, "s3://bucket/key", "check AWS_ACCESS_KEY_ID"),
        (&wrong_key, "s3://bucket/key", "check AWS_ACCESS_KEY_ID"),
        (&unsigned, "s3://bucket/key", "check AWS_ACCESS_KEY_ID"),
        (&half, "s3://bucket/key", "check"),
        (&impatient, "s3://bucket/key", "at least 1"),
    ] {
        let message = fault(settings.input(url));
        assert!(message.starts_with(url) && message.contains(said), "{url}: {message}");
        assert!(!message.contains(S3::SECRET) && message.lines().count() == 1, "{message}");
    }
    let refused = good.input("s3://none/");
    assert!(matches!(refused, Err(Error::Input(InputError::Refused { .. }))));
}

/// Variables that no request can be made with are named; empty ones are as good as unset.
#[test]
fn variables_that_make_no_request_are_named() {
    let server = S3::start();
    server.put("bucket", "key", b"x");
    let good = settings(server.endpoint());
    for name in ["AWS_ENDPOINT", "AWS_SESSION_TOKEN", "AWS_SKIP_SIGNATURE", "AWS_ENDPOINT_URL_S3"] {
        assert!(good.clone().with(name, "").input("s3://bucket/key").is_ok(), "{name}");
    }
    let endpoints =
        ["127.0.0.1:9000", "minio.local", "localhost:9000", "http://127.0.0.1:x", "http://"];
    for endpoint in endpoints {
        for (name, url) in [
            ("AWS_ENDPOINT_URL", "s3://bucket/key"),
            ("AWS_METADATA_ENDPOINT", "s3://bucket/key"),
            ("GOOGLE_BASE_URL", "gs://bucket/key"),
            ("AZURE_STORAGE_ENDPOINT", "az://bucket/key"),
        ] {
            let message = fault(good.clone().with(name, endpoint).input(url));
            let said = format!("the variable {name} is `{endpoint}`; make it a URL");
            assert!(message.starts_with(url) && message.contains(&said), "{message}");
        }
    }
    let good = good.with("AZURE_STORAGE_ACCOUNT_NAME", "account");
    for (name, url) in [
        ("AWS_PROXY_URL", "s3://bucket/key"),
        ("GOOGLE_PROXY_URL", "gs://bucket/key"),
        ("AZURE_PROXY_URL", "az://bucket/key"),
    ] {
        for proxy in ["::", "http://user:pass/word@host:3128"] {
            let message = fault(good.clone().with(name, proxy).input(url));
            let said = format!("the variable {name} is not the URL of a proxy; make it one");
            assert!(message.contains(&said) && !message.contains("pass"), "{message}");
        }
        let name = name.replace("PROXY_URL", "CONNECT_TIMEOUT");
        let message = fault(good.clone().with(&*name, "zz").input(url));
        let said = format!("the variable {name}: failed to parse \"zz\" as Duration; correct it");
        assert!(message.contains(&said), "{message}");
    }
    let message = fault(good.with("AWS_SESSION_TOKEN", "a\r").input("s3://bucket/key"));
    assert!(message.contains("the variable AWS_SESSION_TOKEN has a control"), "{message}");
}

/// Variables of other programs may have several lines, and a certificate has.
#[test]
fn variables_of_no_request_may_have_lines() {
    let server = S3::start();
    server.put("bucket", "key", b"x");
    let lines = "-----BEGIN X-----\nAAAA\n-----END X-----\n";
    let others = ["AWS_SSH_KEY", "GOOGLE_CREDENTIALS", "AZURE_CREDENTIALS"];
    let good = settings(server.endpoint())
        .with("GOOGLE_BASE_URL", server.endpoint())
        .with("AZURE_STORAGE_ENDPOINT", server.endpoint());
    let with_others = others.iter().fold(good, |good, name| good.with(*name, lines));
    assert_eq!(listing(&with_others.input("s3://bucket/key").unwrap()).len(), 1);
    for url in ["gs://bucket/key", "az://bucket/key"] {
        let message = fault(with_others.input(url));
        assert!(!message.contains("the variable"), "{message}");
    }
    let with_certificate = with_others.with("AWS_PROXY_CA_CERTIFICATE", lines);
    assert!(with_certificate.input("s3://bucket/key").is_ok());
}

#[test]
fn nobody_there_is_said_soon() {
    let began = Instant::now();
    // The port of a client: nobody listens there, and nobody else is given it meanwhile.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let nobody = client.local_addr().unwrap();
    let settings = settings(format!("http://{nobody}"));
    for url in ["s3://bucket/key".to_owned(), format!("hdfs://{nobody}/key")] {
        let message = fault(settings.input(&url));
        assert!(
            message.starts_with(&url) && message.contains("no answer after 4 tries"),
            "{message}"
        );
        assert!(message.contains("refused") && message.contains("check the network"), "{message}");
    }
    assert!(began.elapsed() < SOON);
}
