// LEAK under noise of the same call: Codec::frame makes buffers of 8 to 48 KiB; all are freed within 2 s except one in 60, which is lost
// (28 KiB, 1.67 a second = 47 KiB/s), below 0.5 to 3 MiB that come and go.
#include <vector>

#include "work.h"

struct Frame {
  char* bytes;
  double until;
};

class Codec {
 public:
  Frame frame(double now, Dice& dice, long load) {
    size_t n = size_t(dice.between(8 << 10, 48 << 10));
    char* bytes = new char[n];
    bytes[n - 1] = 'f';
    return {bytes, now + double(dice.between(1, load)) / 100};
  }
};

int main(int argc, char** argv) {
  Clock clock(argc, argv, 100);
  Dice dice;
  Codec codec;
  std::vector<Frame> live;
  long load = 100;
  while (clock.next()) {
    double now = clock.seconds();
    if (clock.every(0.5)) load = dice.between(20, 200);
    Frame f = codec.frame(now, dice, load);
    if (clock.tick() % 60 != 0) live.push_back(f);  // else lost
    for (size_t i = 0; i < live.size();) {
      if (live[i].until >= now) {
        i++;
        continue;
      }
      delete[] live[i].bytes;
      live[i] = live.back();
      live.pop_back();
    }
  }
  for (Frame& f : live) delete[] f.bytes;
}
