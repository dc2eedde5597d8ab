#include "shapes.h"

namespace shapes {

volatile int sink;

Base::Base(int size) : memory(new int[std::size_t(size) + 1]) { sink = outer(size); }
Base::~Base() { delete[] memory; }

template struct Ring<double, 4>;
template class Index<long>;

static int hidden(int n) { return n > 0 ? middle(n) + hidden(n - 1) : innermost(n); }

int library_entry(int n) {
  Ring<double, 4> ring;
  ring.push(n);
  return hidden(n) + outer(n);
}

int library_throws(int n) {
  if (__builtin_expect(n > 100, 0))
    throw std::out_of_range("library " + std::to_string(n));
  static Index<long> index;
  index << n;
  return index.total();
}

std::function<int(int)> make_counter(int step) {
  struct Counter {
    int at;
    int operator()(int by) { return at += outer(by); }
  };
  return Counter{step};
}

} // namespace shapes

extern "C" __attribute__((visibility("default"))) int plain_c(int n) { return shapes::innermost(n); }
