// sampler DIRECTORY: linked with -ltcmalloc.
//
// Writes what MallocExtension knows, four times, 2 s apart, as
// DIRECTORY/sample.000N.heap (GetHeapSample) and
// DIRECTORY/growth.000N.growth (GetHeapGrowthStacks).
//
// Truth: document::Index::insert keeps 2 MiB a round (4096 x 512 bytes);
// document::Blob::load keeps one of 1 MiB a round; document::Page::render
// allocates 16 MiB a round and frees it; document::Dictionary::fill 4 MiB at
// the start (512 x 8 KiB), stable.
#include <gperftools/malloc_extension.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <string>

#define NOINLINE __attribute__((noinline))

namespace document {

struct Link {
  Link* next;
  char body[504];
};

class Index {
 public:
  NOINLINE void insert(int n) {
    for (int i = 0; i < n; i++) {
      Link* l = new Link;
      memset(l->body, i, sizeof(l->body));
      l->next = first_;
      first_ = l;
    }
  }

 private:
  Link* first_ = nullptr;
};

class Blob {
 public:
  NOINLINE void load(int n) {
    parts_[n % 64] = new char[1 << 20];
    memset(parts_[n % 64], n, 1 << 20);
  }

 private:
  char* parts_[64] = {};
};

class Page {
 public:
  NOINLINE int render(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
      char* p = new char[4096];
      memset(p, i, 4096);
      sum += p[i % 4096];
      delete[] p;
    }
    return sum;
  }
};

class Dictionary {
 public:
  NOINLINE void fill() {
    for (char*& w : words_) w = static_cast<char*>(memset(new char[8192], 'w', 8192));
  }

 private:
  char* words_[512];
};

}  // namespace document

static void write(const std::string& name, const std::string& text) {
  FILE* f = fopen(name.c_str(), "w");
  if (f == nullptr) return;
  fwrite(text.data(), 1, text.size(), f);
  fclose(f);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  document::Index index;
  document::Blob blob;
  document::Page page;
  document::Dictionary dictionary;
  // tcmalloc counts down to a thread's first sample from 16 MiB when memory was
  // allocated before its flags were set, as always happens: without this line
  // nothing of the first 16 MiB, the dictionary among it, is ever sampled.
  int sum = page.render(4200);
  dictionary.fill();
  for (int round = 1; round <= 4; round++) {
    index.insert(4096);
    blob.load(round);
    sum += page.render(4096);
    char number[8];
    snprintf(number, sizeof(number), "%04d", round);
    std::string sample, growth;
    MallocExtension::instance()->GetHeapSample(&sample);
    MallocExtension::instance()->GetHeapGrowthStacks(&growth);
    write(std::string(argv[1]) + "/sample." + number + ".heap", sample);
    write(std::string(argv[1]) + "/growth." + number + ".growth", growth);
    if (round < 4) sleep(2);
  }
  return sum == 12345 ? 1 : 0;
}
