#include "catalog.h"

#include <cstring>

namespace shop {

namespace {
constexpr std::size_t kPages = 2560;
constexpr std::size_t kPageBytes = 16 << 10;
constexpr std::size_t kPrices = 400;
constexpr std::size_t kPriceBytes = 12 << 10;
}  // namespace

// load reads all pages, 40 MiB: they hardly differ from night to night.
void Catalog::load(Load& load) {
  const std::size_t pages = load.about(kPages, 0.5);
  pages_.reserve(kPages * 2);
  for (std::size_t i = 0; i < pages; i++) {
    Page page{std::unique_ptr<char[]>(new char[kPageBytes]), kPageBytes};
    std::memset(page.rows.get(), static_cast<int>(i), 64);
    pages_.push_back(std::move(page));
  }
}

// price makes the price lists: some 5 MiB.
void Catalog::price(Load& load) {
  prices_.reserve(kPrices * 2);
  for (std::size_t n = load.about(kPrices, 1); n > 0; n--) prices_.push_back(read(kPriceBytes));
}

Page Catalog::read(std::size_t size) {
  Page page{std::unique_ptr<char[]>(new char[size]), size};
  std::memset(page.rows.get(), 0, 64);
  return page;
}

}  // namespace shop
