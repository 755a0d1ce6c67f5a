//! Progress shows what is known, and leaves out the rest.

use std::time::Duration;
use tegula::{ProgressReading, Stage};
use tegula_cli::parts::{clock, progress_json, progress_text};

#[test]
fn what_is_known_is_shown() {
    let reading = ProgressReading {
        stage: Stage::Map,
        bytes_planned: 4 << 20,
        bytes_done: 1 << 20,
        files_planned: 1,
        keys_held: 12,
        mapping: Duration::from_secs(2),
        memory_bytes: 80 << 20,
        memory_limit_bytes: Some(1 << 30),
        spilled_bytes: 0,
    };
    let shown =
        "1.00 MiB of 4.00 MiB, 512.00 KiB/s, 0:06 left, 12 keys, 80.00 MiB of 1.00 GiB memory";
    assert_eq!(progress_text(&reading), shown);
    let stream = ProgressReading { bytes_planned: 0, memory_limit_bytes: None, ..reading };
    assert_eq!(progress_text(&stream), "1.00 MiB, 512.00 KiB/s, 12 keys, 80.00 MiB memory");
    let reduce = ProgressReading { stage: Stage::Reduce, bytes_done: 4 << 20, ..reading };
    assert!(
        !progress_text(&reduce).contains("left")
            && progress_json(&reduce, Duration::ZERO)["left_s"].is_null()
    );
    assert_eq!(clock(Duration::from_millis(10_804_100)), "3:00:05");
}
