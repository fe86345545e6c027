//! Dependencies point strictly down, layer by layer: no crate knows a neighbour.

use super::{Finding, Repo};

/// The layer of each library, from the ground up.
const LAYERS: [(&str, u8); 16] = [
    ("tidegate-core", 0),
    ("tidegate-sync", 0),
    ("tidegate-servers", 0),
    ("tidegate-cooldown-gate", 1),
    ("tidegate-adaptive-semaphore", 1),
    ("tidegate-keyed-lock", 1),
    ("tidegate-abort-signal", 1),
    ("tidegate-retry-policy", 1),
    ("tidegate-single-writer", 1),
    ("tidegate-throttle", 2),
    ("tidegate-pipeline", 2),
    ("tidegate-run-registry", 2),
    ("tidegate-event-log", 2),
    ("tidegate-sqlite", 3),
    ("tidegate-postgres", 3),
    ("tidegate", 4),
];

fn layer(name: &str) -> Option<u8> {
    LAYERS.iter().find(|(known, _)| *known == name).map(|(_, layer)| *layer)
}

pub(super) fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in repo.members.iter().filter(|member| member.library) {
        let manifest = member.folder.join("Cargo.toml");
        let Some(own) = layer(&member.name) else {
            let what =
                format!("{} has no layer: give it one in crates/xtask/src/tidy/layers.rs", member.name);
            findings.push(Finding::new(&manifest, 1, what));
            continue;
        };
        for dependency in &member.dependencies {
            if let Some(other) = layer(dependency)
                && other >= own
            {
                let line =
                    repo.file(&manifest).map_or(1, |file| super::manifests::line_of(&file.text, dependency));
                let what = format!(
                    "{} (layer {own}) depends on {dependency} (layer {other}): dependencies point strictly down; move \
                     what both need to a lower crate",
                    member.name
                );
                findings.push(Finding::new(&manifest, line, what));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::Member;

    fn findings(name: &str, dependencies: &[&str]) -> Vec<Finding> {
        let mut repo =
            Repo::of(&[("crates/x/Cargo.toml", "[dependencies]\nserde = 1\ntidegate-keyed-lock = 1\n")]);
        repo.members.push(Member {
            name: name.to_owned(),
            folder: "crates/x".into(),
            rust: None,
            library: true,
            dependencies: dependencies.iter().map(|name| (*name).to_owned()).collect(),
        });
        check(&repo)
    }

    #[test]
    fn down_is_allowed() {
        assert!(
            findings("tidegate-throttle", &["tidegate-cooldown-gate", "tidegate-core", "serde"]).is_empty()
        );
    }

    #[test]
    fn neighbours_and_up_are_not() {
        let found = findings("tidegate-cooldown-gate", &["tidegate-keyed-lock"]);
        assert!(found[0].what.contains("strictly down") && found[0].line == 3);
        assert_eq!(findings("tidegate-pipeline", &["tidegate-throttle"]).len(), 1);
        assert_eq!(findings("tidegate-core", &["tidegate-sync", "tidegate"]).len(), 2);
    }

    #[test]
    fn a_new_library_needs_a_layer() {
        assert!(findings("tidegate-new", &[])[0].what.contains("no layer"));
    }
}
