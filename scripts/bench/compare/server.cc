// A server with a leak, a cache that is full after a tenth of the run, and requests of which nothing is kept. The
// argument is the number of requests.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

struct Session {
  std::string user;
  std::vector<char> data;
};

// As in most servers, nothing is freed at the exit.
std::vector<Session*>& sessions = *new std::vector<Session*>;
std::vector<std::string>& pages = *new std::vector<std::string>(8192);

__attribute__((noinline)) void open_session(int request) {
  sessions.push_back(new Session{"user " + std::to_string(request), std::vector<char>(600, 'x')});
}

__attribute__((noinline)) void cache_page(int request, int requests) {
  int page = request < requests / 10 ? request % 8192 : (request * 7919) % 8192;
  pages[page] = std::string(2048, 'p');
}

__attribute__((noinline)) size_t parse(int request) {
  std::map<std::string, std::string> fields;
  for (int i = 0; i < 12; i++)
    fields["a field with a long name " + std::to_string(i)] = "a value with a long text " + std::to_string(request);
  return fields.size();
}

int main(int, char** argv) {
  int requests = std::atoi(argv[1]);
  size_t sum = 0;
  for (int request = 0; request < requests; request++) {
    sum += parse(request);
    if (request % 2 == 0) cache_page(request / 2, requests / 2);
    if (request % 4 == 0) open_session(request);
  }
  std::printf("%zu fields, %zu sessions\n", sum, sessions.size());
}
