// A server whose clients subscribe to news. Those that leave stay subscribed; LEAK=0 removes them. The cache is
// full after two seconds.
#include <chrono>
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

struct Client {
  std::string name;
  std::vector<char> inbox = std::vector<char>(4096, 'x');
};

class News {
 public:
  void subscribe(std::shared_ptr<Client> client) { listeners_.push_back(std::move(client)); }
  void unsubscribe() { listeners_.pop_back(); }

 private:
  std::list<std::shared_ptr<Client>> listeners_;
};

class Pages {
 public:
  const std::string& render(int request) { return pages_[request % 512] = std::string(16 * 1024, 'p'); }

 private:
  std::map<int, std::string> pages_;
};

std::shared_ptr<Client> accept(int request) {
  auto client = std::make_shared<Client>();
  client->name = "client " + std::to_string(request);
  return client;
}

int main() {
  const char* setting = std::getenv("LEAK");
  const bool leak = !setting || std::string(setting) != "0";
  News news;
  Pages pages;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(12);
  for (int request = 0; std::chrono::steady_clock::now() < end; request++) {
    news.subscribe(accept(request));
    pages.render(request);
    if (!leak) news.unsubscribe();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}
