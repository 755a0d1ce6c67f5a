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
