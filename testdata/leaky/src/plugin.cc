// libplugin.so: loaded with dlopen a few seconds after the start.
//
// LEAK 2 (40 KiB/s at 160 calls/s): Tracker::record pushes a 248-byte Event
// on a list (node: 256 bytes) that nothing ever trims.
#include <cstring>
#include <forward_list>
#include <string>
#include <unordered_map>

#include "tracker.h"

namespace plugin {

struct Event {
  uint64_t seq;
  uint32_t session;
  uint32_t code;
  char note[232];
};
static_assert(sizeof(Event) == 248, "one list node is 256 bytes");

class Tracker : public Sink {
 public:
  Tracker() { codes_.reserve(256); }
  __attribute__((noinline)) void record(uint32_t session, uint32_t code) override;

 private:
  __attribute__((noinline)) const std::string& describe(uint32_t code);

  uint64_t seq_ = 0;
  std::forward_list<Event> events_;
  std::unordered_map<uint32_t, std::string> codes_;  // stable: 64 entries
};

const std::string& Tracker::describe(uint32_t code) {
  auto it = codes_.find(code);
  if (it == codes_.end()) {
    it = codes_.emplace(code, std::string(48, static_cast<char>('A' + code % 26))).first;
  }
  return it->second;
}

void Tracker::record(uint32_t session, uint32_t code) {
  const std::string& text = describe(code % 64);
  Event e{};
  e.seq = ++seq_;
  e.session = session;
  e.code = code;
  std::strncpy(e.note, text.c_str(), sizeof(e.note) - 1);
  events_.push_front(e);
  if (events_.front().seq != seq_) __builtin_trap();  // keep the frame alive after the call
}

}  // namespace plugin

extern "C" plugin::Sink* plugin_create() { return new plugin::Tracker; }
