//! Tests of the module `memory::buffer`.

use tegula_machine::memory::{BlockPool, Budget, Buffer};

#[test]
fn it_is_large_only_as_long_as_it_must_be() {
    let blocks = BlockPool::new(Budget::new(Some(100)));
    let mut buffer = Buffer::new(&blocks, 10, "a test").unwrap();
    buffer.clear_for(60).unwrap();
    buffer.extend([1; 60]);
    buffer.count_growth().unwrap();
    assert_eq!((buffer.len(), blocks.budget().used()), (60, 60));
    assert!(buffer.clear_for(101).is_err());
    buffer.clear_for(3).unwrap();
    assert_eq!((buffer.len(), buffer.capacity(), blocks.budget().used()), (0, 10, 10));
    buffer.extend([2; 101]);
    assert!(buffer.count_growth().is_err());
    drop(buffer);
    assert_eq!(blocks.budget().used(), 0);
}
