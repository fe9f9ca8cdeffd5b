// A request by libcurl's easy interface, and what its answer teaches: for the clients of these
// tests.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>

#include "headway/governor.hpp"

namespace headway::test {

struct reply {
  long status = 0;  // 0: no answer
  curl_off_t retry_after = 0;
};

/// A connection of its own.
class browser {
 public:
  browser() : easy_(curl_easy_init(), curl_easy_cleanup) {
    curl_easy_setopt(easy_.get(), CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(
        easy_.get(), CURLOPT_WRITEFUNCTION,
        +[](char*, std::size_t size, std::size_t n, void*) { return size * n; });
  }
  reply fetch(std::string const& url) {
    auto* const easy = easy_.get();
    reply r;
    curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
    if (curl_easy_perform(easy) != CURLE_OK) return r;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &r.status);
    curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &r.retry_after);
    return r;
  }

 private:
  std::unique_ptr<CURL, void (*)(CURL*)> easy_;
};

inline attempt_result judge(reply const& r) {
  if (r.status == 200) return {};
  if (r.status != 429) return {.what = outcome::failure};
  attempt_result throttled{.what = outcome::throttle};
  if (r.retry_after > 0) throttled.advice.retry_after = std::chrono::seconds(r.retry_after);
  return throttled;
}

}  // namespace headway::test
