#include "shapes.h"

// A second unit of the program, with functions of the same names as in main.cc.
namespace {

int recursive(int n) { return n <= 0 ? shapes::innermost(n) : recursive(n - 1) + shapes::middle(n); }

template <int Depth> struct Nested {
  static int run(int v) { return Nested<Depth - 1>::run(shapes::outer(v)) + Depth; }
};
template <> struct Nested<0> {
  static int run(int v) { return v; }
};

} // namespace

static int switches(const std::string &s) {
  shapes::Index<char> letters;
  for (char c : s)
    letters.add(c, recursive(c));
  return letters.total();
}

int part_entry(const char *text) {
  shapes::Ring<int, 3> ring;
  ring.each([&](int &v) { v = switches(text); });
  return ring.push(Nested<3>::run(int(std::string(text).size())));
}

__attribute__((section(".text.rare"), noinline)) int part_rare(int v) { return shapes::outer(v); }
