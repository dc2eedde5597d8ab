// libshapes.so: tiles, meshes and a typed pool.
#pragma once
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace geom {

struct Point {
  double x, y;
};

struct Triangle {
  uint32_t a, b, c, material;
};

// A pool that hands out indices into a vector which grows by doubling.
template <class T>
class Pool {
 public:
  explicit Pool(size_t limit) : limit_(limit) {}
  size_t add(const T& value);
  const T& at(size_t i) const { return items_[i]; }
  size_t size() const { return items_.size(); }

 private:
  size_t limit_;
  size_t next_ = 0;
  std::vector<T> items_;
};

extern template class Pool<Point>;
extern template class Pool<Triangle>;

struct Tile {
  uint32_t id;
  std::vector<Point> outline;
};

// CACHE (bounded): at most `capacity` tiles of 16 KiB; the oldest leaves first.
class TileCache {
 public:
  explicit TileCache(size_t capacity);
  std::shared_ptr<const Tile> load(uint32_t id);
  void clear();
  size_t size() const { return tiles_.size(); }

 private:
  std::shared_ptr<Tile> render(uint32_t id);

  size_t capacity_;
  std::list<uint32_t> order_;
  std::unordered_map<uint32_t, std::shared_ptr<Tile>> tiles_;
};

namespace mesh {

class Builder {
 public:
  Builder();
  // Builds and drops a scratch mesh; returns a checksum.
  double tessellate(uint32_t seed);

 private:
  Pool<Point> points_;
  Pool<Triangle> triangles_;
  std::vector<double> scratch_;
};

// WARM-UP: 2 MiB in 512 rows, built once.
class Projection {
 public:
  void warm(size_t rows);
  double at(size_t row, size_t column) const { return rows_[row][column]; }

 private:
  std::vector<std::vector<double>> rows_;
};

}  // namespace mesh
}  // namespace geom
