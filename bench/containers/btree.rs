//! A B+tree from words to values: values are in leaves alone, in the order of words, as in Metis (section 3.3).
//! It grows and is emptied, in order; nothing is removed from it.

use std::cmp::Ordering;

/// The most words of a leaf, and one more than the most children of an inner node.
const LEAF_WORDS_MOST: usize = 16;
const CHILDREN_MOST: usize = 16;
/// Bytes of a word that are compared as one number, with its length in the last byte.
const HEAD: usize = 15;

/// A word: numbers of the first bytes order as the words do; a longer word has the other bytes after them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Word {
    head: u128,
    rest: Box<[u8]>,
}

/// What the map adds to a word's value, and what two values of a word make.
pub(crate) trait Held: Default {
    fn add(&mut self, place: u64);
    fn join(&mut self, other: Self);
}

/// Words and their values.
pub(crate) struct Tree<V> {
    nodes: Vec<Node<V>>,
    root: usize,
}

enum Node<V> {
    Leaf {
        words: Vec<Word>,
        values: Vec<V>,
    },
    /// The words before a border are below the child of the same place; the border and the words after it below
    /// the next.
    Inner {
        borders: Vec<Word>,
        children: Vec<usize>,
    },
}

/// A node that was divided: the border, and the new node after it.
type Divided = Option<(Word, usize)>;

impl Word {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let bytes = self.head.to_be_bytes();
        let length = usize::from(bytes[HEAD]).min(HEAD);
        [&bytes[..length], &self.rest].concat()
    }
}

/// A word that is looked up: it is copied only where it is new.
#[derive(Clone, Copy)]
struct Sought<'w> {
    head: u128,
    rest: &'w [u8],
}

impl<'w> Sought<'w> {
    fn of(word: &'w [u8]) -> Sought<'w> {
        let (first, rest) = word.split_at(word.len().min(HEAD));
        let mut bytes = [0; HEAD + 1];
        bytes[..first.len()].copy_from_slice(first);
        bytes[HEAD] = (first.len() + usize::from(!rest.is_empty())) as u8;
        Sought { head: u128::from_be_bytes(bytes), rest }
    }

    fn compared_to(self, word: &Word) -> Ordering {
        word.head.cmp(&self.head).then_with(|| (*word.rest).cmp(self.rest))
    }

    fn to_word(self) -> Word {
        Word { head: self.head, rest: self.rest.into() }
    }
}

impl<V: Held> Default for Tree<V> {
    fn default() -> Tree<V> {
        Tree { nodes: Vec::new(), root: 0 }
    }
}

impl<V: Held> Tree<V> {
    /// Adds a place to the value of a word.
    pub(crate) fn add(&mut self, word: &[u8], place: u64) {
        self.value(Sought::of(word)).add(place);
    }

    /// Gives a word a value more.
    pub(crate) fn put(&mut self, word: &[u8], value: V) {
        self.value(Sought::of(word)).join(value);
    }

    /// Returns the number of words.
    pub(crate) fn len(&self) -> u64 {
        let words = self.nodes.iter().map(|node| match node {
            Node::Leaf { words, .. } => words.len() as u64,
            Node::Inner { .. } => 0,
        });
        words.sum()
    }

    /// Adds all that another tree has.
    pub(crate) fn join(&mut self, other: Tree<V>) {
        other.into_ordered(&mut |word, value| {
            self.value(Sought { head: word.head, rest: &word.rest }).join(value);
        });
    }

    /// Hands on all words with their values, in order.
    pub(crate) fn into_ordered(mut self, take: &mut impl FnMut(Word, V)) {
        if !self.nodes.is_empty() {
            self.take_below(self.root, take);
        }
    }

    fn take_below(&mut self, node: usize, take: &mut impl FnMut(Word, V)) {
        let empty = Node::Leaf { words: Vec::new(), values: Vec::new() };
        match std::mem::replace(&mut self.nodes[node], empty) {
            Node::Leaf { words, values } => {
                words.into_iter().zip(values).for_each(|(word, value)| take(word, value));
            }
            Node::Inner { children, .. } => {
                children.into_iter().for_each(|child| self.take_below(child, take));
            }
        }
    }

    /// Returns the value of a word, a new one if it has none.
    fn value(&mut self, sought: Sought<'_>) -> &mut V {
        if self.nodes.is_empty() {
            self.nodes.push(Node::Leaf { words: Vec::new(), values: Vec::new() });
        }
        let ((leaf, slot), divided) = self.place(self.root, sought);
        if let Some((border, after)) = divided {
            let children = vec![self.root, after];
            self.nodes.push(Node::Inner { borders: vec![border], children });
            self.root = self.nodes.len() - 1;
        }
        match &mut self.nodes[leaf] {
            Node::Leaf { values, .. } => &mut values[slot],
            Node::Inner { .. } => unreachable!("a place is in a leaf"),
        }
    }

    /// Returns the leaf and slot of a word below a node, where it is put if it is new.
    fn place(&mut self, node: usize, sought: Sought<'_>) -> ((usize, usize), Divided) {
        let (at, child) = match &mut self.nodes[node] {
            Node::Inner { borders, children } => {
                let at = borders.partition_point(|border| sought.compared_to(border).is_le());
                (at, children[at])
            }
            Node::Leaf { words, values } => {
                let slot = match words.binary_search_by(|word| sought.compared_to(word)) {
                    Ok(slot) => return ((node, slot), None),
                    Err(slot) => slot,
                };
                words.insert(slot, sought.to_word());
                values.insert(slot, V::default());
                return self.divide_leaf(node, slot);
            }
        };
        let (place, divided) = self.place(child, sought);
        (place, divided.and_then(|(border, after)| self.take_child(node, at, border, after)))
    }

    fn divide_leaf(&mut self, node: usize, slot: usize) -> ((usize, usize), Divided) {
        let next = self.nodes.len();
        let Node::Leaf { words, values } = &mut self.nodes[node] else {
            return ((node, slot), None);
        };
        if words.len() <= LEAF_WORDS_MOST {
            return ((node, slot), None);
        }
        let middle = words.len() / 2;
        let (after, their_values) = (words.split_off(middle), values.split_off(middle));
        let border = after[0].clone();
        self.nodes.push(Node::Leaf { words: after, values: their_values });
        let place = if slot < middle { (node, slot) } else { (next, slot - middle) };
        (place, Some((border, next)))
    }

    /// Takes the new node after a child, and divides this one if it has too many.
    fn take_child(&mut self, node: usize, at: usize, border: Word, after: usize) -> Divided {
        let next = self.nodes.len();
        let Node::Inner { borders, children } = &mut self.nodes[node] else { return None };
        borders.insert(at, border);
        children.insert(at + 1, after);
        if children.len() <= CHILDREN_MOST {
            return None;
        }
        let middle = children.len() / 2;
        let later = Node::Inner {
            children: children.split_off(middle),
            borders: borders.split_off(middle),
        };
        let up = borders.pop()?;
        self.nodes.push(later);
        Some((up, next))
    }
}
