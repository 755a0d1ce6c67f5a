//! Blocks are reused, by the groups near them, and counted in one budget.

use tegula_machine::memory::{Access, Block, BlockPool, Budget, work_in};

#[test]
fn a_block_given_back_is_reused_and_zeroed_on_request() {
    let pool = BlockPool::new(Budget::new(None));
    let mut block = pool.take(100_000, Access::Streamed, "test").unwrap();
    assert_eq!(block.bytes(), 131_072);
    block.zero();
    let first = block.start();
    block.as_mut_slice()[5] = 7;
    drop(block);
    let mut again = pool.take(100_000, Access::Random, "test").unwrap();
    assert_eq!(again.start(), first);
    again.zero();
    assert_eq!(again.as_slice()[5], 0);
}

/// Of any range, also past the block's end, and whether or not its pages were there.
#[test]
fn pages_are_provided_with_their_contents() {
    let pool = BlockPool::new(Budget::new(None));
    for access in [Access::Streamed, Access::Random] {
        let mut block = pool.take(3 << 20, access, "test").unwrap();
        block.zero();
        block.as_mut_slice()[70_000] = 7;
        for range in [0..131_072, 5..6, 65_536..usize::MAX, usize::MAX - 1..usize::MAX, 9..9] {
            block.provide(range);
        }
        let sum: u64 = block.as_slice().iter().map(|&byte| u64::from(byte)).sum();
        assert_eq!(sum, 7);
        block.discard();
    }
}

#[test]
fn a_discarded_block_is_no_longer_counted() {
    let pool = BlockPool::new(Budget::new(None));
    pool.take(100_000, Access::Streamed, "test").unwrap().discard();
    assert_eq!((pool.budget().used(), pool.release(0)), (0, 0));
}

#[test]
fn blocks_go_back_to_the_group_they_came_from() {
    let pool = BlockPool::by_group(Budget::new(Some(8 << 20)), &[Some(0), Some(1)]);
    let in_group = |group, work: &(dyn Fn() -> Block + Sync)| {
        std::thread::scope(|scope| {
            let worker = scope.spawn(move || {
                work_in(group);
                work()
            });
            worker.join().unwrap()
        })
    };
    let take = || pool.take(1 << 20, Access::Streamed, "test").unwrap();
    let first = in_group(1, &take);
    let place = first.start();
    // By a thread of no group.
    drop(first);
    let near = in_group(0, &take);
    assert_ne!(near.start(), place, "a block of another node is left to that");
    assert_eq!(in_group(1, &take).start(), place);
    drop(near);
    // The one budget counts all, and all make room.
    assert_eq!(pool.budget().used(), 2 << 20);
    let all = pool.take(8 << 20, Access::Streamed, "all").unwrap();
    assert!(pool.take(1, Access::Streamed, "more").is_err());
    drop(all);
    assert_eq!((pool.release(0), pool.budget().used()), (8 << 20, 0));
}

#[test]
fn groups_of_one_node_use_each_others_idle_blocks() {
    let pool = BlockPool::by_group(Budget::new(None), &[None, None]);
    let place = pool.take(1 << 20, Access::Streamed, "test").unwrap().start().as_ptr() as usize;
    let other = std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            work_in(1);
            pool.take(1 << 20, Access::Streamed, "test").unwrap().start().as_ptr() as usize
        });
        worker.join().unwrap()
    });
    assert_eq!(other, place);
}

#[test]
fn idle_blocks_make_room_before_the_budget_refuses() {
    let pool = BlockPool::new(Budget::new(Some(4 << 20)));
    drop(pool.take(3 << 20, Access::Random, "first").unwrap());
    let second = pool.take(4 << 20, Access::Random, "second").unwrap();
    assert_eq!(second.start().as_ptr() as usize % 4096, 0);
    assert!(pool.take(1, Access::Streamed, "third").is_err());
}
