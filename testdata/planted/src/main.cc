// shopd SEED [BURSTS [PAUSE]]: serves BURSTS bursts of requests (default 12). Without PAUSE, in milliseconds between bursts, it asks the
// recording allocator for a snapshot after each.
#include <chrono>
#include <cstdlib>
#include <thread>

#include "server.h"

// Both are there only under their allocator.
extern "C" {
void HeapProfilerDump(const char* reason) __attribute__((weak));                               // gperftools
int mallctl(const char* name, void* oldp, size_t* oldlenp, void* newp, size_t newlen) __attribute__((weak));  // jemalloc
}

namespace {

void snapshot() {
  if (HeapProfilerDump != nullptr) HeapProfilerDump("burst");
  if (mallctl != nullptr) mallctl("prof.dump", nullptr, nullptr, nullptr, 0);
}

}  // namespace

int main(int argc, char** argv) {
  shop::Server server(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1);
  server.start();
  const int pause = argc > 3 ? std::atoi(argv[3]) : 0;
  for (int bursts = argc > 2 ? std::atoi(argv[2]) : 12; bursts > 0; bursts--) {
    server.serve();
    if (pause == 0) snapshot();
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
  }
  std::_Exit(0);  // as a service ends: without giving back what it has
}
