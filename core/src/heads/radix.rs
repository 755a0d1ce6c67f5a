//! Radix sort of numbers that lie in a cache: two counting passes over the 16 bits in which they differ
//! first, the lower 8 of them before the upper (least significant digit first). Numbers that agree in
//! all 16 are few where keys are anything like random; they, and no others, are compared.

/// Fewer are compared at once.
const COUNTED_LEAST: usize = 512;
const DIGITS: usize = 1 << u8::BITS;

/// Sorts numbers, ascending; `spare` has room for as many. Linear, plus O(n log n) for numbers that agree
/// in those 16 bits.
pub fn sort(numbers: &mut [u64], spare: &mut [u64]) {
    if numbers.len() < COUNTED_LEAST {
        return numbers.sort_unstable();
    }
    let bounds = |(least, most): (u64, u64), &number: &u64| (least.min(number), most.max(number));
    let (least, most) = numbers.iter().fold((u64::MAX, 0), bounds);
    let differing_bits = u64::BITS - (most - least).leading_zeros();
    let shift = differing_bits.saturating_sub(u16::BITS);
    let digits = |number: u64| ((number - least) >> shift) as u16;
    let (low, high) =
        (|number| usize::from(digits(number) as u8), |number| usize::from(digits(number) >> 8));
    let (mut lows, mut highs) = ([0; DIGITS], [0; DIGITS]);
    for &number in &*numbers {
        lows[low(number)] += 1;
        highs[high(number)] += 1;
    }
    scatter(numbers, spare, &mut lows, low);
    scatter(spare, numbers, &mut highs, high);
    if shift > 0 {
        order_alike(numbers, digits);
    }
}

/// Puts numbers in the order of a digit, those with the same digit in the order that they have.
fn scatter(
    from: &[u64],
    to: &mut [u64],
    counts: &mut [usize; DIGITS],
    digit: impl Fn(u64) -> usize,
) {
    let mut end = 0;
    for count in counts.iter_mut() {
        end += std::mem::replace(count, end);
    }
    for &number in &from[..end] {
        let place = &mut counts[digit(number)];
        to[*place] = number;
        *place += 1;
    }
}

/// Sorts numbers that are in the order of their digits already.
fn order_alike(numbers: &mut [u64], digits: impl Fn(u64) -> u16) {
    let mut at = 1;
    while at < numbers.len() {
        if numbers[at - 1] <= numbers[at] {
            at += 1;
            continue;
        }
        let own = digits(numbers[at]);
        let unlike = |&number: &u64| digits(number) != own;
        let start = numbers[..at].iter().rposition(unlike).map_or(0, |before| before + 1);
        let end = numbers[at..].iter().position(unlike).map_or(numbers.len(), |more| at + more);
        numbers[start..end].sort_unstable();
        at = end;
    }
}
