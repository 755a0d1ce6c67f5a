//! URLs are told from paths, also by a program that cannot read them.

use std::ffi::OsStr;
use tegula_cli::parts::{is_url, without_remote};

#[test]
fn a_url_is_told_from_a_path() {
    for url in ["s3://b/k", "hdfs:///x", "what://", "a+b.c-1://x"] {
        assert!(is_url(OsStr::new(url)), "{url}");
    }
    for path in ["a/b", "", "://x", "1a://x", "a b://x", "/s3://b", "s3:/b", "-"] {
        assert!(!is_url(OsStr::new(path)), "{path}");
    }
}

/// Called directly, so that it needs no build without the feature.
#[test]
fn a_program_without_remote_input_says_how_to_build_one_with_it() {
    for url in ["s3://bucket/one", "hdfs://host:8020/x*", "gs://bucket", "az://container/x"] {
        let message = without_remote(OsStr::new(url)).to_string();
        assert!(message.starts_with(&format!("{url}: ")), "{message}");
        for part in ["without remote files", "make build", "--features remote"] {
            assert!(message.contains(part), "{message}");
        }
    }
}
