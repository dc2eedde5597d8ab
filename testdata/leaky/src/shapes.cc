#include "shapes.h"

#include <cmath>

namespace geom {

template <class T>
__attribute__((noinline)) size_t Pool<T>::add(const T& value) {
  if (items_.size() < limit_) {
    items_.push_back(value);
    return items_.size() - 1;
  }
  size_t at = next_++ % limit_;
  items_[at] = value;
  return at;
}

template class Pool<Point>;
template class Pool<Triangle>;

TileCache::TileCache(size_t capacity) : capacity_(capacity) { tiles_.reserve(capacity * 2); }

__attribute__((noinline)) std::shared_ptr<Tile> TileCache::render(uint32_t id) {
  auto tile = std::make_shared<Tile>();
  tile->id = id;
  tile->outline.resize(1024);  // 1024 x 16 bytes
  for (size_t i = 0; i < tile->outline.size(); i++) {
    double t = static_cast<double>(i) * 0.006135923;
    tile->outline[i] = {std::cos(t) * id, std::sin(t) * id};
  }
  return tile;
}

__attribute__((noinline)) std::shared_ptr<const Tile> TileCache::load(uint32_t id) {
  auto it = tiles_.find(id);
  if (it != tiles_.end()) return it->second;
  if (tiles_.size() >= capacity_) {
    tiles_.erase(order_.front());
    order_.pop_front();
  }
  std::shared_ptr<Tile> tile = render(id);
  tiles_.emplace(id, tile);
  order_.push_back(id);
  return tile;
}

void TileCache::clear() {
  tiles_.clear();
  order_.clear();
}

namespace mesh {

Builder::Builder() : points_(8192), triangles_(4096) {}

__attribute__((noinline)) double Builder::tessellate(uint32_t seed) {
  scratch_.assign(256, 0.0);
  std::vector<Triangle> fan(64 + seed % 64);
  double sum = 0;
  for (size_t i = 0; i < fan.size(); i++) {
    size_t p = points_.add({static_cast<double>(i), static_cast<double>(seed)});
    fan[i] = {static_cast<uint32_t>(p), static_cast<uint32_t>(p + 1), seed, 0};
    if (i % 4 == 0) triangles_.add(fan[i]);
    sum += points_.at(p).x + scratch_[i % 256];
  }
  return sum;
}

__attribute__((noinline)) void Projection::warm(size_t rows) {
  rows_.reserve(rows);
  for (size_t r = 0; r < rows; r++) {
    rows_.emplace_back(512, std::sqrt(static_cast<double>(r)));  // 4 KiB a row
  }
}

}  // namespace mesh
}  // namespace geom
