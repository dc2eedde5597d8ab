// LEAK: parent and child hold each other by std::shared_ptr; 120 documents a second with a body of 500 to 1,100 B, together some 115 KiB/s.
#include <memory>
#include <vector>

#include "work.h"

struct Document;

struct Chapter {
  std::shared_ptr<Document> of;
  std::string title;
};

struct Document {
  std::vector<std::shared_ptr<Chapter>> chapters;
  std::string body;
};

class Reader {
 public:
  size_t open(Dice& dice) {
    auto d = std::make_shared<Document>();
    d->body = std::string(size_t(dice.between(500, 1100)), 'b');
    d->chapters.push_back(chapter(d));
    return d->body.size();
  }

 private:
  static std::shared_ptr<Chapter> chapter(const std::shared_ptr<Document>& d) {
    auto c = std::make_shared<Chapter>();
    c->of = d;
    c->title = d->body.substr(0, 40);
    return c;
  }
};

int main(int argc, char** argv) {
  Clock clock(argc, argv, 120);
  Dice dice;
  Reader reader;
  size_t sum = 0;
  while (clock.next()) sum += reader.open(dice);
  return sum == 1;
}
