//! Tests of the module `memory::budget`.

use tegula_machine::error::MemoryError;
use tegula_machine::memory::Budget;

#[test]
fn a_refused_taking_leaves_the_count_as_it_was() {
    let budget = Budget::new(Some(100));
    budget.take(60, "a").unwrap();
    let refused = budget.take(41, "b").unwrap_err();
    assert!(matches!(
        refused,
        MemoryError::Budget { needed_bytes: 101, limit_bytes: 100, purpose: "b" }
    ));
    budget.take(40, "c").unwrap();
    budget.give(100);
    budget.take(100, "d").unwrap();
    assert_eq!(budget.peak(), 100);
}

/// A length that input claims may be any.
#[test]
fn more_than_can_be_counted_is_refused_without_a_limit_too() {
    let budget = Budget::new(None);
    budget.take(60, "a").unwrap();
    let refused = budget.take(usize::MAX, "b").unwrap_err();
    assert!(matches!(refused, MemoryError::Budget { needed_bytes: u64::MAX, purpose: "b", .. }));
    assert_eq!((budget.used(), budget.peak()), (60, 60));
}
