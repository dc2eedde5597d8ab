// The same as sites.cc, for Rust.
#![allow(dead_code)]
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet, LinkedList, VecDeque};
use std::rc::Rc;
use std::sync::{Arc, Mutex, OnceLock, RwLock};

mod shop {
    pub struct Order {
        pub id: u64,
        pub note: String,
    }
    pub struct Session {
        pub number: u32,
        pub history: Vec<u8>,
        pub orders: HashMap<u64, Order>,
        pub next: Option<Box<Session>>,
        pub first: Box<Order>,
    }
    use std::collections::HashMap;
    pub fn order() -> Order {
        Order { id: 1, note: "n".repeat(90) }
    }
    pub fn session() -> Session {
        Session {
            number: 1,
            history: vec![1; 200],
            orders: (0..20).map(|i| (i, order())).collect(),
            next: None,
            first: Box::new(order()),
        }
    }
}
use shop::{order, session, Order, Session};

struct State {
    used: usize,
    sessions: Vec<Session>,
    slots: [Option<Box<Order>>; 4],
}

trait Handler {
    fn run(&self) -> usize;
}
struct FileHandler {
    file: String,
}
impl Handler for FileHandler {
    fn run(&self) -> usize {
        self.file.len()
    }
}
struct Node {
    value: [u64; 4],
    next: Option<Box<Node>>,
}
enum Shape {
    Named { name: String },
    Numbered(u64),
}
struct Ring {
    other: RefCell<Option<Rc<Ring>>>,
    content: [u8; 100],
}

static VECTOR: Mutex<Vec<Session>> = Mutex::new(Vec::new());
static BOXES: Mutex<Vec<Box<Session>>> = Mutex::new(Vec::new());
static STRINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());
static MAP: OnceLock<Mutex<HashMap<String, Session>>> = OnceLock::new();
static SET: OnceLock<HashSet<String>> = OnceLock::new();
static TREE: RwLock<BTreeMap<u64, Session>> = RwLock::new(BTreeMap::new());
static DEQUE: Mutex<VecDeque<Box<Session>>> = Mutex::new(VecDeque::new());
static LIST: Mutex<LinkedList<Session>> = Mutex::new(LinkedList::new());
static ARC: OnceLock<Arc<Session>> = OnceLock::new();
static ARC_LOCK: OnceLock<Arc<Mutex<Session>>> = OnceLock::new();
static SLICE: OnceLock<Box<[Order]>> = OnceLock::new();
static HANDLER: OnceLock<Box<dyn Handler + Send + Sync>> = OnceLock::new();
static SHAPES: Mutex<Vec<Shape>> = Mutex::new(Vec::new());
static mut PLAIN: Option<Box<Session>> = None;
static mut NODES: Option<Box<Node>> = None;
static mut STATE: State = State { used: 0, sessions: Vec::new(), slots: [None, None, None, None] };

thread_local! {
    static LOCAL: RefCell<Vec<Session>> = const { RefCell::new(Vec::new()) };
}

fn show<T: ?Sized>(kind: &str, name: &str, typ: &str, steps: &str, block: *const T) {
    println!("{kind}\t{name}\t{typ}\t{steps}\t{:x}", block as *const u8 as usize);
}

#[inline(never)]
fn clean() {
    let mut b = [0u8; 64 << 10];
    std::hint::black_box(&mut b);
}

