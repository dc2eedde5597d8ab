// A cache of answers, least recently used first out.
#pragma once
#include <list>
#include <memory>
#include <unordered_map>

#include "load.h"

namespace shop {

template <typename Key, typename Value>
class Cache {
 public:
  explicit Cache(std::size_t limit) : limit_(limit) {}

  void insert(const Key& key, std::size_t size) {
    auto found = places_.find(key);
    if (found != places_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return;
    }
    entries_.push_front(Entry{key, std::make_unique<Value>(size)});
    places_[key] = entries_.begin();
    if (entries_.size() > limit_) {
      places_.erase(entries_.back().key);
      entries_.pop_back();
    }
  }

 private:
  struct Entry {
    Key key;
    std::unique_ptr<Value> value;
  };

  std::size_t limit_;
  std::list<Entry> entries_;
  std::unordered_map<Key, typename std::list<Entry>::iterator> places_;
};

}  // namespace shop
