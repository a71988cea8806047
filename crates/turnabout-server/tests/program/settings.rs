//! Where settings come from, as the program tells it.

use crate::place::Place;

#[test]
fn the_settings_in_force_are_told_with_where_they_came_from() {
    let place = Place::on_sqlite();
    place.configure("[executor]\npool-size = 3\n[tasks.ocr]\ncommand = [\"ocr\", \"{args.path}\"]\n");
    let told = place.ask(&["config", "--deadline", "5s"]);
    for line in [
        ("pool-size = 3", "turnabout.toml, line 2"),
        ("shutdown-deadline = \"5 seconds\"", "flag --deadline"),
        ("retries = 5", "default"),
        ("command = [\"ocr\", \"{args.path}\"]", "turnabout.toml, line 4"),
    ] {
        assert!(
            told.lines()
                .any(|said| said.starts_with(line.0) && said.contains(line.1)),
            "{line:?}: {told}"
        );
    }
    let mut command = place.command(&["config", "--json"]);
    let output = command
        .env("TURNABOUT_EXECUTOR_POOL_SIZE", "4")
        .output()
        .expect("it starts");
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(told["executor.pool-size"]["value"], 4);
    assert_eq!(
        told["executor.pool-size"]["origin"],
        "environment variable TURNABOUT_EXECUTOR_POOL_SIZE"
    );

    place.configure("[executor]\npool-sise = 3\n");
    for command in ["config", "serve", "jobs"] {
        let said = place.complaint(&[command]);
        assert!(
            said.contains("line 2") && said.contains("did you mean `pool-size`?"),
            "{said}"
        );
    }
    assert!(
        place
            .complaint(&["config", "--config", "none.toml"])
            .contains("none.toml")
    );
    assert!(
        place
            .ask(&["config", "--reference"])
            .contains("#counting-scheme = \"4,2,1\"")
    );
}
