// Threads that fetch URL/1 … URL/REQUESTS through one headway::throttled, each with libcurl's easy
// interface. For drivers_test.py. Usage: blocking_client URL THREADS REQUESTS

#include <curl/curl.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "fetch.hpp"
#include "headway/driver/blocking.hpp"

int main(int argc, char** argv) {
  if (argc != 4) return std::fprintf(stderr, "usage: %s URL THREADS REQUESTS\n", argv[0]), 2;
  curl_global_init(CURL_GLOBAL_DEFAULT);
  headway::throttled api;
  std::atomic<int> next = 1, served = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < std::stoi(argv[2]); ++i)
      threads.emplace_back([&] {
        headway::test::browser browser;
        for (int n = next++; n <= std::stoi(argv[3]); n = next++) {
          auto const url = argv[1] + ("/" + std::to_string(n));
          served +=
              api.call([&] { return browser.fetch(url); }, headway::test::judge).status == 200;
        }
      });
  }
  auto const m = api.metrics();
  std::printf("%d served, %lld sent, %lld throttled\n", served.load(),
              static_cast<long long>(m.sent), static_cast<long long>(m.throttled));
}
