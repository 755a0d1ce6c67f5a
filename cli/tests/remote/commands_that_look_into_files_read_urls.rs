//! Headers of pictures and matrices are read where the files are kept; these commands refuse them with the
//! same messages as local files.

use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

/// Returns a picture of 24 bits, 40 x 30 pixels, of many levels.
fn picture() -> Vec<u8> {
    let (width, height) = (40, 30);
    let mut bytes = b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0".to_vec();
    bytes.extend([width, height].map(u32::to_le_bytes).concat());
    bytes.extend([1u16, 24].map(u16::to_le_bytes).concat());
    bytes.resize(54, 0);
    bytes.extend((0..width * height * 3).map(|place| (place * place % 251) as u8));
    bytes
}

/// Returns a matrix as NumPy saves it, larger than the bytes that a worker reads at a time.
fn npy(rows: usize, columns: usize) -> Vec<u8> {
    let text =
        format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let mut bytes = b"\x93NUMPY\x01\0\x76\0".to_vec();
    bytes.extend(format!("{text:<117}\n").bytes());
    (0..rows * columns).for_each(|n| bytes.extend((((n * n) % 97) as f64 / 8.0).to_le_bytes()));
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

#[test]
fn with_the_answers_and_refusals_of_files() {
    let text = b"1 2\n3 4\n5 7\n";
    let tall = npy(300_000, 2);
    let (folder, server) = both(&[
        ("a.bmp", &picture()),
        ("b.bmp", &picture()),
        ("cut.bmp", &picture()[..100]),
        ("packed.bmp.gz", &gzip(&picture())),
        ("m.txt", text),
        ("m.txt.gz", &gzip(text)),
        ("square.npy", &npy(2, 2)),
        ("tall.npy", &tall),
        ("cut.npy", &tall[..tall.len() - 1]),
        ("packed.npy.gz", &gzip(&tall)),
    ]);
    let local = folder.path().to_str().unwrap();
    for (arguments, ends_well) in [
        (&["histogram", "@a.bmp"][..], true),
        (&["histogram", "-j", "3", "@?.bmp"], true),
        (&["histogram", "@cut.bmp"], false),
        (&["histogram", "@packed.bmp.gz"], false),
        (&["matmul", "@m.txt", "@square.npy"], true),
        (&["matmul", "@tall.npy", "@square.npy"], true),
        (&["matmul", "@m.txt.gz", "@square.npy"], true),
        (&["matmul", "@cut.npy", "@square.npy"], false),
        (&["matmul", "@packed.npy.gz", "@square.npy"], false),
        (&["pca", "@tall.npy"], true),
        (&["pca", "-j", "3", "@tall.npy", "@square.npy"], true),
        (&["pca", "@m.txt", "@m.txt.gz"], true),
    ] {
        let [here, there] =
            named(arguments, &folder).map(|arguments| tegula(&server, &as_strs(&arguments)));
        assert_eq!(here.status.success(), ends_well, "{arguments:?}");
        if ends_well {
            assert!(well(here) == well(there), "{arguments:?}");
        } else {
            let there = fault(there).replace("s3://bucket", local);
            assert_eq!(fault(here), there, "{arguments:?}");
        }
    }
}

/// Between the look into its header and the reading of its rows.
#[test]
fn and_a_matrix_replaced_meanwhile_is_refused() {
    let (_folder, server) = both(&[("tall.npy", &npy(300_000, 2))]);
    let arguments = ["pca", "s3://bucket/tall.npy"];
    server.after(u32::MAX, || ());
    answer(&server, &arguments);
    let requests = server.requests();
    let objects = server.objects();
    server.after(requests - 1, move || objects.put("bucket", "tall.npy", &npy(300_001, 2)));
    let message = fault(tegula(&server, &arguments));
    assert!(message.contains("tall.npy: it changed after the job began"), "{message}");
}
