// A REST API: headway::http reads what an answer says about the limit, whatever the spelling.

#include <headway/driver/blocking.hpp>
#include <headway/http/advice.hpp>
#include <headway/http/classify.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace {

struct response {
  int status;
  std::vector<headway::http::field> fields;
};

/// Stands for an HTTP client of yours: every fifth answer says "not now".
response fetch(int item) {
  static int calls = 0;
  std::printf("GET /items/%d\n", item);
  if (++calls % 5 == 0) return {429, {{"retry-after-ms", "20"}}};
  return {200, {{"X-RateLimit-Remaining", "7"}}};
}

headway::attempt_result judge(response const& answer) {
  auto const now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  auto const said = headway::http::advice_of(answer.fields, now);
  return {.what = headway::http::classify(answer.status),
          .advice = {.retry_after = said.retry_after},
          .may_retry = said.should_retry.value_or(true)};  // it was a GET
}

}  // namespace

int main() {
  headway::throttled api;
  int served = 0;
  for (int item = 0; item < 20; ++item)
    served += api.call([&] { return fetch(item); }, judge).status == 200;
  auto const m = api.metrics();
  std::printf("%d served, %lld throttled\n", served, static_cast<long long>(m.throttled));
  return served == 20 && m.throttled == 4 ? 0 : 1;
}
