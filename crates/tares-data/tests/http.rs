//! Downloads against a small server on this machine: no test touches the network.

use sha2::{Digest, Sha256};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tares_data::{DataError, ReadProgress, Remote, download, download_within};

/// What the server does with a request: its number (from 0) and the first byte asked for are known.
#[derive(Clone, Copy)]
enum Manner {
    Good,
    /// Hangs up after so many bytes, the first so many times.
    Cuts {
        after: usize,
        times: usize,
    },
    /// Knows no ranges.
    Whole,
    /// Sends other bytes of the same length.
    Lies,
    /// Sends too much.
    Endless,
    /// Answers with a status.
    Status(u16),
    /// Takes its time.
    Slow,
    /// Stays silent after so many bytes, the first so many times, and keeps the connection.
    Stalls {
        after: usize,
        times: usize,
    },
}

struct Server {
    url: String,
    /// The first byte of every request.
    asked: Arc<Mutex<Vec<usize>>>,
}

fn serve(content: Vec<u8>, manner: Manner) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/file.bin", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let record = asked.clone();
    // The thread ends with the test process.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = answer(stream, &content, manner, &record);
        }
    });
    Server { url, asked }
}

fn answer(mut stream: TcpStream, content: &[u8], manner: Manner, asked: &Mutex<Vec<usize>>) -> std::io::Result<()> {
    let mut first = 0;
    for line in BufReader::new(stream.try_clone()?).lines() {
        let line = line?.to_lowercase();
        if let Some(range) = line.strip_prefix("range: bytes=") {
            first = range.trim_end_matches('-').parse().unwrap_or(0);
        }
        if line.is_empty() {
            break;
        }
    }
    let number = {
        let mut asked = asked.lock().unwrap();
        asked.push(first);
        asked.len() - 1
    };
    let first = if matches!(manner, Manner::Whole) { 0 } else { first };
    let mut body = content[first.min(content.len())..].to_vec();
    let mut status = if first > 0 { 206 } else { 200 };
    match manner {
        Manner::Lies => body.iter_mut().for_each(|byte| *byte ^= 1),
        Manner::Endless => body.extend(vec![0; 100_000]),
        Manner::Status(code) => status = code,
        Manner::Slow => std::thread::sleep(Duration::from_millis(700)),
        _ => {}
    }
    let range = format!("Content-Range: bytes {first}-{}/{}\r\n", content.len() - 1, content.len());
    let range = if status == 206 { range } else { String::new() };
    write!(stream, "HTTP/1.1 {status} x\r\nContent-Length: {}\r\n{range}Connection: close\r\n\r\n", body.len())?;
    match manner {
        Manner::Cuts { after, times } if number < times => stream.write_all(&body[..after.min(body.len())]),
        Manner::Stalls { after, times } if number < times => {
            stream.write_all(&body[..after.min(body.len())])?;
            stream.flush()?;
            // Open until the test process ends.
            std::mem::forget(stream);
            Ok(())
        }
        _ => stream.write_all(&body),
    }
}

fn content() -> Vec<u8> {
    (0..300_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Downloads `content()` from a server of some manner into a new folder.
fn fetch(manner: Manner, path: &Path) -> (Result<(), DataError>, Server, Vec<ReadProgress>) {
    let server = serve(content(), manner);
    let mut told = Vec::new();
    let sha256 = hash(&content());
    let remote = Remote { urls: &[&server.url], sha256: &sha256, bytes: content().len() as u64 };
    let outcome = download_within(remote, path, Duration::from_millis(1500), &mut |progress| told.push(progress));
    (outcome, server, told)
}

#[test]
fn a_file_arrives_whole_with_progress_and_is_not_fetched_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/file.bin");
    let (outcome, server, told) = fetch(Manner::Good, &path);
    outcome.unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), content());
    assert!(told.windows(2).all(|pair| pair[0].done <= pair[1].done));
    assert_eq!(told.last().map(|last| (last.done, last.total)), Some((300_000, Some(300_000))));
    let sha256 = hash(&content());
    let again = Remote { urls: &[&server.url], sha256: &sha256, bytes: 300_000 };
    download(again, &path, &mut |_| {}).unwrap();
    assert_eq!(server.asked.lock().unwrap().len(), 1);
    assert!(!folder.path().join("deep/file.bin.part").exists());
}

#[test]
fn a_cut_connection_is_taken_up_where_it_broke() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.bin");
    let (outcome, server, _) = fetch(Manner::Cuts { after: 100_000, times: 2 }, &path);
    outcome.unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), content());
    assert_eq!(*server.asked.lock().unwrap(), [0, 100_000, 200_000]);
}

