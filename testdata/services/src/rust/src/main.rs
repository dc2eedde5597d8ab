// A shop that leaks on purpose, and writes its heap profile every two seconds, as jemalloc_pprof's pprof and as jemalloc's
// own text: shop DIRECTORY PROFILES [quiet]
//
// Truth, at 400 requests a second:
//
//   LEAK   Sessions::open        a map of sessions that never end: 100/s of some 4 KiB
//   LEAK   Journal::note         a vector of lines that nobody writes out: 80/s of some 2 KiB
//   LEAK   Graph::link           nodes that keep each other alive (Arc): 80/s of some 2 KiB
//   LEAK   Feed::subscribe       tasks that wait for ever: 40/s of some 4 KiB
//   CACHE  Pages::render         an LRU of 1,500 pages of some 8 KiB, full after a third of the run
//   QUEUE  Mail::send            a channel of at most 64 letters of 8 KiB
//   CHURN  read_order            nothing kept
//
// A quiet shop has the same functions; it ends its sessions and tasks, drops its lines and unlinks its nodes.
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, Notify};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

struct Order {
    lines: Vec<String>,
}

#[inline(never)]
fn read_order(id: u64, random: &mut Random) -> Order {
    Order { lines: (0..20).map(|n| format!("order {id} line {n} article {}", random.below(10000))).collect() }
}

#[derive(Default)]
struct Sessions {
    open: HashMap<u64, Vec<u64>>,
}

impl Sessions {
    #[inline(never)]
    fn open(&mut self, id: u64, quiet: bool) {
        self.open.insert(id, (0..500).map(|n| n ^ id).collect());
        if quiet {
            self.open.remove(&id.wrapping_sub(200));
        }
    }
}

#[derive(Default)]
struct Journal {
    lines: Vec<Box<[u8]>>,
}

impl Journal {
    #[inline(never)]
    fn note(&mut self, order: &Order, quiet: bool) {
        let mut text = order.lines.join("\n").repeat(3).into_bytes();
        text.truncate(2048);
        self.lines.push(text.into_boxed_slice());
        if quiet && self.lines.len() > 100 {
            self.lines.clear();
        }
    }
}

struct Node {
    peer: Mutex<Option<Arc<Node>>>,
    weight: [u64; 120],
}

struct Graph;

impl Graph {
    #[inline(never)]
    fn link(id: u64, quiet: bool) {
        let a = Arc::new(Node { peer: Mutex::new(None), weight: [id; 120] });
        let b = Arc::new(Node { peer: Mutex::new(Some(a.clone())), weight: [id; 120] });
        *a.peer.lock().unwrap() = Some(b.clone());
        assert_eq!(a.weight[0], b.weight[0]);
        if quiet {
            *a.peer.lock().unwrap() = None;
        }
    }
}

struct Feed {
    news: Arc<Notify>,
}

impl Feed {
    #[inline(never)]
    fn subscribe(&self, id: u64, quiet: bool) {
        let news = self.news.clone();
        tokio::spawn(async move {
            let seen = vec![id; 400];
            if !quiet {
                news.notified().await;
            }
            assert_eq!(seen[0], id);
        });
    }
}

struct Pages {
    pages: lru::LruCache<u64, String>,
}

impl Pages {
    #[inline(never)]
    fn render(&mut self, id: u64, order: &Order) {
        if self.pages.get(&id).is_none() {
            self.pages.put(id, order.lines.join("<br>").repeat(11));
        }
    }
}

struct Mail {
    letters: mpsc::Sender<Vec<u8>>,
}

impl Mail {
    #[inline(never)]
    fn send(&self, id: u64) {
        let _ = self.letters.try_send(vec![id as u8; 8 << 10]);
    }
}

async fn deliver(mut letters: mpsc::Receiver<Vec<u8>>) {
    while letters.recv().await.is_some() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn write_profiles(directory: &str, n: usize) {
    let mut control = jemalloc_pprof::PROF_CTL.as_ref().unwrap().lock().await;
    std::fs::write(format!("{directory}/pprof/heap.{n:04}.pb.gz"), control.dump_pprof().unwrap()).unwrap();
    let mut text = control.dump().unwrap();
    let mut file = std::fs::File::create(format!("{directory}/text/shop.{n:04}.heap")).unwrap();
    std::io::copy(&mut text, &mut file).unwrap();
}

#[tokio::main(worker_threads = 2)]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let (directory, profiles, quiet) = (&arguments[1], arguments[2].parse().unwrap(), arguments.len() > 3);
    let mut random = Random(1);
    let (mut sessions, mut journal) = (Sessions::default(), Journal::default());
    let feed = Feed { news: Arc::new(Notify::new()) };
    let mut pages = Pages { pages: lru::LruCache::new(1500.try_into().unwrap()) };
    let (letters, box_of_letters) = mpsc::channel(64);
    let mail = Mail { letters };
    tokio::spawn(deliver(box_of_letters));

    let start = Instant::now();
    let (mut done, mut written) = (0, 0);
    while written < profiles {
        let due = start.elapsed().as_millis() as u64 * 2 / 5;
        while done < due {
            let order = read_order(done, &mut random);
            match done % 20 {
                0 | 4 | 8 | 12 | 16 => sessions.open(done / 4, quiet),
                1 | 5 | 9 | 13 => journal.note(&order, quiet),
                2 | 6 | 10 | 14 => Graph::link(done, quiet),
                3 | 7 => feed.subscribe(done, quiet),
                11 | 15 => mail.send(done),
                _ => pages.render(random.below(9000), &order),
            }
            done += 1;
        }
        if start.elapsed() >= Duration::from_secs(2 * written as u64 + 2) {
            written += 1;
            write_profiles(directory, written).await;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
