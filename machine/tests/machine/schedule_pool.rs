//! Pools serve all stages of all callers, and lose no worker.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tegula_machine::schedule::{Cursor, Pool, Share, Step};

fn sum_with(pool: &Pool, end: u64) -> u64 {
    let (cursor, sum) = (Cursor::new(end), AtomicU64::new(0));
    let step = |_| match cursor.take() {
        Some(number) => {
            sum.fetch_add(number, Ordering::Relaxed);
            Step::More
        }
        None => Step::Done,
    };
    pool.run(step, || ());
    sum.into_inner()
}

#[test]
fn many_stages_at_once_and_in_a_row_are_all_served() {
    for workers in [1, 2, 7] {
        let pool = Pool::new(workers, |_| ()).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..20).for_each(|_| assert_eq!(sum_with(&pool, 100), 4950)));
            }
        });
    }
}

#[test]
fn a_panic_comes_back_to_its_caller_and_no_worker_is_lost() {
    let pool = Pool::new(2, |_| ()).unwrap();
    let caught = |run: &dyn Fn()| catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    let panic = caught(&|| pool.run(|_| panic!("in a step"), || ()));
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"in a step"));
    assert_eq!(sum_with(&pool, 10), 45);
    let panic = caught(&|| pool.run(|_| Step::Done, || panic!("meanwhile")));
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"meanwhile"));
    assert_eq!(sum_with(&pool, 10), 45);
}

#[test]
fn an_idle_stage_is_asked_again_after_a_wake() {
    let pool = Pool::new(2, |_| ()).unwrap();
    let fed = AtomicU64::new(0);
    let step = |_| if fed.load(Ordering::Relaxed) < 3 { Step::Idle } else { Step::Done };
    let feed = || {
        for _ in 0..3 {
            std::thread::sleep(std::time::Duration::from_millis(2));
            fed.fetch_add(1, Ordering::Relaxed);
            pool.wake();
        }
    };
    pool.run(step, feed);
}

#[test]
fn a_short_stage_is_served_by_the_workers_of_the_share_alone() {
    let pool = Pool::new(4, |_| ()).unwrap();
    let share = Arc::new(Share::new());
    let within = pool.within(Some(Arc::clone(&share)));
    let cases: [(&[usize], &[usize]); 4] =
        [(&[2], &[2]), (&[0, 3], &[0, 3]), (&[], &[0, 1, 2, 3]), (&[5], &[0, 1, 2, 3])];
    for (shared, expected) in cases {
        share.set(shared.iter().copied());
        let served = Mutex::new(Vec::new());
        within.run_within(|worker| {
            served.lock().unwrap().push(worker);
            Step::Done
        });
        let mut served = served.into_inner().unwrap();
        served.sort_unstable();
        assert_eq!(served, expected, "of {shared:?}");
        // Others see all stages.
        assert_eq!(sum_with(&pool, 10), 45);
        assert_eq!(sum_with(&within, 10), 45);
    }
}
