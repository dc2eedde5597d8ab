// Answers to requests, and what they are for.
#pragma once
#include <cstdint>
#include <memory>

namespace shop {

struct Answer {
  explicit Answer(std::size_t n);
  std::unique_ptr<char[]> text;
  std::size_t size;
};

// Path is a request's path, as a number that is wide enough for all of them.
struct Path {
  std::uint64_t id;
  bool operator==(const Path& other) const { return id == other.id; }
};

}  // namespace shop

template <>
struct std::hash<shop::Path> {
  std::size_t operator()(const shop::Path& p) const { return p.id; }
};
