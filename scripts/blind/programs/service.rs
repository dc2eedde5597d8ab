// The service of service.py in Rust: service KIND CAP
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::BufRead;
use std::rc::{Rc, Weak};
use std::sync::mpsc;

trait Store {
    fn keep(&mut self, key: i64, size: usize);
    fn once(&mut self, size: usize);
    fn release(&mut self, key: i64);
}

#[derive(Default)]
struct Sessions(HashMap<i64, Vec<u8>>);

fn make_session(size: usize) -> Vec<u8> {
    vec![b's'; size] // leak: map
}

impl Store for Sessions {
    fn keep(&mut self, key: i64, size: usize) {
        self.0.insert(key, make_session(size)); // leak: map
    }
    fn once(&mut self, size: usize) {
        std::hint::black_box(make_session(size));
    }
    fn release(&mut self, key: i64) {
        self.0.remove(&key);
    }
}

#[derive(Default)]
struct History(Vec<(i64, String)>);

fn make_event(size: usize) -> String {
    "e".repeat(size) // leak: vec
}

impl Store for History {
    fn keep(&mut self, key: i64, size: usize) {
        self.0.push((key, make_event(size))); // leak: vec
    }
    fn once(&mut self, size: usize) {
        std::hint::black_box(make_event(size));
    }
    fn release(&mut self, key: i64) {
        if let Some(at) = self.0.iter().position(|e| e.0 == key) {
            self.0.remove(at);
        }
    }
}

/// Two nodes that refer to each other, until release separates them.
struct Node {
    peer: RefCell<Option<Rc<Node>>>,
    _body: Vec<u64>,
}

#[derive(Default)]
struct Graph(HashMap<i64, Weak<Node>>);

fn make_pair(size: usize) -> Rc<Node> {
    let a = Rc::new(Node { peer: RefCell::new(None), _body: vec![7; size / 8] }); // leak: rc
    let b = Rc::new(Node { peer: RefCell::new(Some(a.clone())), _body: Vec::new() }); // leak: rc
    *a.peer.borrow_mut() = Some(b);
    a
}

impl Store for Graph {
    fn keep(&mut self, key: i64, size: usize) {
        self.0.insert(key, Rc::downgrade(&make_pair(size))); // leak: rc
    }
    fn once(&mut self, size: usize) {
        make_pair(size).peer.take();
    }
    fn release(&mut self, key: i64) {
        if let Some(node) = self.0.remove(&key).and_then(|weak| weak.upgrade()) {
            node.peer.take();
        }
    }
}

/// A channel without a bound. Its receiver takes a message for each release, whatever the key.
struct Channel(mpsc::Sender<Box<[u8]>>, mpsc::Receiver<Box<[u8]>>);

fn make_message(size: usize) -> Box<[u8]> {
    vec![b'm'; size].into_boxed_slice() // leak: channel
}

impl Store for Channel {
    fn keep(&mut self, _key: i64, size: usize) {
        self.0.send(make_message(size)).unwrap(); // leak: channel
    }
    fn once(&mut self, size: usize) {
        std::hint::black_box(make_message(size));
    }
    fn release(&mut self, key: i64) {
        if key > 0 {
            let _ = self.1.try_recv();
        }
    }
}

fn note(recent: &mut HashMap<i64, Vec<String>>, slot: i64, size: usize) {
    recent.insert(slot, vec!["r".repeat(168); size / 200 + 1]);
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let cap: i64 = args[2].parse().unwrap();
    let mut store: Box<dyn Store> = match args[1].as_str() {
        "map" => Box::<Sessions>::default(),
        "vec" => Box::<History>::default(),
        "rc" => Box::<Graph>::default(),
        _ => {
            let (sender, receiver) = mpsc::channel();
            Box::new(Channel(sender, receiver))
        }
    };
    let mut recent = HashMap::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let mut words = line.split(' ');
        let op = words.next().unwrap();
        let numbers: Vec<i64> = words.map(|w| w.parse().unwrap()).collect();
        match op {
            "k" => {
                store.keep(numbers[0], numbers[1] as usize);
                if cap > 0 {
                    store.release(numbers[0] - cap);
                }
            }
            "t" => store.once(numbers[0] as usize),
            "d" => store.release(numbers[0]),
            "b" => note(&mut recent, numbers[0], numbers[1] as usize),
            _ => {}
        }
    }
}
