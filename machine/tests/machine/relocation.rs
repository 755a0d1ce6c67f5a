//! Tests of the module `relocation`.

use tegula_machine::relocation::{Relocation, Standing};

#[test]
fn what_moves_to_the_front_comes_out_where_it_is() {
    let then = Standing { split: 9, file: 3, offset: 1 << 40 };
    let now = Standing { split: 2, file: 4, offset: 7 };
    let by = then.relocation(&now);
    assert_eq!((by.split(11), by.file(3), by.offset((1 << 40) + 5)), (4, 4, 12));
    let back = now.relocation(&then);
    assert_eq!((back.split(4), back.file(4), back.offset(12)), (11, 3, (1 << 40) + 5));
    assert_eq!(then.relocation(&then), Relocation::default());
}
