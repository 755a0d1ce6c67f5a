//! Tests of the module `identity`.

use std::io::Write;
use tegula_pairs::encoding::Reading;
use tegula_pairs::identity::Identity;

#[test]
fn the_first_difference_is_told_and_the_form_comes_back() {
    let words = Identity::new("wordcount", 1).with("words", "alpha");
    let mut bytes = Vec::new();
    words.encode(&mut bytes);
    assert_eq!(Identity::decode(&mut Reading::new(&bytes)).as_ref(), Some(&words));
    assert_eq!(words.difference(&words.clone()), None);
    let others = [
        (Identity::new("index", 1), "job was \"wordcount\" and is \"index\""),
        (Identity::new("wordcount", 2).with("words", "alpha"), "version was \"1\" and is \"2\""),
        (Identity::new("wordcount", 1), "words was \"alpha\" and is not given"),
    ];
    for (other, says) in others {
        assert_eq!(words.difference(&other).as_deref(), Some(says));
    }
}

/// A digest is of the fields in their order, so what differs in it must differ here.
#[test]
fn fields_of_one_name_and_their_order_count() {
    let of = |fields: &[(&str, u32)]| {
        let identity = Identity::new("wordcount", 1);
        fields.iter().fold(identity, |identity, (name, value)| identity.with(name, value))
    };
    for (was, is, says) in [
        (
            of(&[("a", 1), ("a", 2)]),
            of(&[("a", 1), ("a", 3)]),
            "a was \"1\", \"2\" and is \"1\", \"3\"",
        ),
        (of(&[("a", 1)]), of(&[("a", 1), ("a", 1)]), "a was \"1\" and is \"1\", \"1\""),
        (of(&[("a", 1), ("b", 2)]), of(&[("b", 2), ("a", 1)]), "b is in the place of a"),
    ] {
        assert_eq!(was.difference(&is).as_deref(), Some(says));
    }
}

#[test]
fn a_job_is_compared_without_what_was_added_to_it() {
    let (words, alpha) = (Identity::new("wordcount", 1), "words was \"alpha\" and is not given");
    let saved = words.clone().with("words", "alpha").with("tile bytes", 1);
    assert_eq!(saved.difference_of_job(&words.clone().with("words", "alpha"), 1), None);
    assert_eq!(saved.difference_of_job(&words, 1).as_deref(), Some(alpha));
    let more = words.clone().with("words", "alpha").with("tile bytes", 1);
    let says = "tile bytes was not given and is \"1\"";
    assert_eq!(saved.difference_of_job(&more, 1).as_deref(), Some(says));
    assert_eq!(
        words.difference_of_job(&words, 9).as_deref(),
        Some("job was not given and is \"wordcount\"")
    );
}

#[test]
fn a_parameter_in_pieces_is_the_same_as_at_once() {
    let bytes: Vec<u8> = (0..100_000_u32).map(|number| number.to_le_bytes()[0]).collect();
    let at_once = Identity::new("job", 1).with_bytes("file", &bytes);
    for piece in [1000, 8192, bytes.len()] {
        let write = |to: &mut dyn Write| bytes.chunks(piece).try_for_each(|it| to.write_all(it));
        assert_eq!(Identity::new("job", 1).with_written("file", write).unwrap(), at_once);
    }
}
