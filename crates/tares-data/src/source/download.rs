//! One file over HTTP: resumed where it broke, checked, and never half there. Two programs that want the same file share the
//! work: the second waits for the first.

use crate::error::{DataError, Result};
use crate::io::atomic;
use crate::load::{ReadProgress, Stage};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use ureq::tls::{RootCerts, TlsConfig};

/// How often a broken connection is taken up again.
const ATTEMPTS: u32 = 4;

/// A connection that brings nothing for so long is broken.
const QUIET: Duration = Duration::from_secs(30);

/// A file somewhere on the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remote<'a> {
    /// Where it can be had; the next is tried when one fails.
    pub urls: &'a [&'a str],
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: &'a str,
    /// Its size.
    pub bytes: u64,
}

/// Brings a file to `path`. If it is there with the right checksum, nothing is transferred. What an earlier attempt left in
/// `path.part` is continued.
///
/// # Errors
/// No address answers; the connection breaks again and again (what came is kept, the next call goes on); another checksum or
/// size than promised (what came is thrown away); no space on the disk. A connection that brings no byte for half a minute
/// counts as broken.
pub fn download(remote: Remote<'_>, path: &Path, progress: &mut dyn FnMut(ReadProgress)) -> Result<()> {
    download_within(remote, path, QUIET, progress)
}

/// The same, with another time after which a quiet connection counts as broken.
#[doc(hidden)]
pub fn download_within(
    remote: Remote<'_>,
    path: &Path,
    quiet: Duration,
    progress: &mut dyn FnMut(ReadProgress),
) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|source| DataError::io(folder, "create", source))?;
    }
    // Held until the end of this function; the operating system gives it up even if the program is killed.
    let lock_path = beside(path, "lock");
    let lock = File::create(&lock_path).map_err(|source| DataError::io(&lock_path, "create", source))?;
    lock.lock().map_err(|source| DataError::io(&lock_path, "lock", source))?;
    if path.is_file() && sha256_of(path)? == remote.sha256 {
        return Ok(());
    }
    let part = beside(path, "part");
    let agent = agent(quiet);
    let mut last = None;
    for url in remote.urls {
        match from_one(&agent, url, remote, &part, progress) {
            Ok(()) => {
                fs::rename(&part, path).map_err(|source| DataError::io(path, "rename to", source))?;
                return atomic::sync_folder_of(path);
            }
            // Another address does not make room on the disk.
            Err(error @ DataError::Io { .. }) => return Err(error),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| failed("", "no address is known for this file".into())))
}

/// SHA-256 of a file, in hexadecimal.
///
/// # Errors
/// The file cannot be read.
pub fn sha256_of(path: &Path) -> Result<String> {
    let failed = |source| DataError::io(path, "read", source);
    let mut file = File::open(path).map_err(failed)?;
    let mut hash = Sha256::new();
    let mut block = vec![0; 1 << 18];
    loop {
        match file.read(&mut block).map_err(failed)? {
            0 => break,
            count => hash.update(&block[..count]),
        }
    }
    Ok(hash.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(end);
    path.with_file_name(name)
}

fn agent(quiet: Duration) -> ureq::Agent {
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::PlatformVerifier)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build();
    ureq::Agent::config_builder()
        .tls_config(tls)
        .http_status_as_error(false)
        .timeout_connect(Some(Duration::from_secs(30)))
        .timeout_recv_response(Some(Duration::from_secs(60)))
        .timeout_per_read(Some(quiet))
        .timeout_per_write(Some(quiet))
        .user_agent(concat!("tares/", env!("CARGO_PKG_VERSION")))
        .build()
        .into()
}

fn failed(url: &str, problem: String) -> DataError {
    DataError::Download { url: url.into(), problem, cause: None }
}

/// Transfers the whole file from one address into `part` and checks it.
fn from_one(
    agent: &ureq::Agent,
    url: &str,
    remote: Remote<'_>,
    part: &Path,
    progress: &mut dyn FnMut(ReadProgress),
) -> Result<()> {
    let mut outcome = Ok(());
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            std::thread::sleep(Duration::from_millis(200 << attempt));
        }
        outcome = transfer(agent, url, remote, part, progress);
        match &outcome {
            Ok(()) => break,
            Err(DataError::Download { cause: Some(_), .. }) => {} // the connection broke: take it up again
            Err(_) => return outcome,
        }
    }
    outcome?;
    let found = sha256_of(part)?;
    if found == remote.sha256 {
        return Ok(());
    }
    fs::remove_file(part).map_err(|source| DataError::io(part, "remove", source))?;
    Err(failed(url, format!("has another checksum than published: SHA-256 {found}, expected {}", remote.sha256)))
}

/// One request, from where `part` ends. An error with a cause is a broken connection.
fn transfer(
    agent: &ureq::Agent,
    url: &str,
    remote: Remote<'_>,
    part: &Path,
    progress: &mut dyn FnMut(ReadProgress),
) -> Result<()> {
    let broken = |problem: &str, cause: Box<dyn std::error::Error + Send + Sync>| DataError::Download {
        url: url.into(),
        problem: problem.into(),
        cause: Some(cause),
    };
    let disk = |source| DataError::io(part, "write", source);
    let mut file = OpenOptions::new().create(true).append(true).open(part).map_err(disk)?;
    let mut have = file.metadata().map_err(disk)?.len();
    if have > remote.bytes {
        file.set_len(0).map_err(disk)?;
        have = 0;
    }
    if have == remote.bytes {
        return Ok(());
    }
    let mut request = agent.get(url);
    if have > 0 {
        request = request.header("Range", format!("bytes={have}-"));
    }
    let mut response = request.call().map_err(|cause| broken("cannot be reached", Box::new(cause)))?;
    match response.status().as_u16() {
        206 => {
            let range = response.headers().get("content-range").and_then(|value| value.to_str().ok());
            if range.is_none_or(|range| !range.starts_with(&format!("bytes {have}-"))) {
                return Err(failed(url, "answered with another part of the file than asked for".into()));
            }
        }
        200 => {
            // The server knows no ranges: begin again.
            if have > 0 {
                file.set_len(0).map_err(disk)?;
                have = 0;
            }
        }
        416 => {
            file.set_len(0).map_err(disk)?;
            return Err(failed(url, "has fewer bytes than expected".into()));
        }
        status => return Err(failed(url, format!("answered with HTTP status {status}"))),
    }
    let mut body = response.body_mut().as_reader();
    let mut block = vec![0; 1 << 16];
    loop {
        progress(ReadProgress { stage: Stage::Download, done: have, total: Some(remote.bytes) });
        let count = match body.read(&mut block) {
            Ok(0) => break,
            Ok(count) => count,
            Err(cause) => {
                let problem = format!("broke after {have} of {} bytes (the next attempt goes on there)", remote.bytes);
                return Err(broken(&problem, Box::new(cause)));
            }
        };
        have += count as u64;
        if have > remote.bytes {
            drop(file);
            fs::remove_file(part).map_err(|source| DataError::io(part, "remove", source))?;
            return Err(failed(url, format!("sends more than the {} bytes it should have", remote.bytes)));
        }
        file.write_all(&block[..count]).map_err(disk)?;
    }
    file.sync_all().map_err(disk)?;
    if have < remote.bytes {
        let problem = format!("ended after {have} of {} bytes (the next attempt goes on there)", remote.bytes);
        return Err(broken(&problem, Box::new(io::Error::from(io::ErrorKind::UnexpectedEof))));
    }
    Ok(())
}
