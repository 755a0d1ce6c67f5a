//! Tests of the module `identity`.

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
