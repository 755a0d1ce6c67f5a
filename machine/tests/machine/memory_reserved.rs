//! Tests of the module `memory::reserved`.

use tegula_machine::memory::{BlockPool, Budget, Reserved};

#[test]
fn what_is_reserved_is_counted_once_and_given_back() {
    let blocks = BlockPool::new(Budget::new(Some(100)));
    let mut some = Reserved::new(&blocks, 60, "some").unwrap();
    some.cover(50).unwrap();
    assert!(Reserved::new(&blocks, 50, "more").is_err());
    some.cover(100).unwrap();
    assert!(some.cover(101).is_err());
    drop(some);
    Reserved::new(&blocks, 100, "all").unwrap();
}
