// LEAK under falling load: Job::start loses 600 B of each job. The load falls from 400 jobs a second to 40 over 40 s, and with it what is in flight
// (jobs live 2 s with 3 KiB, from 2.4 to 0.3 MiB) and the leak's own rate (from 234 to 23 KiB/s): 5 MiB in all, ever more slowly.
#include <deque>
#include <vector>

#include "work.h"

struct Ticket {
  char text[600];
};

class Job {
 public:
  explicit Job(double until) : until_(until) {}
  void start() {
    ticket_ = new Ticket;  // never freed
    ticket_->text[0] = 't';
    work_.assign(3 << 10, ticket_->text[0]);
  }
  double until() const { return until_; }

 private:
  double until_;
  Ticket* ticket_ = nullptr;
  std::vector<char> work_;
};

int main(int argc, char** argv) {
  Clock clock(argc, argv, 100);
  std::deque<Job> jobs;
  double due = 0;
  while (clock.next()) {
    due += (400 - 360 * std::min(1.0, clock.seconds() / 40)) / 100;
    for (; due >= 1; due--) {
      jobs.emplace_back(clock.seconds() + 2);
      jobs.back().start();
    }
    while (!jobs.empty() && jobs.front().until() < clock.seconds()) jobs.pop_front();
  }
}
