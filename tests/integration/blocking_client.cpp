// Threads that fetch URL/1 … URL/REQUESTS through one headway::throttled, each with libcurl's easy
// interface. For drivers_test.py. Usage: blocking_client URL THREADS REQUESTS

#include <curl/curl.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "headway/driver/blocking.hpp"

namespace {

struct reply {
  long status = 0;  // 0: no answer
  curl_off_t retry_after = 0;
};

reply fetch(CURL* easy, std::string const& url) {
  reply r;
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  if (curl_easy_perform(easy) != CURLE_OK) return r;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &r.status);
  curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &r.retry_after);
  return r;
}

headway::attempt_result judge(reply const& r) {
  if (r.status == 200) return {};
  if (r.status != 429) return {.what = headway::outcome::failure};
  headway::attempt_result throttled{.what = headway::outcome::throttle};
  if (r.retry_after > 0) throttled.advice.retry_after = std::chrono::seconds(r.retry_after);
  return throttled;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return std::fprintf(stderr, "usage: %s URL THREADS REQUESTS\n", argv[0]), 2;
  curl_global_init(CURL_GLOBAL_DEFAULT);
  headway::throttled api;
  std::atomic<int> next = 1, served = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < std::stoi(argv[2]); ++i)
      threads.emplace_back([&] {
        std::unique_ptr<CURL, void (*)(CURL*)> const easy(curl_easy_init(), curl_easy_cleanup);
        curl_easy_setopt(easy.get(), CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(
            easy.get(), CURLOPT_WRITEFUNCTION,
            +[](char*, std::size_t size, std::size_t n, void*) { return size * n; });
        for (int n = next++; n <= std::stoi(argv[3]); n = next++) {
          auto const url = argv[1] + ("/" + std::to_string(n));
          served += api.call([&] { return fetch(easy.get(), url); }, judge).status == 200;
        }
      });
  }
  auto const m = api.metrics();
  std::printf("%d served, %lld sent, %lld throttled\n", served.load(),
              static_cast<long long>(m.sent), static_cast<long long>(m.throttled));
}
