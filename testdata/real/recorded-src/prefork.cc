// A server that forks three workers, which answer 100 requests a second each.
//   prefork lose   LEAK: the second worker forgets every session that it opens (Worker::open_session), 4,000 B: 390 KiB/s.
//   prefork keep   no leak: every worker keeps its last 1,500 sessions (5.7 MiB, full after 15 s).
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "work.h"

class Worker {
 public:
  explicit Worker(bool keeps) : keeps_(keeps) {}
  __attribute__((noinline)) void open_session(long n) {
    char* session = new char[4000];
    std::memset(session, int(n % 251), 4000);
    if (!keeps_) {
      last_ = session;  // the one before is lost
      return;
    }
    sessions_.emplace_back(session);
    if (sessions_.size() > 1500) sessions_.pop_front();
  }
  __attribute__((noinline)) size_t answer(Dice& dice) {
    std::vector<std::string> lines;
    for (long i = dice.between(5, 60); i > 0; i--) lines.emplace_back(size_t(dice.between(20, 400)), 'l');
    return lines.size();
  }
  void serve(char** argv) {
    Clock clock(1, argv, 100);
    Dice dice;
    while (clock.next()) {
      open_session(clock.tick());
      lines_ += answer(dice);
    }
  }

 private:
  bool keeps_;
  char* last_ = nullptr;
  size_t lines_ = 0;
  std::deque<std::unique_ptr<char[]>> sessions_;
};

int main(int argc, char** argv) {
  bool loses = argc > 1 && std::string(argv[1]) == "lose";
  for (int i = 1; i <= 3; i++)
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGTERM);  // a worker ends with the server
      Worker(!(loses && i == 2)).serve(argv);
      _exit(0);
    }
  while (wait(nullptr) > 0) {
  }
  return 0;
}
