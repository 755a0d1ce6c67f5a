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
