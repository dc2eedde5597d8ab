// Holds blocks by local variables. See locals.cc.
use std::collections::HashMap;
use std::hint::black_box;

struct Message {
    text: Vec<u8>,
}

struct Broker {
    queue: Vec<Box<Message>>,
    by_name: HashMap<u32, Box<Message>>,
}

fn message() -> Box<Message> {
    Box::new(Message { text: vec![1; 100] })
}

fn show<T>(thread: &str, function: &str, variable: &str, typ: &str, steps: &str, address: *const T) {
    println!("{thread}\t{function}\t{variable}\t{typ}\t{steps}\t{address:p}");
}

#[inline(never)]
fn run(thread: &str, ready: impl Fn()) {
    let mut broker = Broker { queue: Vec::new(), by_name: HashMap::new() };
    black_box(&mut broker);
    for i in 0..50 {
        broker.queue.push(message());
        broker.by_name.insert(i, message());
    }
    show(thread, "locals::run", "broker.queue", "Vec<Box<locals::Message>>", "[…] locals::Message|.text Vec<u8> (100)", broker.queue[20].text.as_ptr());
    ready();
    loop {
        std::thread::park();
        black_box(&mut broker);
    }
}

fn main() {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::Builder::new()
        .name("server".into())
        .spawn(move || run("server", || sender.send(()).unwrap()))
        .unwrap();
    receiver.recv().unwrap();
    let mut last = message();
    black_box(&mut last);
    show("locals", "locals::main", "last", "Box<locals::Message>", " locals::Message|.text Vec<u8> (100)", last.text.as_ptr());
    run("locals", || println!("ready"));
    black_box(&mut last);
}
