// LEAK that begins late: after 26 s the upstream server closes each connection, and Upstream::connect makes a new one (3 KiB, 60 a second =
// 180 KiB/s) without freeing the one before.
#include <vector>

#include "work.h"

struct Connection {
  char buffer[3072];
  bool open = true;
};

class Upstream {
 public:
  ~Upstream() { delete connection_; }
  std::string ask(const std::string& question) {
    if (connection_ == nullptr || !connection_->open) connection_ = connect();
    for (size_t i = 0; i < question.size(); i++) connection_->buffer[i] = question[i];
    return std::string(connection_->buffer, question.size()) + question;
  }
  void drop() { connection_->open = false; }

 private:
  static Connection* connect() { return new Connection; }
  Connection* connection_ = nullptr;
};

int main(int argc, char** argv) {
  Clock clock(argc, argv, 180);
  Dice dice;
  Upstream upstream;
  std::vector<std::string> table;
  for (int i = 0; i < 1500; i++) table.emplace_back(2000, 't');
  size_t sum = table.size();
  while (clock.next()) {
    sum += upstream.ask(std::string(size_t(dice.between(200, 3000)), 'q')).size();
    if (clock.seconds() > 26 && clock.tick() % 3 == 0) upstream.drop();
  }
  return sum == 1;
}
