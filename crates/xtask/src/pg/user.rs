//! Postgres refuses to run as root: who runs it instead.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

/// An account of the password file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct User {
    pub(super) name: String,
    pub(super) uid: u32,
    pub(super) gid: u32,
}

impl User {
    /// Who runs the server: `None` is ourselves; root takes `postgres`, else `nobody`.
    pub(super) fn for_server() -> Result<Option<Self>> {
        if !is_root()? {
            return Ok(None);
        }
        let passwd = fs::read_to_string("/etc/passwd").context("cannot read /etc/passwd")?;
        let user = Self::find(&passwd, "postgres").or_else(|| Self::find(&passwd, "nobody"));
        user.map(Some)
            .context("Postgres refuses to run as root, and there is neither a user postgres nor nobody")
    }

    /// Reads `name:x:uid:gid:..`.
    fn find(passwd: &str, name: &str) -> Option<Self> {
        passwd.lines().find_map(|line| {
            let mut fields = line.split(':');
            if fields.next() != Some(name) {
                return None;
            }
            let uid = fields.nth(1)?.parse().ok()?;
            let gid = fields.next()?.parse().ok()?;
            Some(Self { name: name.to_owned(), uid, gid })
        })
    }
}

pub(super) fn is_root() -> Result<bool> {
    let output = Command::new("id").arg("-u").output().context("cannot run id")?;
    Ok(output.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_found_by_its_whole_name() {
        let passwd = "root:x:0:0:root:/root:/bin/bash\npostgres2:x:1:1::/:/\nbad:x:y\npostgres:x:101:104:P,,,:/p:/sh\n";
        let user = User { name: "postgres".to_owned(), uid: 101, gid: 104 };
        assert_eq!(User::find(passwd, "postgres"), Some(user));
        assert_eq!(User::find(passwd, "nobody"), None);
        assert_eq!(User::find(passwd, "bad"), None);
    }
}
