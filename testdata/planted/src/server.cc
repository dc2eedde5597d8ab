#include "server.h"

namespace shop {

void Server::start() {
  catalog_.load(load_);
  catalog_.price(load_);
  index_.build(load_);
  sessions_.open(load_);
  warm();
}

// warm fills the cache of answers: 1,000 of 12 KiB, some 12 MiB.
[[gnu::noinline]] void Server::warm() {
  for (std::uint64_t i = 0; i < 1400; i++) answers_.insert({i}, 12 << 10);
}

void Server::serve() {
  sessions_.handle(load_);
  for (int i = 0; i < 30; i++) answers_.insert({load_.below(3000)}, 12 << 10);
  report();
}

// report keeps the last lines of the log.
void Server::report() {
  log_.push_back(std::string(2000 + load_.below(200), '.'));
  if (log_.size() > 8) log_.erase(log_.begin());
}

}  // namespace shop
