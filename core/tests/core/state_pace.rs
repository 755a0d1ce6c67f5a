//! The interval between saves.

use std::time::{Duration, Instant};
use tegula_core::state::SaveEvery;
use tegula_core::state::pace::Pace;

#[test]
fn auto_spends_less_than_a_hundredth_and_others_keep_to_their_word() {
    let began = Instant::now();
    let (mut now, mut spent) = (began, Duration::ZERO);
    let mut pace = Pace::new(SaveEvery::Auto, 32 << 20, began);
    let took = Duration::from_millis(20);
    let mut saves = 0;
    while now.duration_since(began) < Duration::from_secs(10_000) {
        now += Duration::from_millis(10);
        if pace.mapped(1 << 20, now) {
            pace.saved(took, now);
            (spent, saves) = (spent + took, saves + 1);
        }
    }
    assert!(spent * 300 <= now.duration_since(began) + took * 300, "{spent:?}");
    assert!((100..700).contains(&saves), "{saves}");
    let mut tiles = Pace::new(SaveEvery::Tiles(2), 100, began);
    assert!(!tiles.mapped(199, began) && tiles.mapped(1, began));
    tiles.saved(took, began);
    assert!(!tiles.mapped(199, began));
    let mut seconds = Pace::new(SaveEvery::Time(Duration::from_secs(3)), 100, began);
    assert!(!seconds.mapped(1 << 40, began + Duration::from_secs(2)));
    assert!(seconds.mapped(0, began + Duration::from_secs(3)));
}
