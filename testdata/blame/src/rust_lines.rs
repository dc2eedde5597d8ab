// LEAK: orders that stay in a map, 100 a second of 1.5 KiB: 150 KiB/s. Beside it a queue of the last 48 receipts of 16 KiB.
//
// The program has no standard library, so that the file with its debug information is small. The containers are those
// of every Rust program.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use core::alloc::{GlobalAlloc, Layout};

extern "C" {
    fn malloc(size: usize) -> *mut u8;
    fn realloc(old: *mut u8, size: usize) -> *mut u8;
    fn free(old: *mut u8);
    fn usleep(us: u32) -> i32;
    fn abort() -> !;
}

struct System;

unsafe impl GlobalAlloc for System {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        malloc(layout.size())
    }
    unsafe fn dealloc(&self, old: *mut u8, _: Layout) {
        free(old)
    }
    unsafe fn realloc(&self, old: *mut u8, _: Layout, size: usize) -> *mut u8 {
        realloc(old, size)
    }
}

#[global_allocator]
static ALLOCATOR: System = System;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    unsafe { abort() }
}

struct Order {
    title: String,
    items: Vec<u64>,
}

#[inline(never)]
fn take_order(orders: &mut BTreeMap<u64, Order>, id: u64) {
    let mut title = String::new();
    title.push_str("order");
    let mut items = Vec::new();
    for n in 0..150 {
        items.push(n ^ id);
    }
    orders.insert(id, Order { title, items });
}

#[inline(never)]
fn print_receipt(last: &mut VecDeque<Vec<u8>>, id: u64) {
    if last.len() == 48 {
        last.pop_front();
    }
    let mut receipt = Vec::with_capacity(16 << 10);
    receipt.resize(16 << 10, id as u8);
    last.push_back(receipt);
}

#[no_mangle]
pub extern "C" fn main() -> i32 {
    let mut orders = BTreeMap::new();
    let mut last = VecDeque::new();
    for id in 0.. {
        take_order(&mut orders, id);
        print_receipt(&mut last, id);
        if orders[&id].items.len() < orders[&id].title.len() {
            return 1;
        }
        unsafe { usleep(10_000) };
    }
    0
}
