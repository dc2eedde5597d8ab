// Shapes of code that symbolizers get wrong: templates, inlining three deep,
// lambdas, local classes, static functions, constructors, clones, cold parts.
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace shapes {

extern volatile int sink;

inline __attribute__((always_inline)) int innermost(int v) {
  sink = v;
  return v * 3 + sink;
}

inline __attribute__((always_inline)) int middle(int v) {
  int r = innermost(v + 1);
  return r ^ innermost(v + 2);
}

inline __attribute__((always_inline)) int outer(int v) {
  int r = 0;
  for (int i = 0; i < v; i++)
    r += middle(i);
  return r;
}

template <typename T, std::size_t N> struct Ring {
  T slots[N];
  std::size_t next;
  Ring();
  ~Ring();
  T &push(const T &v) {
    T &slot = slots[next++ % N];
    slot = v;
    return slot;
  }
  template <typename F> void each(F &&visit) {
    for (T &slot : slots)
      visit(slot);
  }
};

template <typename T, std::size_t N> Ring<T, N>::Ring() : slots(), next(0) { sink = outer(int(N)); }
template <typename T, std::size_t N> Ring<T, N>::~Ring() { sink = int(next); }

template <typename Key> class Index {
  std::map<Key, std::vector<int>> places;

public:
  void add(const Key &k, int place) { places[k].push_back(place); }
  Index &operator<<(const Key &k) {
    add(k, outer(2));
    return *this;
  }
  int total() const;
};

template <typename Key> int Index<Key>::total() const {
  int n = 0;
  for (const auto &p : places)
    n += int(p.second.size());
  return n;
}

struct Base {
  Base(int size);
  virtual ~Base();
  virtual int area() const = 0;
  int *memory;
};

int library_entry(int n);
int library_throws(int n);
std::function<int(int)> make_counter(int step);

} // namespace shapes
