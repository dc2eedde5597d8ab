// NO LEAK: an LRU cache in std::unordered_map and std::list of documents of 2 KiB, 200 new ones a second.
//
//   lru_cache SECONDS fast|- 4000     full after 20 s at 8 MiB and bounded from then on
//   lru_cache SECONDS fast|- 6600     full after 33 s at 13 MiB: late in the recording
#include <list>
#include <unordered_map>
#include <vector>

#include "work.h"

struct Document {
  long id;
  std::vector<char> text;
};

class LruCache {
 public:
  explicit LruCache(size_t limit) : limit_(limit) {}

  Document& get(long id) {
    auto it = index_.find(id);
    if (it != index_.end()) {
      order_.splice(order_.begin(), order_, it->second);
      return order_.front();
    }
    order_.push_front(fetch(id));
    index_[id] = order_.begin();
    if (index_.size() > limit_) evict();
    return order_.front();
  }

 private:
  Document fetch(long id) { return Document{id, std::vector<char>(2048, char(id))}; }
  void evict() {
    index_.erase(order_.back().id);
    order_.pop_back();
  }

  size_t limit_;
  std::list<Document> order_;
  std::unordered_map<long, std::list<Document>::iterator> index_;
};

static size_t render(const Document& d) {
  std::string page(d.text.begin(), d.text.end());
  return (page + page).size();
}

int main(int argc, char** argv) {
  Clock clock(argc, argv, 300);
  Dice dice;
  LruCache cache(argc > 3 ? size_t(std::atol(argv[3])) : 4000);
  size_t sum = 0;
  for (long newest = 1; clock.next();) {
    bool fresh = !dice.one_in(3);  // 200 a second are new
    if (fresh) newest++;
    sum += render(cache.get(fresh ? newest : std::max(1L, newest - dice.between(0, 500))));
  }
  return sum == 1;
}
