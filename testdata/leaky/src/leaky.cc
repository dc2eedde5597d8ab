// leaky: a small make-believe map server that leaks on purpose.
//
//   leaky [seconds [--drain]]
//
// Without arguments it runs until it is killed. With a number of seconds it
// returns from main after that time, keeping what it holds; with --drain it
// first frees the sessions, the cache and the churn, as a tidy program does.
//
// What it does, per second of wall-clock time (see ../../README.md):
//   LEAK 1   leaky::Session::handle -> remember<Request>()   130 KiB/s
//            100 KiB/s of it under Server::serve_http, 30 KiB/s under serve_batch
//   LEAK 2   plugin::Tracker::record (libplugin.so)           40 KiB/s
//   CACHE    geom::TileCache::render (libshapes.so)           384 KiB/s up to 6 MiB, then flat
//   CHURN    leaky::Encoder::encode                           some 4 MiB/s allocated, 1..6 MiB held
//   WARM-UP  geom::mesh::Projection::warm                     2 MiB at the start
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "shapes.h"
#include "tracker.h"

#define NOINLINE __attribute__((noinline))

// Present only when jemalloc is preloaded.
extern "C" int mallctl(const char*, void*, size_t*, void*, size_t) __attribute__((weak));

namespace leaky {

std::atomic<bool> g_stop{false};
std::atomic<plugin::Sink*> g_sink{nullptr};

// A fixed-rate loop: sleeps until the next tick of an absolute schedule, so
// that the rates below do not depend on the machine's load.
class Ticker {
 public:
  explicit Ticker(long hertz) : step_ns_(1000000000L / hertz) { clock_gettime(CLOCK_MONOTONIC, &next_); }
  bool wait() {
    next_.tv_nsec += step_ns_;
    while (next_.tv_nsec >= 1000000000L) {
      next_.tv_nsec -= 1000000000L;
      next_.tv_sec++;
    }
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next_, nullptr);
    return !g_stop.load(std::memory_order_relaxed);
  }

 private:
  long step_ns_;
  timespec next_;
};

class Random {
 public:
  explicit Random(uint64_t seed) : s_(seed) {}
  uint32_t next() {
    s_ ^= s_ << 13;
    s_ ^= s_ >> 7;
    s_ ^= s_ << 17;
    return static_cast<uint32_t>(s_ >> 16);
  }
  uint32_t below(uint32_t n) { return next() % n; }

 private:
  uint64_t s_;
};

void name_thread(const char* name) {
  pthread_setname_np(pthread_self(), name);
  if (mallctl != nullptr) mallctl("thread.prof.name", nullptr, nullptr, &name, sizeof(name));
}

// One place that builds strings, as every program has.
NOINLINE std::string label(const char* format, int n) {
  char text[128];
  std::snprintf(text, sizeof(text), format, n);
  return text;
}

// ---------------------------------------------------------------- requests

struct Request {
  uint64_t id;
  char method[8];
  char path[112];
  char body[512];
};
static_assert(sizeof(Request) == 640, "the documented rate depends on it");

// The helper that is inlined into its callers: copies a value to the heap.
template <class T>
static inline __attribute__((always_inline)) T* remember(const T& value) {
  return new T(value);
}

class Session {
 public:
  Session() = default;
  ~Session();
  NOINLINE void handle(const Request& r);
  uint64_t handled() const { return handled_; }
  size_t forget();

 private:
  uint64_t handled_ = 0;
  struct Kept {
    Request* first = nullptr;
  } kept_;
};

// LEAK 1. The request is chained through its own body and never let go.
void Session::handle(const Request& r) {
  Request* copy = remember<Request>(r);
  std::memcpy(copy->body, &kept_.first, sizeof(kept_.first));
  kept_.first = copy;
  handled_++;
}

size_t Session::forget() {
  size_t n = 0;
  while (kept_.first != nullptr) {
    Request* r = kept_.first;
    std::memcpy(&kept_.first, r->body, sizeof(kept_.first));
    delete r;
    n++;
  }
  return n;
}

Session::~Session() { forget(); }

// --------------------------------------------------------- short-lived work

// Parses a made-up header block: thousands of objects a second, none kept.
class Parser {
 public:
  NOINLINE size_t parse(const std::string& text);

 private:
  NOINLINE std::map<std::string, std::string> split(const std::string& text);
};

std::map<std::string, std::string> Parser::split(const std::string& text) {
  std::map<std::string, std::string> out;
  size_t at = 0;
  while (at < text.size()) {
    size_t colon = text.find(':', at);
    size_t end = text.find('\n', at);
    if (colon == std::string::npos || end == std::string::npos) break;
    out.emplace(text.substr(at, colon - at), text.substr(colon + 1, end - colon - 1));
    at = end + 1;
  }
  return out;
}

size_t Parser::parse(const std::string& text) {
  std::map<std::string, std::string> headers = split(text);
  size_t n = 0;
  for (const auto& h : headers) n += h.first.size() + h.second.size();
  return n;
}

