// A service that loses memory in three ways, and keeps memory in three others. At each of the ten
// ticks of a second:
//
//   Client::fetch     LEAK, 160 KiB/s: every reply with an error is forgotten (16 KiB)
//   Catalog::reload   LEAK, 120 KiB/s: the std::map of the version before is forgotten with its entries
//   Editor::open      LEAK, some 40 KiB/s: document and page hold each other by std::shared_ptr
//   Journal::append   LEAK, 80 KiB/s, that only a series shows: the entries are freed at the exit
//   Config::parse     lost once, at the start: 256 KiB
//   Cache::put        none: 4 MiB after 8 s, freed at the exit
//
//   service [SECONDS [fast]]    for ever without SECONDS; "fast" does not wait between ticks
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

struct Reply {
  int status;
  char body[16380];
};

class Client {
 public:
  int fetch(long tick) {
    auto* r = new Reply;
    r->status = tick % 2 ? 200 : 500;
    std::memset(r->body, 'r', sizeof r->body);
    last_ = r->body[tick % 100];
    if (r->status >= 400) return -1;  // LEAK: without delete
    int status = r->status;
    delete r;
    return status;
  }
  char last() const { return last_; }

 private:
  char last_ = 0;
};

class Catalog {
 public:
  ~Catalog() { delete items_; }
  size_t reload(long version) {
    auto* items = new std::map<long, std::string>;
    for (long i = 0; i < 80; i++) items->emplace(i, "item " + std::string(40, 'i') + std::to_string(version));
    items_ = items;  // LEAK: the one before
    return items_->size();
  }

 private:
  std::map<long, std::string>* items_ = nullptr;
};

struct Document;

struct Page {
  std::shared_ptr<Document> of;
  char text[3000];
};

struct Document {
  std::shared_ptr<Page> page;
  char title[1000];
};

class Editor {
 public:
  char open() {
    auto d = std::make_shared<Document>();
    d->page = std::make_shared<Page>();
    d->page->of = d;  // LEAK: a cycle
    return d->title[0];
  }
};

class Journal {
 public:
  void append(long tick) { entries_.push_back(std::make_unique<std::string>(8192, char('a' + tick % 26))); }
  size_t size() const { return entries_.size(); }

 private:
  std::vector<std::unique_ptr<std::string>> entries_;
};

class Cache {
 public:
  void put(long tick) { pages_[tick % 80] = std::string(52428, 'p'); }
  size_t size() const { return pages_.size(); }

 private:
  std::map<long, std::string> pages_;
};

struct Config {
  static size_t parse() {
    auto* text = static_cast<char*>(std::malloc(256 << 10));
    std::memset(text, 'c', 256 << 10);
    size_t lines = size_t(text[1000]);
    return lines;  // lost
  }
};

static size_t serve(long ticks, bool fast) {
  Client client;
  Catalog catalog;
  Editor editor;
  Journal journal;
  Cache cache;
  size_t sum = Config::parse();
  auto start = std::chrono::steady_clock::now();
  for (long tick = 0; ticks == 0 || tick < ticks; tick++) {
    if (!fast) std::this_thread::sleep_until(start + std::chrono::milliseconds(100 * tick));
    for (int i = 0; i < 2; i++) sum += size_t(client.fetch(2 * tick + i)) + size_t(client.last());
    sum += catalog.reload(tick) + size_t(editor.open());
    journal.append(tick);
    cache.put(tick);
  }
  return sum + journal.size() + cache.size();
}

int main(int argc, char** argv) {
  long seconds = argc > 1 ? std::atol(argv[1]) : 0;
  return serve(seconds * 10, argc > 2 && std::string(argv[2]) == "fast") == 1;
}