fn containers() {
    let mut v = VECTOR.lock().unwrap();
    v.extend((0..50).map(|_| session()));
    let typ = "Mutex<Vec<sites::shop::Session>>";
    show("global", "sites::VECTOR", typ, " Vec<sites::shop::Session> (50)", v.as_ptr());
    let history = v[20].history.as_ptr();
    show("global", "sites::VECTOR", typ, "[…] sites::shop::Session|.history Vec<u8> (200)", history);
    let first = &*v[21].first as *const Order;
    show("global", "sites::VECTOR", typ, "[…] sites::shop::Session|.first sites::shop::Order", first);
    let mut b = BOXES.lock().unwrap();
    b.extend((0..50).map(|_| Box::new(session())));
    let typ = "Mutex<Vec<Box<sites::shop::Session>>>";
    show("global", "sites::BOXES", typ, "[…] sites::shop::Session", &*b[33]);
    let mut s = STRINGS.lock().unwrap();
    s.extend((0..50).map(|_| "s".repeat(80)));
    show("global", "sites::STRINGS", "Mutex<Vec<String>>", "[…] String (80)", s[7].as_ptr());
    let map = MAP.get_or_init(Default::default);
    let mut m = map.lock().unwrap();
    for i in 0..50 {
        m.insert(format!("{:060}", i), session());
    }
    let one = &m[&format!("{:060}", 20)];
    let typ = "OnceLock<Mutex<HashMap<String, sites::shop::Session>>>";
    show("global", "sites::MAP", typ, "[…] sites::shop::Session|.history Vec<u8> (200)", one.history.as_ptr());
    let key = m.keys().nth(30).unwrap().as_ptr();
    show("global", "sites::MAP", typ, "[…] String (60)", key);
    let inner = one.orders[&3].note.as_ptr();
    show(
        "global",
        "sites::MAP",
        typ,
        "[…] sites::shop::Session|.orders HashMap<u64, sites::shop::Order> (20)|[…] sites::shop::Order|.note String (90)",
        inner,
    );
    let set = SET.get_or_init(|| (0..50).map(|i| format!("{:070}", i)).collect());
    show("global", "sites::SET", "OnceLock<HashSet<String>>", "[…] String (70)", set.iter().nth(9).unwrap().as_ptr());
    let mut t = TREE.write().unwrap();
    for i in 0..500 {
        t.insert(i, session());
    }
    let typ = "RwLock<BTreeMap<u64, sites::shop::Session>>";
    let with = "[…] sites::shop::Session|";
    show("global", "sites::TREE", typ, &format!("{with}.history Vec<u8> (200)"), t[&100].history.as_ptr());
    show("global", "sites::TREE", typ, &format!("{with}.first sites::shop::Order"), &*t[&499].first);
    let mut d = DEQUE.lock().unwrap();
    d.extend((0..50).map(|_| Box::new(session())));
    let typ = "Mutex<VecDeque<Box<sites::shop::Session>>>";
    show("global", "sites::DEQUE", typ, "[…] sites::shop::Session", &*d[30]);
    let mut l = LIST.lock().unwrap();
    l.extend((0..50).map(|_| session()));
    let typ = "Mutex<LinkedList<sites::shop::Session>>";
    let with = "[…] sites::shop::Session|";
    show("global", "sites::LIST", typ, &format!("{with}.history Vec<u8> (200)"), l.iter().nth(20).unwrap().history.as_ptr());
    let mut shapes = SHAPES.lock().unwrap();
    shapes.extend((0..10).map(|_| Shape::Named { name: "p".repeat(50) }));
    if let Shape::Named { name } = &shapes[5] {
        show("global", "sites::SHAPES", "Mutex<Vec<sites::Shape>>", "[…] sites::Shape|.Named.name String (50)", name.as_ptr());
    }
}

