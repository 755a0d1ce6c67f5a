//! Servers on loopback for benchmarks: `loopback FILE...` starts S3, which is empty, and HDFS, with the
//! files in `/bench`. It prints a line each, `s3 ENDPOINT` and `hdfs ROOT`, then `java CLASS-PATH`, with
//! which Hadoop's own programs run, and continues until its standard input ends.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::io::{Read, stdin};
use std::path::Path;
use tegula_remote_servers::{Hdfs, S3};

/// The default size of HDFS blocks.
const BLOCK_BYTES: u64 = 128 << 20;

fn main() {
    let s3 = S3::start();
    let hdfs = Hdfs::start_with(BLOCK_BYTES);
    for file in std::env::args_os().skip(1) {
        let file = Path::new(&file);
        let name = file.file_name().unwrap().to_str().unwrap();
        hdfs.put_local(file, &format!("/bench/{name}"));
    }
    println!("s3 {}", s3.direct_endpoint());
    println!("hdfs {}", hdfs.root());
    println!("java {}", Hdfs::class_path());
    stdin().read_to_end(&mut Vec::new()).unwrap();
}
