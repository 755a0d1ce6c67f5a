//! Servers on loopback that tests of remote input read from: one that speaks S3, a namenode and a
//! datanode of HDFS, the emulators of Azure and Google Cloud Storage where they are installed, and a
//! proxy before any of them that cuts connections as a test requires. For tests alone: a fault is a panic
//! that names the missing program.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod azure;
mod gcs;
mod hdfs;
mod http;
mod proxy;
mod requests;
mod s3;

pub use azure::Azure;
pub use gcs::Gcs;
pub use hdfs::Hdfs;
pub use proxy::Proxy;
pub use requests::Refusals;
pub use s3::{Objects, S3};
