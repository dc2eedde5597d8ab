// NO LEAK: a pool that starts a thread when its queue is long, up to 24; each thread keeps 256 KiB of scratch memory for its life.
// The load reaches its height after 16 s and so does the pool: 6 MiB.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "work.h"

class Scratch {
 public:
  Scratch() : memory_(new char[256 << 10]) {}
  ~Scratch() { delete[] memory_; }
  char* at(long i) { return memory_ + i % (256 << 10); }

 private:
  char* memory_;
};

class Pool {
 public:
  ~Pool() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      closed_ = true;
    }
    wake_.notify_all();
    for (auto& t : threads_) t.join();
  }
  void resize(size_t n) {
    while (threads_.size() < n) threads_.emplace_back([this] { work(); });
  }
  void submit(std::string job) {
    std::lock_guard<std::mutex> lock(mutex_);
    jobs_.push_back(std::move(job));
    wake_.notify_one();
  }

 private:
  void work() {
    Scratch scratch;
    std::unique_lock<std::mutex> lock(mutex_);
    for (long done = 0;; done++) {
      wake_.wait(lock, [this] { return closed_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      std::string job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      for (char c : compress(job)) *scratch.at(done += c) = c;
      lock.lock();
    }
  }
  static std::string compress(const std::string& job) {
    std::string out;
    for (size_t i = 0; i < job.size(); i += 2) out += job[i];
    return out;
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::string> jobs_;
  std::vector<std::thread> threads_;
  bool closed_ = false;
};

int main(int argc, char** argv) {
  Clock clock(argc, argv, 150);
  Dice dice;
  Pool pool;
  while (clock.next()) {
    double load = std::min(1.0, clock.seconds() / 16);
    pool.resize(size_t(1 + 23 * load * (2 - load)));  // quick at first
    pool.submit(std::string(dice.between(200, 4000), 'j'));
  }
}
