// A server with four threads: 60 new sessions a second of 4 to 12 KiB, which expire after 10 s.
//
//   sessions SECONDS fast|- keep     NO LEAK: 600 sessions from 10 s on, some 5 MiB
//   sessions SECONDS fast|- lose     LEAK: of each fifth session, the one that the client breaks off, the index drops the name and
//                                    not the state: 12 a second x 8 KiB = 96 KiB/s
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "work.h"

struct Session {
  explicit Session(size_t size) : state(size, 's') {}
  std::vector<char> state;
};

class Sessions {
 public:
  explicit Sessions(bool lose) : lose_(lose) {}

  void open(long id, long now, size_t size) {
    auto session = std::make_unique<Session>(size);
    std::lock_guard<std::mutex> lock(mutex_);
    live_[id] = {now, std::move(session)};
  }
  // abort ends a session before its time.
  void abort(long id) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto it = live_.find(id);
    if (it == live_.end()) return;
    if (lose_) it->second.session.release();
    live_.erase(it);
  }
  void expire(long before) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto it = live_.begin(); it != live_.end() && it->second.opened < before;) it = live_.erase(it);
  }

 private:
  struct Slot {
    long opened;
    std::unique_ptr<Session> session;
  };
  std::mutex mutex_;
  std::map<long, Slot> live_;
  bool lose_;
};

struct Job {
  long id, now;
  size_t size;
};

class Workers {
 public:
  explicit Workers(Sessions& sessions) : sessions_(sessions) {
    for (int i = 0; i < 4; i++) threads_.emplace_back([this] { serve(); });
  }
  ~Workers() {
    for (size_t i = 0; i < threads_.size(); i++) submit({-1, 0, 0});
    for (auto& t : threads_) t.join();
  }
  void submit(Job j) {
    std::unique_lock<std::mutex> lock(mutex_);
    change_.wait(lock, [this] { return jobs_.size() < 100; });
    jobs_.push_back(j);
    change_.notify_all();
  }

 private:
  void serve() {
    for (Job j = take(); j.id >= 0; j = take()) {
      login(j);
      if (j.id % 5 == 0) sessions_.abort(j.id);
    }
  }
  void login(const Job& j) {
    std::string token(500, char('a' + j.id % 26));
    sessions_.open(j.id, j.now, j.size + token.size());
  }
  Job take() {
    std::unique_lock<std::mutex> lock(mutex_);
    change_.wait(lock, [this] { return !jobs_.empty(); });
    Job j = jobs_.front();
    jobs_.pop_front();
    change_.notify_all();
    return j;
  }

  Sessions& sessions_;
  std::mutex mutex_;
  std::condition_variable change_;
  std::deque<Job> jobs_;
  std::vector<std::thread> threads_;
};

int main(int argc, char** argv) {
  Clock clock(argc, argv, 60);
  Dice dice;
  Sessions sessions(argc > 3 && std::string(argv[3]) == "lose");
  Workers workers(sessions);
  while (clock.next()) {
    workers.submit({clock.tick(), clock.tick(), size_t(dice.between(4 << 10, 12 << 10))});
    sessions.expire(clock.tick() - 600);
  }
}
