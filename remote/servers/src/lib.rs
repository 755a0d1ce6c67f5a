//! Servers on loopback that tests of remote input read from: one that speaks S3, a namenode and a
//! datanode of HDFS, and a proxy before either that cuts connections as a test wants it. For tests
//! alone: what goes wrong is a panic that says what is missing.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod hdfs;
mod proxy;
mod s3;

pub use hdfs::Hdfs;
pub use proxy::Proxy;
pub use s3::S3;
