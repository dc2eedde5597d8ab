#include "index.h"

namespace shop {

// build indexes 900 words of some 2,000 places each: about 7 MiB.
void Index::build(Load& load) {
  const std::size_t words = load.about(900, 2);
  for (std::size_t i = 0; i < words; i++) add("word-" + std::to_string(i) + "-of-the-catalog", load);
}

void Index::add(const std::string& word, Load& load) {
  std::vector<std::uint32_t>& places = postings_[word];
  places.reserve(1900 + load.below(200));
  places.push_back(static_cast<std::uint32_t>(load.below(1u << 30)));
}

}  // namespace shop
