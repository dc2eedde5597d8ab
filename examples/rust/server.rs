// A server that remembers every session by its number. LEAK=0 forgets them. The cache is full after two seconds.
use std::collections::HashMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

struct Session {
    data: Vec<u8>,
}

#[inline(never)]
fn open_session(request: u64) -> Session {
    Session { data: vec![request as u8; 4096] }
}

#[inline(never)]
fn render(request: u64) -> Vec<u8> {
    vec![request as u8; 16 * 1024]
}

fn main() {
    let leak = std::env::var("LEAK").map_or(true, |setting| setting != "0");
    let mut sessions = HashMap::new();
    let mut pages = HashMap::new();
    let mut bytes = 0;
    let start = Instant::now();
    for request in 0.. {
        if start.elapsed() > Duration::from_secs(12) {
            break;
        }
        let session = open_session(request);
        bytes += session.data.len();
        sessions.insert(request, session);
        pages.insert(request % 512, render(request));
        if !leak {
            sessions.remove(&request);
        }
        sleep(Duration::from_millis(2));
    }
    println!("{} sessions, {} bytes", sessions.len(), bytes);
}
