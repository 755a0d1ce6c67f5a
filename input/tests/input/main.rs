//! Tests of the crate's modules, one file each. Tests that use private items are in the modules themselves.

// The lint's exception for tests does not reach what tests share.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod codec_recognise;
mod codec_sniff;
mod codec_zstd;
mod ingest_reader;
mod ingest_readers;
mod input_cut;
mod input_delimiter;
mod input_files;
mod input_listing;
mod input_open_folder;
mod plan_layout;
mod plan_packed;
mod split;
mod tokenize;
mod tokenize_fold;
