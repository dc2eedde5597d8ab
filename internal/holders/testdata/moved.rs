// Blocks that were elements of containers which keep their memory, and are held by others now: for each block a line with
// the variable that holds it, and the address.
use std::collections::*;
use std::sync::*;

struct Job {
    id: u64,
    _body: [u8; 2992],
}
type Batch = (u64, Box<Vec<Box<Job>>>);
static VEC: Mutex<Vec<Box<Job>>> = Mutex::new(Vec::new());
static DEQUE: Mutex<VecDeque<Box<Job>>> = Mutex::new(VecDeque::new());
static MAP: LazyLock<Mutex<HashMap<u64, Box<Job>>>> = LazyLock::new(Default::default);
static TREE: Mutex<BTreeMap<u64, Box<Job>>> = Mutex::new(BTreeMap::new());
static DONE: Mutex<LinkedList<Batch>> = Mutex::new(LinkedList::new());

const SOME: u64 = 700;
const LEFT: u64 = 20;
const EVERY: u64 = 10;

fn job(id: u64) -> Box<Job> {
    std::hint::black_box(Box::new(Job { id, _body: [1; 2992] }))
}

fn print(holder: &str, j: &Job) {
    if j.id % EVERY == 0 {
        println!("moved::{}\t{:p}", holder, j);
    }
}

// Longer ways lead to what is done than to what is not.
fn done(j: Box<Job>) {
    print("DONE", &j);
    DONE.lock().unwrap().push_back((1, Box::new(vec![j])));
}

fn main() {
    for i in 0..SOME {
        VEC.lock().unwrap().push(job(i));
        DEQUE.lock().unwrap().push_back(job(i));
        MAP.lock().unwrap().insert(i, job(i));
        TREE.lock().unwrap().insert(i, job(i));
    }
    for i in LEFT..SOME {
        done(VEC.lock().unwrap().pop().unwrap());
        done(DEQUE.lock().unwrap().pop_front().unwrap());
        done(MAP.lock().unwrap().remove(&i).unwrap());
        done(TREE.lock().unwrap().pop_last().unwrap().1);
    }
    for i in 0..SOME { // the ring goes round
        let j = job(i);
        print("DEQUE", &j);
        DEQUE.lock().unwrap().push_back(j);
    }
    VEC.lock().unwrap().iter().for_each(|j| print("VEC", j));
    MAP.lock().unwrap().values().for_each(|j| print("MAP", j));
    TREE.lock().unwrap().values().for_each(|j| print("TREE", j));
    println!("ready");
    loop {
        std::thread::sleep(std::time::Duration::from_secs(1000));
    }
}
