#include "parser.h"

namespace shop {

// parse makes a tree of some four nodes for a depth of 1.
std::unique_ptr<Node> Parser::parse(Load& load, int depth) {
  auto node = std::make_unique<Node>();
  node->name = word(load);
  if (depth == 0) return node;
  for (std::uint64_t n = 2 + load.below(3); n > 0; n--) node->children.push_back(parse(load, depth - 1));
  return node;
}

std::string Parser::word(Load& load) { return std::string(200 + load.below(400), 'w'); }

}  // namespace shop