fn pointers() {
    let arc = ARC.get_or_init(|| Arc::new(session()));
    let typ = "OnceLock<Arc<sites::shop::Session>>";
    show("global", "sites::ARC", typ, " sites::shop::Session", &**arc);
    show("global", "sites::ARC", typ, " sites::shop::Session|.history Vec<u8> (200)", arc.history.as_ptr());
    let lock = ARC_LOCK.get_or_init(|| Arc::new(Mutex::new(session())));
    let history = lock.lock().unwrap().history.as_ptr();
    let typ = "OnceLock<Arc<Mutex<sites::shop::Session>>>";
    show("global", "sites::ARC_LOCK", typ, " Mutex<sites::shop::Session>|.history Vec<u8> (200)", history);
    let slice = SLICE.get_or_init(|| (0..9).map(|_| order()).collect());
    show("global", "sites::SLICE", "OnceLock<Box<[sites::shop::Order]>>", " sites::shop::Order|[…].note String (90)", slice[7].note.as_ptr());
    let handler = HANDLER.get_or_init(|| Box::new(FileHandler { file: "f".repeat(60) }));
    assert_eq!(handler.run(), 60);
    let handler = &**handler as *const (dyn Handler + Send + Sync) as *const FileHandler;
    let typ = "OnceLock<Box<(dyn sites::Handler + Send + Sync)>>";
    show("global", "sites::HANDLER", typ, " (dyn sites::Handler + Send + Sync)| ", unsafe { (*handler).file.as_ptr() });
    unsafe {
        PLAIN = Some(Box::new(session()));
        #[allow(static_mut_refs)]
        let plain = PLAIN.as_mut().unwrap();
        let typ = "Option<Box<sites::shop::Session>>";
        show("global", "sites::PLAIN", typ, " sites::shop::Session", &**plain);
        plain.next = Some(Box::new(session()));
        show("global", "sites::PLAIN", typ, " sites::shop::Session|.next sites::shop::Session", &**plain.next.as_ref().unwrap());
        let first = &*plain.first as *const Order;
        show("global", "sites::PLAIN", typ, " sites::shop::Session|.first sites::shop::Order", first);
        show("global", "sites::PLAIN", typ, " sites::shop::Session|.first sites::shop::Order|.note String (90)", plain.first.note.as_ptr());
        for _ in 0..100 {
            #[allow(static_mut_refs)]
            let next = NODES.take();
            NODES = Some(Box::new(Node { value: [1; 4], next }));
        }
        #[allow(static_mut_refs)]
        let mut n = NODES.as_ref().unwrap();
        for _ in 0..50 {
            n = n.next.as_ref().unwrap();
        }
        show("global", "sites::NODES", "Option<Box<sites::Node>>", " sites::Node +49|.next sites::Node", &**n);
        #[allow(static_mut_refs)]
        let state = &mut STATE;
        state.sessions.push(session());
        state.slots[2] = Some(Box::new(order()));
        show("global", "sites::STATE.slots[2]", "Option<Box<sites::shop::Order>>", " sites::shop::Order", &**state.slots[2].as_ref().unwrap());
        show("global", "sites::STATE.sessions", "Vec<sites::shop::Session>", "[…] sites::shop::Session|.history Vec<u8> (200)", state.sessions[0].history.as_ptr());
    }
}

#[inline(never)]
fn lose() -> Vec<usize> {
    let mut list = Vec::with_capacity(100);
    for _ in 0..20 {
        let b: &'static mut Order = Box::leak(Box::new(order()));
        list.push(!(b as *const Order as usize));
        let a = Rc::new(Ring { other: RefCell::new(None), content: [0; 100] });
        let b = Rc::new(Ring { other: RefCell::new(Some(a.clone())), content: [0; 100] });
        *a.other.borrow_mut() = Some(b);
        list.push(!(Rc::as_ptr(&a) as usize));
        list.push(!alone());
    }
    clean();
    list
}

#[inline(never)]
fn alone() -> usize {
    let own = Rc::new(Ring { other: RefCell::new(None), content: [0; 100] });
    *own.other.borrow_mut() = Some(own.clone());
    Rc::as_ptr(&own) as usize
}

#[inline(never)]
fn tell(list: &[usize]) {
    for (i, a) in list.iter().enumerate() {
        show(["lost", "cycle", "cycle"][i % 3], "", "", [" ", " | ", " | "][i % 3], !a as *const u8);
    }
}

fn main() {
    containers();
    pointers();
    let lost = std::thread::spawn(|| {
        let list = lose();
        clean();
        list
    });
    tell(&lost.join().unwrap());
    LOCAL.with_borrow_mut(|v| {
        v.push(session());
        show("thread-local", "sites::LOCAL", "RefCell<Vec<sites::shop::Session>>", "[…] sites::shop::Session|.history Vec<u8> (200)", v[0].history.as_ptr());
    });
    clean();
    println!("ready");
    loop {
        std::thread::park();
    }
}
