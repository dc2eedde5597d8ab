// LEAK: sessions that stay in a map, 100 a second of 3.75 KiB: 375 KiB/s. Beside it a queue of the last 64 replies of 16 KiB.
use std::collections::{HashMap, VecDeque};
use std::thread;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

struct Session {
    name: String,
    cart: Vec<u64>,
}

#[inline(never)]
fn open_session(sessions: &mut HashMap<u64, Session>, id: u64) {
    let cart = (0..480).map(|n| n ^ id).collect();
    sessions.insert(id, Session { name: format!("visitor {id}"), cart });
}

#[inline(never)]
fn reply(last: &mut VecDeque<Vec<u8>>, id: u64) {
    if last.len() == 64 {
        last.pop_front();
    }
    last.push_back(vec![id as u8; 16 << 10]);
}

fn main() {
    let mut sessions = HashMap::new();
    let mut last = VecDeque::new();
    for id in 0.. {
        open_session(&mut sessions, id);
        reply(&mut last, id);
        assert!(sessions[&id].cart.len() > sessions[&id].name.len());
        thread::sleep(Duration::from_millis(10));
    }
}
