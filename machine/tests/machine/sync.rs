//! Tests of the module `sync`.

use std::thread;
use std::time::Duration;
use tegula_machine::sync::{Condvar, Mutex};

#[test]
fn a_lock_is_good_after_a_panic_under_it() {
    let mutex = Mutex::new(1);
    let panicked = thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let mut value = mutex.lock();
            *value = 2;
            panic!("under the lock");
        });
        thread.join().is_err()
    });
    assert!(panicked && *mutex.lock() == 2 && mutex.try_lock().is_some());
    let held = mutex.lock();
    assert!(mutex.try_lock().is_none());
    let held = Condvar::new().wait_timeout(held, Duration::from_millis(1));
    assert_eq!(*held, 2);
    drop(held);
    assert_eq!(mutex.into_inner(), 2);
}
