//! A part of the input whose files are decompressed in order, each by itself. The ends of their blocks are
//! not known beforehand, so each file gets a range of numbers in proportion to its length, and one of some length if it is
//! short beside the others. So the numbers of
//! blocks are in the order of the input, in whichever order files are decompressed.

use crate::input::{Format, Material};
use crate::origin::{Origin, OriginKind};
use std::ops::Range;
use std::path::PathBuf;

/// The numbers that all compressed files of an input may have: half of those there are.
const NUMBERS: u64 = 1 << 31;
/// An empty file needs numbers, too: it may hold a header only, and still expand.
const WEIGHT_LEAST: u64 = 64;
/// A file weighs at least this part of what one does on average.
const LEAST_PARTS: u64 = 8;

/// Files that are decompressed as they are read.
pub struct Packed {
    /// Its place among the plan's parts.
    pub number: usize,
    pub material: Material,
    formats: Vec<Format>,
    /// What a file weighs beside its bytes.
    least: u64,
    /// Of all such parts of the plan.
    weight_of_all: u64,
    /// Compressed bytes of all files.
    pub(super) bytes: u64,
}

impl Packed {
    pub(super) fn new(number: usize, material: Material, formats: Vec<Format>) -> Packed {
        let bytes = (0..material.files()).map(|file| material.bytes(file)).sum();
        let mut packed = Packed { number, material, formats, least: 0, weight_of_all: 0, bytes };
        packed.number_beside((bytes, packed.files() as u64));
        packed
    }

    /// Divides the numbers among the files of all parts, of which there are the bytes and the number. None is so short
    /// beside all others that it has no number.
    pub(super) fn number_beside(&mut self, (bytes, files): (u64, u64)) {
        self.least = WEIGHT_LEAST + bytes / (LEAST_PARTS * files.max(1));
        self.weight_of_all = bytes + self.least * files;
    }

    /// Returns the bytes of all files as stored, and their number.
    pub(super) fn amount(&self) -> (u64, u64) {
        (self.bytes, self.files() as u64)
    }

    pub fn files(&self) -> usize {
        self.formats.len()
    }

    pub fn path(&self, file: usize) -> PathBuf {
        self.material.path(file)
    }

    /// Returns the length of a file as stored, in bytes.
    pub fn bytes(&self, file: usize) -> u64 {
        self.material.bytes(file)
    }

    pub fn format(&self, file: usize) -> Format {
        self.formats[file]
    }

    /// Returns a file's share of the numbers.
    pub fn weight(&self, file: usize) -> u64 {
        self.bytes(file) + self.least
    }

    /// Returns the numbers of a stretch of files, from the weight of all before it to that and its own.
    pub fn numbers(&self, weights: Range<u64>) -> Range<u64> {
        let numbers = |weight: u64| {
            let numbers = u128::from(weight) * u128::from(NUMBERS) / u128::from(self.weight_of_all);
            numbers as u64
        };
        numbers(weights.start)..numbers(weights.end)
    }

    /// Returns the numbers of all files.
    pub fn numbers_of_all(&self) -> u64 {
        self.numbers(0..self.bytes + self.least * self.files() as u64).end
    }

    /// Returns the origin of a file, of which `newlines` were read.
    pub fn origin(&self, file: usize, newlines: Option<u64>) -> Origin<'_> {
        let kind = OriginKind::Packed { material: &self.material, file, newlines };
        Origin { part: self.number, kind }
    }
}
