// The program that convert.sh records: a simulated shop of many units. Each unit has its own
// container templates, so the debug information is large and memory is allocated on thousands of
// call paths.
//
// The file is compiled once per unit with -DUNIT=k -DLEVELS=l -DLAYERS=m, and once without UNIT for
// main(). A request passes through a binary tree of template functions (Stage) to a shelf of the
// unit, which stores it. As in real programs, the helpers of a shelf are inlined, and the stages
// call each other through std::function.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#define NOINLINE __attribute__((noinline))

namespace shop {

struct Request {
  std::uint64_t id;
  std::string customer;
};

// Service is the interface of a unit.
struct Service {
  virtual ~Service() = default;
  virtual std::size_t online(const Request& r) = 0;
  virtual std::size_t retry(const Request& r) = 0;
  virtual std::size_t batch(const std::vector<Request>& rs) = 0;
};

std::vector<std::unique_ptr<Service>>& services();

}  // namespace shop

#ifdef UNIT

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

namespace shop::JOIN(unit, UNIT) {

enum Route { Online, Retry, Batch, Routes };

template <int N>
struct Item {
  std::uint64_t id;
  std::array<char, 24 + 8 * ((N + UNIT) % 31)> payload;
};

// Shelf stores items in several kinds of containers, each of which allocates at a different site.
template <int N>
class Shelf {
  std::vector<Item<N>> rows_;
  std::map<std::string, std::unique_ptr<Item<N>>> index_;
  std::unordered_map<std::uint64_t, std::list<Item<N>>> buckets_;
  std::deque<std::pair<std::string, Item<N>>> log_;

  static Item<N> make(const Request& r) { return Item<N>{r.id * (N + 1), {}}; }

  std::size_t append(const Request& r) {
    rows_.push_back(make(r));
    return rows_.size();
  }
  std::size_t file(const Request& r) {
    auto key = r.customer + "/" + std::to_string(r.id);
    index_[key] = std::make_unique<Item<N>>(make(r));
    return index_.size();
  }
  std::size_t spread(const Request& r) {
    buckets_[r.id % 97].push_back(make(r));
    return buckets_.size();
  }
  std::size_t note(const Request& r) {
    log_.emplace_back("a note on the request of " + r.customer, make(r));
    return log_.size();
  }

 public:
  NOINLINE std::size_t put(const Request& r) {
    return append(r) + file(r) + spread(r) + note(r);
  }
};

template <int N>
Shelf<N>& shelf(Route route) {
  static auto* shelves = new Shelf<N>[Routes];
  return shelves[route];
}

// Stage passes a request to both stages below it. The last stage stores it on a shelf.
template <int Level, int Path>
struct Stage {
  using Step = std::function<std::size_t(const Request&)>;
  NOINLINE static std::size_t run(Route route, const Request& r) {
    const std::array<Step, 2> below = {
        [route](const Request& q) { return Stage<Level - 1, 2 * Path>::run(route, q) + 1; },
        [route](const Request& q) { return Stage<Level - 1, 2 * Path + 1>::run(route, q) + 2; },
    };
    return std::accumulate(below.begin(), below.end(), std::size_t(Path),
                           [&r](std::size_t sum, const Step& step) { return sum + step(r); });
  }
};

template <int Path>
struct Stage<0, Path> {
  NOINLINE static std::size_t run(Route route, const Request& r) { return shelf<Path>(route).put(r) + Path; }
};

// Layer adds frames above the stages. It checks the request and passes it on.
template <int Depth>
struct Layer {
  NOINLINE static std::size_t handle(Route route, const Request& r) {
    const auto next = [&] { return r.customer.empty() ? 0 : Layer<Depth - 1>::handle(route, r); };
    return next() + Depth;
  }
};

template <>
struct Layer<0> {
  NOINLINE static std::size_t handle(Route route, const Request& r) { return Stage<LEVELS, 0>::run(route, r) + 1; }
};

class Unit : public Service {
  template <int Depth>
  std::size_t each(Route route, const std::vector<Request>& rs) {
    return std::accumulate(rs.begin(), rs.end(), std::size_t(UNIT), [route](std::size_t sum, const Request& r) {
      return sum + Layer<Depth>::handle(route, r);
    });
  }
  std::size_t online(const Request& r) override { return Layer<LAYERS>::handle(Online, r) + UNIT; }
  std::size_t retry(const Request& r) override { return Layer<LAYERS - 1>::handle(Retry, r) + UNIT; }
  std::size_t batch(const std::vector<Request>& rs) override { return each<LAYERS - 2>(Batch, rs); }
};

static const bool registered = (services().push_back(std::make_unique<Unit>()), true);

}  // namespace shop::JOIN(unit, UNIT)

#else

namespace shop {

std::vector<std::unique_ptr<Service>>& services() {
  static std::vector<std::unique_ptr<Service>> list;
  return list;
}

NOINLINE static std::size_t serve(std::uint64_t round) {
  std::size_t n = 0;
  const Request r{round, "customer " + std::to_string(round)};
  for (auto& s : services()) n += s->online(r) + s->retry(r);
  return n;
}

NOINLINE static std::size_t work_off(std::uint64_t round) {
  const std::vector<Request> orders = {{2 * round, "a wholesale customer"}, {2 * round + 1, "another customer"}};
  std::size_t n = 0;
  for (auto& s : services()) n += s->batch(orders);
  return n;
}

}  // namespace shop

// Allocates in rounds for the number of seconds in argv[1], and frees nothing.
int main(int argc, char** argv) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(argc > 1 ? std::atoi(argv[1]) : 8);
  std::size_t n = 0;
  for (std::uint64_t round = 0; std::chrono::steady_clock::now() < end; round++) {
    n += shop::serve(round) + shop::work_off(round);
    std::this_thread::sleep_for(std::chrono::milliseconds(round < 4 ? 10 : 200));
  }
  std::printf("%zu\n", n);
}

#endif
