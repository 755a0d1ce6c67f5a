//! Tests of the module `timeline::track`.

use std::time::{Duration, Instant};
use tegula_machine::progress::Stage;
use tegula_machine::timeline::{Context, Kind, Span, Timeline, Track};

#[test]
fn a_track_is_one_lane_that_is_no_threads() {
    let timeline = Timeline::new("test");
    assert!(Track::here("device-0 copies").is_none());
    let began = Instant::now();
    for number in 0..2 {
        let _entered = Context::new(Some(&timeline), Stage::Map).enter();
        let track = Track::here("device-0 copies").unwrap();
        let begin = began + Duration::from_micros(100 * number);
        track.add(Kind::CopyIn, begin, Duration::from_micros(50));
    }
    let recording = timeline.read();
    let track = recording.lanes.iter().find(|lane| lane.is_device).unwrap();
    let spans: Vec<u64> = track.spans.iter().map(Span::ns).collect();
    assert_eq!((track.name.as_str(), spans), ("device-0 copies", vec![50_000, 50_000]));
}