// CHURN: a queue of buffers whose length wanders at random, without a trend.
class Encoder {
 public:
  explicit Encoder(uint64_t seed) : random_(seed) {}
  NOINLINE void encode(size_t bytes);
  void step();
  void drop(uint32_t n) {
    while (n-- > 0 && length_ > 0) {
      queue_[first_++ % 256].reset();
      length_--;
    }
  }

 private:
  Random random_;
  uint32_t target_ = 80;
  uint32_t ticks_ = 0;
  std::unique_ptr<char[]> queue_[256];  // a ring; `length_` of them are in use
  uint32_t first_ = 0, length_ = 0;
};

void Encoder::encode(size_t bytes) {
  std::unique_ptr<char[]> buffer(new char[bytes]);
  std::memset(buffer.get(), 0x5a, bytes);
  queue_[(first_ + length_++) % 256] = std::move(buffer);
}

void Encoder::step() {
  if (ticks_++ % 70 == 0) target_ = 30 + random_.below(130);
  encode(8192 + random_.below(57344));  // 36 KiB on average
  drop(length_ > target_ ? 3 : length_ + 6 < target_ ? 0 : 1);
}

// -------------------------------------------------- stable sites of a server

namespace config {

class Settings {
 public:
  NOINLINE void load_listen();
  NOINLINE void load_limits();
  NOINLINE void load_tls();
  NOINLINE void load_upstreams();
  size_t size() const { return values_.size(); }

 private:
  NOINLINE void set(const std::string& key, const std::string& value) { values_[key] = value; }
  std::map<std::string, std::string> values_;
};

void Settings::load_listen() {
  for (int i = 0; i < 12; i++) set(label("listen.address.%d", i), label("0.0.0.0 port %d with a backlog", 8000 + i));
}
void Settings::load_limits() {
  for (int i = 0; i < 40; i++) set(label("limits.maximum.class.%d", i), label("%d bytes for each request", i * 4096));
}
void Settings::load_tls() {
  for (int i = 0; i < 8; i++) set(label("tls.certificate.number.%d", i), std::string(1400, 'A'));
}
void Settings::load_upstreams() {
  for (int i = 0; i < 64; i++) set(label("upstream.server.number.%d", i), label("10.0.0.%d with weight 10", i));
}

}  // namespace config

namespace log {

class Writer {
 public:
  NOINLINE void open(const char* name) {
    name_ = strdup(name);
    buffer_.reset(new char[65536]);
    ring_.resize(256);
  }
  NOINLINE void line(uint32_t n) {
    ring_[n % ring_.size()] = label("GET /tiles/%d 200 in a few milliseconds", static_cast<int>(n));
  }

 private:
  char* name_ = nullptr;
  std::unique_ptr<char[]> buffer_;
  std::vector<std::string> ring_;  // bounded
};

}  // namespace log

namespace net {

struct Socket {
  int fd;
  char peer[60];
  std::vector<char> in, out;
};

class Acceptor {
 public:
  NOINLINE void prime(size_t n) {
    for (size_t i = 0; i < n; i++) {
      auto s = std::make_unique<Socket>();
      s->in.resize(4096);
      s->out.resize(8192);
      sockets_.push_back(std::move(s));
    }
  }

 private:
  std::vector<std::unique_ptr<Socket>> sockets_;
};

class Resolver {
 public:
  NOINLINE void prime() {
    for (int i = 0; i < 200; i++) names_[label("host-%d.example.internal", i)] = label("10.1.0.%d", i);
  }

 private:
  std::map<std::string, std::string> names_;
};

}  // namespace net

namespace auth {

struct User {
  std::string name, mail;
  std::vector<uint64_t> roles;
};

template <class Value>
class Directory {
 public:
  NOINLINE void fill(int n) {
    for (int i = 0; i < n; i++) {
      auto u = std::make_unique<Value>();
      u->name = label("user with the number %d", i);
      u->mail = label("user.%d@mail.example.org", i);
      u->roles.resize(i % 5);
      users_.push_back(std::move(u));
    }
  }

 private:
  std::vector<std::unique_ptr<Value>> users_;
};

class Tokens {
 public:
  NOINLINE void issue(size_t n) {
    for (size_t i = 0; i < n; i++) tokens_.push_back(std::string(96, static_cast<char>('a' + i % 26)));
    tokens_.shrink_to_fit();
  }

 private:
  std::vector<std::string> tokens_;
};

}  // namespace auth

namespace stats {

class Histogram {
 public:
  NOINLINE explicit Histogram(size_t cells) : cells_(cells, 0) {}
  void hit(size_t i) { cells_[i % cells_.size()]++; }

 private:
  std::vector<uint64_t> cells_;
};

class Registry {
 public:
  NOINLINE void declare() {
    for (auto& h : histograms_) h = new Histogram(1024);
  }
  Histogram* find(const std::string& name) { return histograms_[name.size() % 5]; }

 private:
  Histogram* histograms_[5] = {};
};

}  // namespace stats

// ------------------------------------------------------------------- server

struct Route {
  std::string prefix, root;
};

class Router {
 public:
  NOINLINE void mount(const std::string& prefix, const std::string& root) { routes_[count_++ % 16] = new Route{prefix, root}; }

