// A loop that is not ours: libcurl's multi interface, paced. Usage: example_curl_multi URL

#include <curl/curl.h>
#include <headway/driver/polled.hpp>
#include <headway/http/classify.hpp>

#include <algorithm>
#include <cstdio>
#include <unordered_map>

namespace {

std::size_t discard(char*, std::size_t size, std::size_t count, void*) {
  return size * count;
}

headway::attempt_result judge(CURL* easy, CURLcode code) {
  if (code != CURLE_OK) return {.what = headway::outcome::failure};
  long status = 0;
  curl_off_t seconds = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds);
  headway::attempt_result result{.what = headway::http::classify(static_cast<int>(status))};
  if (seconds > 0) result.advice.retry_after = std::chrono::seconds(seconds);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr headway::duration second = std::chrono::seconds(1);
  if (argc != 2) return std::fprintf(stderr, "usage: %s URL\n", argv[0]), 2;
  auto* const multi = curl_multi_init();
  headway::polled api;
  std::unordered_map<CURL*, headway::ticket> flying;
  for (int i = 0; i < 100; ++i) api.submit();

  for (int done = 0, running = 0, queued = 0; done < 100;) {
    while (auto const turn = api.next()) {
      auto* const easy = curl_easy_init();
      curl_easy_setopt(easy, CURLOPT_URL, argv[1]);
      curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, discard);
      curl_multi_add_handle(multi, easy);
      flying.emplace(easy, *turn);
    }
    curl_multi_perform(multi, &running);
    while (auto const* const message = curl_multi_info_read(multi, &queued)) {
      auto* const easy = message->easy_handle;
      auto const then = api.done(flying.extract(easy).mapped(), judge(easy, message->data.result));
      if (then.what == headway::verdict::give_up) return std::puts("gave up"), 1;
      done += then.what == headway::verdict::done;
      curl_multi_remove_handle(multi, easy);
      curl_easy_cleanup(easy);
    }
    auto const wait = std::chrono::ceil<std::chrono::milliseconds>(std::min(api.timeout(), second));
    curl_multi_poll(multi, nullptr, 0, static_cast<int>(wait.count()), nullptr);
  }
  std::puts("100 of 100");
  curl_multi_cleanup(multi);
}
