// A small shop: it loads its catalog, then serves bursts of requests.
#pragma once
#include "answer.h"
#include "cache.h"
#include "catalog.h"
#include "index.h"
#include "session.h"

namespace shop {

class Server {
 public:
  explicit Server(std::uint64_t seed) : load_(seed), answers_(load_.about(1000, 2)) {}

  void start();
  void serve();

 private:
  void warm();
  void report();

  Load load_;
  Catalog catalog_;
  Index index_;
  Sessions sessions_;
  Cache<std::uint64_t, Answer> answers_;
  std::vector<std::string> log_;
};

}  // namespace shop