 private:
  Route* routes_[16] = {};
  size_t count_ = 0;
};

class Server {
 public:
  Server() : cache_(384), encoder_(88172645463325252ULL) {}
  NOINLINE void setup();
  NOINLINE void serve_http();
  NOINLINE void serve_batch();
  NOINLINE void encode_loop();
  NOINLINE void render_loop();
  NOINLINE void load_plugin();
  NOINLINE void drain();

 private:
  NOINLINE Request read_request(uint64_t id, const char* method);

  config::Settings settings_;
  log::Writer log_;
  net::Acceptor acceptor_;
  net::Resolver resolver_;
  auth::Directory<auth::User> users_;
  auth::Tokens tokens_;
  stats::Registry stats_;
  Router router_;
  geom::TileCache cache_;
  geom::mesh::Builder builder_;
  geom::mesh::Projection projection_;
  Session http_, batch_;
  Encoder encoder_;
  std::unique_ptr<char[]> big_pages_;
};

void Server::setup() {
  settings_.load_listen();
  settings_.load_limits();
  settings_.load_tls();
  settings_.load_upstreams();
  log_.open("/var/log/leaky/access.log");
  acceptor_.prime(48);
  resolver_.prime();
  users_.fill(300);
  tokens_.issue(128);
  stats_.declare();
  for (int i = 0; i < 16; i++) router_.mount(label("/route/number/%d/", i), std::string(4000, '/'));
  big_pages_.reset(new char[786432]);
  std::memset(big_pages_.get(), 1, 786432);
  projection_.warm(512);
}

Request Server::read_request(uint64_t id, const char* method) {
  Request r{};
  r.id = id;
  std::strncpy(r.method, method, sizeof(r.method) - 1);
  std::snprintf(r.path, sizeof(r.path), "/tiles/%llu", static_cast<unsigned long long>(id));
  return r;
}

// 160 requests of 640 bytes a second: 100 KiB/s.
void Server::serve_http() {
  name_thread("leaky-http");
  Parser parser;
  const std::string text =
      "host: tiles.example.org and some more\naccept: image/png, image/webp, */*\n"
      "user-agent: a browser with a rather long name\ncookie: session=0123456789abcdef0123456789abcdef\n";
  Ticker ticker(160);
  for (uint64_t n = 0; ticker.wait(); n++) {
    parser.parse(text);
    http_.handle(read_request(n, "GET"));
    plugin::Sink* sink = g_sink.load(std::memory_order_acquire);
    if (sink != nullptr) sink->record(1, static_cast<uint32_t>(n));  // 160 x 256 bytes a second: 40 KiB/s
    log_.line(static_cast<uint32_t>(n));
    stats_.find("requests_total_of_the_http_listener")->hit(n);
  }
}

// 48 requests of 640 bytes a second: 30 KiB/s.
void Server::serve_batch() {
  name_thread("leaky-batch");
  Ticker ticker(48);
  for (uint64_t n = 0; ticker.wait(); n++) {
    batch_.handle(read_request(n, "POST"));
    builder_.tessellate(static_cast<uint32_t>(n));
  }
}

void Server::encode_loop() {
  name_thread("leaky-encode");
  Ticker ticker(116);
  while (ticker.wait()) encoder_.step();
}

// 24 tiles of 16 KiB a second: the 384 places are full after 16 seconds.
void Server::render_loop() {
  name_thread("leaky-render");
  Ticker ticker(24);
  double sum = 0;
  for (uint32_t n = 0; ticker.wait(); n++) {
    sum += cache_.load(n)->outline[1].x;
    sum += projection_.at(n % 512, n % 512);
  }
  if (sum < 0) std::puts("never");
}

void Server::load_plugin() {
  void* handle = dlopen("libplugin.so", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    std::fprintf(stderr, "leaky: %s\n", dlerror());
    std::exit(1);
  }
  auto create = reinterpret_cast<plugin_create_fn>(dlsym(handle, "plugin_create"));
  g_sink.store(create(), std::memory_order_release);
}

void Server::drain() {
  size_t n = http_.forget() + batch_.forget();
  encoder_.drop(256);
  cache_.clear();
  std::fprintf(stderr, "leaky: drained %zu requests\n", n);
}

}  // namespace leaky

int main(int argc, char** argv) {
  long seconds = argc > 1 ? std::atol(argv[1]) : 0;
  bool drain = argc > 2 && std::strcmp(argv[2], "--drain") == 0;

  leaky::name_thread("leaky-main");
  auto* server = new leaky::Server;  // never deleted, as in many a daemon
  server->setup();
  std::thread threads[] = {
      std::thread(&leaky::Server::serve_http, server),
      std::thread(&leaky::Server::serve_batch, server),
      std::thread(&leaky::Server::encode_loop, server),
      std::thread(&leaky::Server::render_loop, server),
  };

  sleep(3);
  server->load_plugin();
  for (long s = 3; seconds == 0 || s < seconds; s++) sleep(1);

  leaky::g_stop.store(true);
  for (auto& t : threads) t.join();
  if (drain) server->drain();
  return 0;
}
