//! Numbers of a seed: the generator SplitMix64 (Steele, Lea and Flood, 2014).

#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Returns the numbers of a round, of which each has its own.
    pub(crate) fn of_round(seed: u64, round: u64) -> Random {
        Random(seed ^ round.wrapping_mul(0x2545_f491_4f6c_dd1d))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}
