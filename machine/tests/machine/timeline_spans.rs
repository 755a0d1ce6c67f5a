//! Spans of a thread are bounded, and their sums are exact.

use tegula_machine::timeline::{KINDS, Kind, SPANS_MOST, Span, Spans};

fn sums(spans: &[Span]) -> [u64; KINDS] {
    let mut sums = [0; KINDS];
    spans.iter().for_each(|span| sums[span.kind as usize] += span.ns());
    sums
}

#[test]
fn however_many_there_are_their_sums_are_exact_and_their_number_is_bounded() {
    // Lengths and gaps of all sizes, from a generator that is the same each time.
    let mut state = 7_u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) % below
    };
    let (mut spans, mut all, mut now) = (Spans::new(), Vec::new(), 0);
    for _ in 0..40 * SPANS_MOST {
        let kind = Kind::RECORDED[next(KINDS as u64) as usize];
        let begin_ns = now + next(3) * next(50);
        let longest = 1 << next(20);
        let end_ns = begin_ns + next(longest);
        now = end_ns;
        all.push(Span { kind, begin_ns, end_ns });
        spans.push(Span { kind, begin_ns, end_ns });
        assert!(spans.as_slice().len() <= SPANS_MOST);
    }
    assert_eq!(sums(spans.as_slice()), sums(&all));
    let kept = spans.as_slice();
    assert!(kept.is_sorted_by(|a, b| a.begin_ns < a.end_ns && a.end_ns <= b.begin_ns));
    assert!(kept.len() > SPANS_MOST / 8 && spans.resolution_ns() > 0);
    // A span lies no further from where it was than a cell is wide.
    let at = |spans: &[Span], kind, until: u64| {
        let part = |span: &Span| span.end_ns.min(until).saturating_sub(span.begin_ns);
        spans.iter().filter(|span| span.kind == kind).map(part).sum::<u64>()
    };
    for kind in Kind::RECORDED {
        for tenth in 1..10 {
            let until = now / 10 * tenth;
            let moved = at(kept, kind, until).abs_diff(at(&all, kind, until));
            assert!(moved <= spans.resolution_ns());
        }
    }
}

#[test]
fn what_goes_on_is_one_span_and_what_overlaps_is_cut() {
    let span = |kind, begin_ns, end_ns| Span { kind, begin_ns, end_ns };
    let mut spans = Spans::new();
    spans.push(span(Kind::Map, 10, 20));
    spans.push(span(Kind::Map, 20, 30));
    spans.push(span(Kind::Idle, 30, 40));
    spans.push(span(Kind::Read, 25, 35));
    spans.push(span(Kind::Read, 20, 30));
    let kept = [span(Kind::Map, 10, 30), span(Kind::Read, 30, 35)];
    assert_eq!(spans.as_slice(), kept);
}
