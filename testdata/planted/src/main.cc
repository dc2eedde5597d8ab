// shopd SEED [BURSTS]: serves so many bursts of requests (default 12) and asks the recording allocator for a snapshot after each.
#include <cstdlib>

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
  for (int bursts = argc > 2 ? std::atoi(argv[2]) : 12; bursts > 0; bursts--) {
    server.serve();
    snapshot();
  }
  std::_Exit(0);  // as a service ends: without giving back what it has
}
