// What a night's traffic asks for: everything is driven by a seed, so that no two nights are alike.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace shop {

class Load {
 public:
  explicit Load(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}

  // Uniform below n (splitmix64).
  std::uint64_t below(std::uint64_t n) {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % n;
  }

  // About n, with a standard deviation in percent; the sum of twelve uniform numbers is nearly normal.
  std::size_t about(std::size_t n, double percent) {
    double sum = -6;
    for (int i = 0; i < 12; i++) sum += static_cast<double>(below(1u << 30)) / (1u << 30);
    return static_cast<std::size_t>(static_cast<double>(n) * (1 + percent / 100 * sum));
  }

 private:
  std::uint64_t state_;
};

}  // namespace shop
