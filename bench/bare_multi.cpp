// The floor under `headway run`: libcurl's multi interface and nothing else. It keeps IN_FLIGHT
// requests out, reads no file, writes none, and forgets every answer.
//
//   bare_multi REQUESTS IN_FLIGHT URL

#include <curl/curl.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

std::size_t discard(char*, std::size_t size, std::size_t count, void*) {
  return size * count;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  int const requests = std::atoi(argv[1]);
  int const in_flight = std::atoi(argv[2]);
  std::string const url = argv[3];

  curl_global_init(CURL_GLOBAL_DEFAULT);
  CURLM* const multi = curl_multi_init();
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, 10'000L);
  std::vector<CURL*> handles;
  int started = 0;
  auto const start = [&](CURL* easy) {
    curl_easy_setopt(easy, CURLOPT_URL, (url + std::to_string(++started)).c_str());
    curl_multi_add_handle(multi, easy);
  };
  auto const began = std::chrono::steady_clock::now();
  for (int i = 0; i < in_flight; ++i) {
    handles.push_back(curl_easy_init());
    curl_easy_setopt(handles.back(), CURLOPT_WRITEFUNCTION, discard);
    start(handles.back());
  }
  int failed = 0;
  for (int done = 0; done < requests;) {
    int running = 0;
    curl_multi_perform(multi, &running);
    int left = 0;
    while (auto const* message = curl_multi_info_read(multi, &left)) {
      auto* const easy = message->easy_handle;
      long status = 0;
      curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
      failed += status != 200;
      ++done;
      curl_multi_remove_handle(multi, easy);
      if (started < requests) start(easy);
    }
    if (done < requests) curl_multi_poll(multi, nullptr, 0, 100, nullptr);
  }
  auto const seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  for (auto* easy : handles) curl_easy_cleanup(easy);
  curl_multi_cleanup(multi);
  curl_global_cleanup();
  fmt::print("{:.0f}\n", requests / seconds);
  return failed > 0 ? 1 : 0;
}