#[test]
fn a_connection_that_always_breaks_keeps_what_came_for_the_next_call() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.bin");
    let (outcome, _, _) = fetch(Manner::Cuts { after: 10_000, times: 99 }, &path);
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("after 40000 of 300000 bytes (the next attempt continues there)"), "{error}");
    assert!(!path.exists());
    let (outcome, server, _) = fetch(Manner::Good, &path);
    outcome.unwrap();
    assert_eq!(*server.asked.lock().unwrap(), [40_000]);
    assert_eq!(std::fs::read(&path).unwrap(), content());
}

#[test]
fn a_connection_that_falls_silent_is_taken_up_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.bin");
    let (outcome, server, _) = fetch(Manner::Stalls { after: 100_000, times: 1 }, &path);
    outcome.unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), content());
    assert_eq!(*server.asked.lock().unwrap(), [0, 100_000]);
}

#[test]
fn a_download_that_stalls_for_good_ends_with_an_error_and_keeps_what_came() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.bin");
    let (outcome, _, _) = fetch(Manner::Stalls { after: 10_000, times: 99 }, &path);
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("after 40000 of 300000 bytes (the next attempt continues there)"), "{error}");
    assert!(error.contains("timeout"), "{error}");
    assert_eq!(std::fs::metadata(folder.path().join("file.bin.part")).unwrap().len(), 40_000);
}

#[test]
fn a_server_without_ranges_is_asked_from_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.bin");
    std::fs::write(folder.path().join("file.bin.part"), &content()[..1000]).unwrap();
    let (outcome, _, _) = fetch(Manner::Whole, &path);
    outcome.unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), content());
}

#[test]
fn a_wrong_checksum_is_an_error_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.bin");
    let (outcome, _, _) = fetch(Manner::Lies, &path);
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("has another checksum than published: SHA-256 "), "{error}");
    assert!(!path.exists() && !folder.path().join("file.bin.part").exists());
}

#[test]
fn a_damaged_beginning_from_an_earlier_attempt_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.bin");
    std::fs::write(folder.path().join("file.bin.part"), vec![7; 1000]).unwrap();
    let (outcome, _, _) = fetch(Manner::Good, &path);
    assert!(outcome.unwrap_err().to_string().contains("has another checksum"));
    let (outcome, _, _) = fetch(Manner::Good, &path);
    outcome.unwrap();
}

#[test]
fn too_many_bytes_and_bad_statuses_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.bin");
    let (outcome, _, _) = fetch(Manner::Endless, &path);
    assert!(outcome.unwrap_err().to_string().contains("sends more than the 300000 bytes it should have"));
    let (outcome, _, _) = fetch(Manner::Status(404), &path);
    assert!(outcome.unwrap_err().to_string().contains("answered with HTTP status 404"));
    assert!(!path.exists());
}

#[test]
fn the_next_address_is_tried() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.bin");
    let (bad, good) = (serve(content(), Manner::Status(500)), serve(content(), Manner::Good));
    let sha256 = hash(&content());
    let remote = Remote { urls: &[&bad.url, &good.url], sha256: &sha256, bytes: 300_000 };
    download(remote, &path, &mut |_| {}).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), content());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said_with_the_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.bin");
    std::os::unix::fs::symlink("/dev/full", folder.path().join("file.bin.part")).unwrap();
    let (outcome, _, _) = fetch(Manner::Good, &path);
    let error = outcome.unwrap_err();
    assert!(
        matches!(&error, DataError::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull),
        "{error}"
    );
    assert!(error.to_string().contains("file.bin.part: cannot write"), "{error}");
    assert!(!path.exists());
}

/// Not a test of its own: what a second process runs.
#[test]
fn as_another_process() {
    let (Ok(url), Ok(path)) = (std::env::var("TARES_TEST_URL"), std::env::var("TARES_TEST_PATH")) else { return };
    let sha256 = hash(&content());
    download(Remote { urls: &[&url], sha256: &sha256, bytes: 300_000 }, Path::new(&path), &mut |_| {}).unwrap();
}

#[test]
fn two_processes_at_once_transfer_the_file_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.bin");
    let server = serve(content(), Manner::Slow);
    let start = || {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "as_another_process"])
            .env("TARES_TEST_URL", &server.url)
            .env("TARES_TEST_PATH", &path)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let children = [start(), start()];
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(std::fs::read(&path).unwrap(), content());
    assert_eq!(server.asked.lock().unwrap().len(), 1);
}
