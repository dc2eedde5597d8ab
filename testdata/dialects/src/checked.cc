// checked: leaks at exit, for the heap checker (HEAPCHECK=normal), which
// tcmalloc had until 2.15. The pointers are overwritten, so nothing reaches them.
//
// Truth: audit::Journal::append loses 100 x 120 bytes, audit::Journal::open 3 x 5000.
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

namespace audit {

class Journal {
 public:
  NOINLINE void append(int i) {
    line_ = static_cast<char*>(malloc(120));
    memset(line_, i, 120);
  }
  NOINLINE void open(int i) {
    page_ = new char[5000];
    memset(page_, i, 5000);
  }
  int last() const { return line_[0] + page_[0]; }
  void forget() { line_ = page_ = nullptr; }

 private:
  char* volatile line_ = nullptr;
  char* volatile page_ = nullptr;
};

}  // namespace audit

static NOINLINE int work() {
  audit::Journal journal;
  for (int i = 0; i < 100; i++) journal.append(i);
  for (int i = 0; i < 3; i++) journal.open(i);
  int last = journal.last();
  journal.forget();
  return last;
}

static NOINLINE void wipe_stack() {
  char room[65536];
  memset(room, 0, sizeof(room));
  asm volatile("" : : "r"(room) : "memory");
}

int main() {
  int last = work();
  wipe_stack();
  return last == 12345;
}
