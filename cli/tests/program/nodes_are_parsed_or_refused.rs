//! The nodes that a flag describes, or what is wrong with it.

use tegula_cli::parts::nodes;

fn of(text: &str) -> Vec<String> {
    nodes(text).unwrap()
}

#[test]
fn each_node_has_its_shape() {
    assert_eq!(of("local:2"), ["--as-node=:", "--as-node=:"]);
    assert_eq!(of("local:2x1,1x2:512M"), ["--as-node=1:", "--as-node=1:", "--as-node=2:536870912"]);
    assert_eq!(
        of("local:1,1x3:1G:streamed,1x3:1G:streamed=1M@10.0.0.7")[1..],
        ["--as-node=3:1073741824:streamed", "--as-node=3:1073741824:streamed=1048576@10.0.0.7"]
    );
    assert_eq!(of("up"), ["up"]);
    assert_eq!(of("ray://auto"), ["auto"]);
    assert_eq!(of("ray://head:10001"), ["ray://head:10001"]);
}

/// A node reads what the driver gives it as an argument.
#[test]
fn a_shape_is_read_as_it_was_written() {
    let all = of("local:1,1x3:1G:streamed,1x:7M,1x3:1G:streamed=1M@10.0.0.7");
    for argument in &all {
        let shape = argument.strip_prefix("--as-node=").unwrap();
        assert_eq!(of(&format!("local:1,1x{shape}"))[1..], [argument.as_str()]);
    }
}

#[test]
fn all_else_is_refused() {
    for bad in [
        "",
        "4",
        "local:",
        "local:0",
        "local:2x0",
        "local:-1",
        "local:2x1:z",
        "local:999",
        "ray:auto",
        "ray://",
        "local:1x1@nowhere",
        "local:2x1:1G:streamed",
        "local:1,1x:streame",
        "local:1,1x:streamed1M",
        "local:1,1x:streamed=",
    ] {
        assert!(nodes(bad).is_err(), "{bad}");
    }
}
