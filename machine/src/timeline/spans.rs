//! Spans of one thread, in order and without overlap, in memory that was made once. When that is full,
//! spans inside one cell of time are put together by kind: their order in the cell is lost, their sums
//! and the time between them are not. Cells double, so any length of time fits.

use super::{KINDS, Kind};

/// The most spans that are kept, in 24 bytes each. Where four kinds alternate in each split, they amount to
/// about a thousand cells, one for each column of a picture.
pub const SPANS_MOST: usize = 8192;

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

/// The spans of one thread.
#[derive(Clone, Debug)]
pub struct Spans {
    spans: Vec<Span>,
    /// Width of the cells in which spans were put together; 0 if none were.
    resolution_ns: u64,
}

impl Spans {
    /// Makes the memory for all spans.
    #[allow(clippy::new_without_default, reason = "it allocates")]
    pub fn new() -> Spans {
        Spans { spans: Vec::with_capacity(SPANS_MOST), resolution_ns: 0 }
    }

    /// Returns the spans, in order.
    pub fn as_slice(&self) -> &[Span] {
        &self.spans
    }

    /// Returns the width of the cells in which spans were put together, in nanoseconds; 0 if none were.
    pub fn resolution_ns(&self) -> u64 {
        self.resolution_ns
    }

    /// Adds the latest span. A span that begins before the end of the last one is cut to begin there.
    pub fn push(&mut self, mut span: Span) {
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
