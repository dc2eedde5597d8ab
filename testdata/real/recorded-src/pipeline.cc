// Four threads take jobs from a queue: std::thread, std::invoke, std::function and std::packaged_task are between a job and main.
//   pipeline lose   LEAK: Results::publish keeps a result of 2,000 B of every tenth job by its number: 40 a second, 78 KiB/s.
//   pipeline keep   no leak: it deletes those that are older than 600 results.
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <vector>

#include "work.h"

class Results {
 public:
  explicit Results(bool keeps) : keeps_(keeps) {}
  __attribute__((noinline)) void publish(long n) {
    std::lock_guard<std::mutex> lock(mutex_);
    results_[n] = std::make_shared<std::string>(2000, char('a' + n % 26));
    if (keeps_ && results_.size() > 600) results_.erase(results_.begin());
  }

 private:
  bool keeps_;
  std::mutex mutex_;
  std::map<long, std::shared_ptr<std::string>> results_;
};

class Queue {
 public:
  void push(std::packaged_task<size_t()> job) {
    std::lock_guard<std::mutex> lock(mutex_);
    jobs_.push(std::move(job));
    ready_.notify_one();
  }
  std::packaged_task<size_t()> pop() {
    std::unique_lock<std::mutex> lock(mutex_);
    ready_.wait(lock, [this] { return !jobs_.empty(); });
    auto job = std::move(jobs_.front());
    jobs_.pop();
    return job;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::queue<std::packaged_task<size_t()>> jobs_;
};

class Worker {
 public:
  explicit Worker(Queue& queue) : queue_(queue) {}
  void run(int) {
    for (;;) queue_.pop()();
  }

 private:
  Queue& queue_;
};

int main(int argc, char** argv) {
  Results results(argc > 1 && std::string(argv[1]) == "keep");
  Queue queue;
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) {
    workers.push_back(std::make_unique<Worker>(queue));
    threads.emplace_back(&Worker::run, workers.back().get(), i);
  }
  Clock clock(1, argv, 400);
  while (clock.next()) {
    long n = clock.tick();
    std::function<size_t()> job = [n, &results] {
      std::string text(size_t(1000 + n * 977 % 9000), 'j');
      if (n % 10 == 0) results.publish(n);
      return text.size();
    };
    queue.push(std::packaged_task<size_t()>(job));
  }
  return 0;
}
