//! Spans of one thread, in order and without overlap, in memory that was made once. When that is full,
//! spans inside one cell of time are put together by kind: their order in the cell is lost, their sums
//! and the time between them are not. Cells double, so any length of time fits.

use super::{KINDS, Kind};

/// The most spans that are kept, in 24 bytes each. Where four kinds alternate in each split, they amount to
/// about a thousand cells, one for each column of a picture.
pub(super) const SPANS_MOST: usize = 8192;

/// A stretch of time in which a thread did one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The work.
    pub kind: Kind,
    /// The begin, in nanoseconds since the timeline began.
    pub begin_ns: u64,
    /// The end.
    pub end_ns: u64,
}

impl Span {
    /// Returns its length, in nanoseconds.
    pub fn ns(&self) -> u64 {
        self.end_ns - self.begin_ns
    }
}

#[derive(Clone, Debug)]
pub(super) struct Spans {
    spans: Vec<Span>,
    /// Width of the cells in which spans were put together; 0 if none were.
    resolution_ns: u64,
}

impl Spans {
    pub(super) fn new() -> Spans {
        Spans { spans: Vec::with_capacity(SPANS_MOST), resolution_ns: 0 }
    }

    pub(super) fn as_slice(&self) -> &[Span] {
        &self.spans
    }

    pub(super) fn resolution_ns(&self) -> u64 {
        self.resolution_ns
    }

    /// Adds the latest span. A span that begins before the end of the last one is cut to begin there.
    pub(super) fn push(&mut self, mut span: Span) {
        if let Some(last) = self.spans.last_mut() {
            span.begin_ns = span.begin_ns.max(last.end_ns);
            if last.kind == span.kind && last.end_ns == span.begin_ns {
                last.end_ns = span.end_ns.max(last.end_ns);
                return;
            }
        }
        if span.end_ns <= span.begin_ns || span.kind == Kind::Idle {
            return;
        }
        if self.spans.len() == SPANS_MOST {
            self.coarsen();
        }
        self.spans.push(span);
    }

    /// Makes room for half of the spans.
    fn coarsen(&mut self) {
        let end = self.spans.last().map_or(0, |last| last.end_ns);
        // The least that can be enough.
        let least = (end / SPANS_MOST as u64).next_power_of_two();
        self.resolution_ns = self.resolution_ns.max(least);
        loop {
            put_together(&mut self.spans, self.resolution_ns);
            if self.spans.len() <= SPANS_MOST / 2 {
                return;
            }
            self.resolution_ns *= 2;
        }
    }
}

/// Spans of one cell that are being merged.
#[derive(Default)]
struct Group {
    begin_ns: u64,
    /// Kinds in the order in which they came.
    kinds: [Option<Kind>; KINDS],
    sums_ns: [u64; KINDS],
}

impl Group {
    fn add(&mut self, span: Span) {
        if self.kinds[0].is_none() {
            self.begin_ns = span.begin_ns;
        }
        let place = self.kinds.iter().position(|kind| kind.is_none_or(|kind| kind == span.kind));
        if let Some(place) = place {
            self.kinds[place] = Some(span.kind);
            self.sums_ns[place] += span.ns();
        }
    }

    /// Gives one span a kind, one after another.
    fn end(&mut self, mut put: impl FnMut(Span)) {
        let Group { mut begin_ns, kinds, sums_ns } = std::mem::take(self);
        for (kind, sum_ns) in kinds.into_iter().zip(sums_ns) {
            let Some(kind) = kind else { return };
            let end_ns = begin_ns + sum_ns;
            put(Span { kind, begin_ns, end_ns });
            begin_ns = end_ns;
        }
    }
}

/// Merges spans that lie in one cell by kind, in place. Those that cross a border stay.
fn put_together(spans: &mut Vec<Span>, cell_ns: u64) {
    let (mut kept, mut group, mut group_cell) = (0, Group::default(), 0);
    for at in 0..spans.len() {
        let span = spans[at];
        let cell = span.begin_ns / cell_ns;
        let inside = (span.end_ns - 1) / cell_ns == cell;
        if !inside || cell != group_cell {
            // Fewer spans are written than were read, so no unread span is overwritten.
            group.end(|whole| keep(spans, &mut kept, whole));
        }
        if inside {
            group_cell = cell;
            group.add(span);
        } else {
            keep(spans, &mut kept, span);
        }
    }
    group.end(|whole| keep(spans, &mut kept, whole));
    spans.truncate(kept);
}

fn keep(spans: &mut [Span], kept: &mut usize, span: Span) {
    if let Some(last) = kept.checked_sub(1).map(|last| &mut spans[last])
        && last.kind == span.kind
        && last.end_ns == span.begin_ns
    {
        last.end_ns = span.end_ns;
        return;
    }
    spans[*kept] = span;
    *kept += 1;
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
