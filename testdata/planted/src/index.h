// The search index: words and their positions.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "load.h"

namespace shop {

class Index {
 public:
  void build(Load& load);

 private:
  void add(const std::string& word, Load& load);

  std::map<std::string, std::vector<std::uint32_t>> postings_;
};

}  // namespace shop
