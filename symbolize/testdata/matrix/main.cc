#include "shapes.h"

#include <algorithm>
#include <cstdio>
#include <memory>

int part_entry(const char *text);
int part_rare(int v);

namespace {

struct Square : shapes::Base {
  Square(int side) : Base(side), side(side) {}
  ~Square() override { shapes::sink = side; }
  int area() const override { return side * shapes::outer(side); }
  int side;
};

// An unlikely branch that throws: gcc -O2 moves it to checked.cold.
int checked(int n) {
  if (__builtin_expect(n < 0, 0)) {
    std::string what = "negative: " + std::to_string(n);
    throw std::runtime_error(what);
  }
  return shapes::middle(n);
}

static __attribute__((noinline)) int recursive(int n) {
  return n < 2 ? n : recursive(n - 1) + recursive(n - 2) + shapes::innermost(n);
}

// A constant argument: gcc -O2 clones it as scaled.constprop.0 or .isra.0.
static __attribute__((noinline)) int scaled(const std::vector<int> &v, int by, int offset) {
  int r = 0;
  for (std::size_t i = 0; i < v.size(); i++)
    r += v[i] * by + offset;
  return r;
}

int local_class(int n) {
  struct Local {
    int value;
    explicit Local(int v) : value(v) { shapes::sink = v; }
    ~Local() { shapes::sink = value; }
    __attribute__((noinline)) int twice() const { return value * 2 + shapes::innermost(value); }
    static __attribute__((noinline)) int of(int v) { return Local(v).twice(); }
  };
  return Local::of(n) + Local(n).twice();
}

auto lambdas(int n) {
  auto first = [n](int x) __attribute__((noinline)) { return shapes::outer(x + n); };
  auto second = [first](int x) {
    auto third = [&](auto y) { return first(int(y)) + x; };
    return third(x) + third(2.5);
  };
  return second(n);
}

int switches(int n) {
  switch (n % 7) {
  case 0:
    return shapes::innermost(n);
  case 1:
    return recursive(n % 10);
  case 2:
    return lambdas(n);
  case 3:
    return local_class(n);
  case 4:
    return checked(n);
  case 5: {
    shapes::Ring<long, 8> ring;
    ring.each([](long &v) { v += shapes::sink; });
    return int(ring.push(n));
  }
  }
  return -1;
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::unique_ptr<shapes::Base>> all;
  for (int i = 0; i < argc + 3; i++)
    all.push_back(std::make_unique<Square>(i));
  std::sort(all.begin(), all.end(), [](const auto &a, const auto &b) { return a->area() < b->area(); });

  shapes::Index<std::string> words;
  for (int i = 0; i < argc; i++)
    words << argv[i] << std::string("x");

  std::vector<int> numbers;
  for (int i = 0; i < argc * 4; i++)
    numbers.push_back(switches(i) + shapes::library_entry(i));
  int sum = words.total() + scaled(numbers, 3, 7);
  try {
    sum += checked(argc - 2) + shapes::library_throws(argc);
  } catch (const std::exception &e) {
    std::printf("%s\n", e.what());
  }
  auto counter = shapes::make_counter(sum);
  std::printf("%d %d\n", counter(1) + part_entry(argv[0]), part_rare(argc));
  return 0;
}
