//! Downloads one file over HTTP: continues where a connection broke, checks the result, and never leaves half a file. If two
//! programs want the same file, the second waits for the first.

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

/// How many requests are made to one address before the next is tried.
const ATTEMPTS: u32 = 4;

/// A connection that sends nothing for this long counts as broken.
const QUIET: Duration = Duration::from_secs(30);

/// A file somewhere on the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remote<'a> {
    /// Its addresses; if one fails, the next is tried.
    pub urls: &'a [&'a str],
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: &'a str,
    /// Its size.
    pub bytes: u64,
}

/// Downloads a file to `path`. If a file with the right checksum is there, nothing is transferred. An earlier attempt, which
/// left `path.part`, is continued.
///
/// # Errors
/// No address answers; the connection keeps breaking (what came is kept, and the next call continues); the checksum or size
/// is wrong (what came is deleted); there is no space on the disk.
pub fn download(remote: Remote<'_>, path: &Path, progress: &mut dyn FnMut(ReadProgress)) -> Result<()> {
    download_within(remote, path, QUIET, progress)
}

/// The same, with another time after which a connection that sends nothing counts as broken.
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
    // Held until the end of this function. The operating system releases it even if the program is killed.
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
        match (Transfer { agent: &agent, url, remote, part: &part }).complete(progress) {
            Ok(()) => {
                fs::rename(&part, path).map_err(|source| DataError::io(path, "rename to", source))?;
                return atomic::sync_folder_of(path);
            }
            // A full disk stays full whatever the address.
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

/// A file on its way from one address.
struct Transfer<'a> {
    agent: &'a ureq::Agent,
    url: &'a str,
    remote: Remote<'a>,
    /// Where the bytes go until all are there.
    part: &'a Path,
}

impl Transfer<'_> {
    /// Transfers the whole file and checks it.
    fn complete(&self, progress: &mut dyn FnMut(ReadProgress)) -> Result<()> {
        let Self { url, remote, part, .. } = *self;
        let mut outcome = Ok(());
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                std::thread::sleep(Duration::from_millis(200 << attempt));
            }
            outcome = self.request(progress);
            match &outcome {
                Ok(()) => break,
                Err(DataError::Download { cause: Some(_), .. }) => {} // the connection broke: try again
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

    /// Makes one request for the bytes after those in `part`. An error with a cause is a broken connection.
    fn request(&self, progress: &mut dyn FnMut(ReadProgress)) -> Result<()> {
        let Self { url, remote, part, .. } = *self;
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
        let mut request = self.agent.get(url);
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
                // The server ignores ranges and sends the whole file: start again.
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
                    let problem =
                        format!("broke after {have} of {} bytes (the next attempt continues there)", remote.bytes);
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
            let problem = format!("ended after {have} of {} bytes (the next attempt continues there)", remote.bytes);
            return Err(broken(&problem, Box::new(io::Error::from(io::ErrorKind::UnexpectedEof))));
        }
        Ok(())
    }
}
