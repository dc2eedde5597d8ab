// The interface that libplugin.so implements and the main program loads.
#pragma once
#include <cstdint>

namespace plugin {

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void record(uint32_t session, uint32_t code) = 0;
};

}  // namespace plugin

extern "C" plugin::Sink* plugin_create();
using plugin_create_fn = plugin::Sink* (*)();
