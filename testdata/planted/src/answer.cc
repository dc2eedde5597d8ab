#include "answer.h"

#include <cstring>

namespace shop {

Answer::Answer(std::size_t n) : text(new char[n]), size(n) { std::memset(text.get(), 0, 64); }

}  // namespace shop
