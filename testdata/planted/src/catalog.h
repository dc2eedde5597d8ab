// The goods of the shop, in pages of rows; nearly half of the heap.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "load.h"

namespace shop {

struct Page {
  std::unique_ptr<char[]> rows;
  std::size_t size;
};

class Catalog {
 public:
  void load(Load& load);
  void price(Load& load);
  std::size_t pages() const { return pages_.size(); }

 private:
  Page read(std::size_t size);

  std::vector<Page> pages_;
  std::vector<Page> prices_;
};

}  // namespace shop
