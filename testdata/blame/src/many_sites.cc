// LEAK: render traces a new page each time, as a compiler does that is called with ever new shapes. The nodes of the page
// are of 200 types, each of which is allocated by a function of its own, and all of them are kept: 200 × 160 B a page, 8
// pages a second, 250 KiB/s. No function leaks more than a hundredth of that. Beside it a log of 24 lines of 24 KiB, and
// 64 tables that are loaded once.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

struct Page {
  std::vector<void *> nodes;
};

static std::vector<Page *> kept;
static std::vector<std::string> journal;
static std::vector<void *> tables;

template <int N> __attribute__((noinline)) void trace(Page *page) {
  void *node = std::malloc(144 + N % 32);
  std::memset(node, N, 144);
  page->nodes.push_back(node);
}

template <int... N> std::vector<void (*)(Page *)> tracers_of(std::integer_sequence<int, N...>) { return {&trace<N>...}; }

static const std::vector<void (*)(Page *)> tracers = tracers_of(std::make_integer_sequence<int, 200>());

__attribute__((noinline)) void trace_page(Page *page) {
  for (auto tracer : tracers) tracer(page);
}

__attribute__((noinline)) void render() {
  Page *page = new Page;
  page->nodes.reserve(tracers.size());
  trace_page(page);
  kept.push_back(page);
}

__attribute__((noinline)) void append_line(int n) {
  if (journal.size() == 24) journal.erase(journal.begin());
  journal.emplace_back(24 << 10, char('a' + n % 26));
}

__attribute__((noinline)) void load_tables() {
  for (int i = 0; i < 64; i++) tables.push_back(std::calloc(1, 16 << 10));
}

__attribute__((noinline)) void step(int n) {
  render();
  append_line(n);
}

int main() {
  load_tables();
  for (int n = 0;; n++) {
    step(n);
    usleep(125000);
  }
}
