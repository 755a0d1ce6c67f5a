//! Tests of the module `memory::input`.

use tegula_machine::memory::{BlockPool, Budget, InputBuffer, OVERREAD_BYTES};

#[test]
fn a_buffer_that_grows_leaves_nothing_behind() {
    let blocks = BlockPool::new(Budget::new(None));
    let mut buffer = InputBuffer::new(&blocks, 1000).unwrap();
    buffer.bytes_mut()[..5].copy_from_slice(b"input");
    buffer.reserve(100_000, 5).unwrap();
    assert_eq!(&buffer.bytes()[..5], b"input");
    buffer.fit(1 << 20).unwrap();
    let exact = (1 << 20) + (64 << 10);
    assert!(buffer.capacity() >= 1 << 20 && blocks.budget().used() == exact);
    buffer.fit(10).unwrap();
    assert_eq!((buffer.capacity() + OVERREAD_BYTES) as u64, exact);
}
