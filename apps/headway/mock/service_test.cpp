#include "mock/service.hpp"

#include <curl/curl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace headway::app {
namespace {

struct reply {
  long status = 0;
  long new_connections = 0;
  std::string headers{};
  std::string body{};

  /// The value of a header; "" without it.
  std::string operator[](std::string const& name) const {
    auto const at = headers.find(name + ": ");
    if (at == headers.npos) return "";
    auto const begin = at + name.size() + 2;
    return headers.substr(begin, headers.find('\r', begin) - begin);
  }
};

/// The service on a port of its own, and a client of one connection.
class running {
 public:
  explicit running(mock_options o) : service_(with_any_port(std::move(o))) {
    thread_ = std::thread([this] { service_.run(); });
  }
  ~running() { stop(); }
  running(running const&) = delete;
  running& operator=(running const&) = delete;

  reply ask(std::string const& target, std::string const& post = "", bool head = false) {
    reply r;
    CURL* const c = client_.get();
    curl_easy_reset(c);
    auto const url = "http://127.0.0.1:" + std::to_string(service_.port()) + target;
    curl_easy_setopt(c, CURLOPT_URL, url.c_str());
    curl_easy_setopt(c, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, 10000L);
    curl_easy_setopt(c, CURLOPT_EXPECT_100_TIMEOUT_MS, 60000L);  // only the server's word counts
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, append);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, &r.body);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, append);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, &r.headers);
    if (head) curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
    if (!post.empty()) {
      curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(post.size()));
      curl_easy_setopt(c, CURLOPT_POSTFIELDS, post.c_str());
    }
    EXPECT_EQ(curl_easy_perform(c), CURLE_OK) << target;
    curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &r.status);
    curl_easy_getinfo(c, CURLINFO_NUM_CONNECTS, &r.new_connections);
    return r;
  }

  mock_totals stop() {
    service_.stop();
    if (thread_.joinable()) thread_.join();
    return service_.totals();
  }

 private:
  static mock_options with_any_port(mock_options o) {
    o.listen.port = 0;
    return o;
  }
  static std::size_t append(char* data, std::size_t, std::size_t n, void* to) {
    static_cast<std::string*>(to)->append(data, n);
    return n;
  }

  mock_service service_;
  std::thread thread_;
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> client_{curl_easy_init(), curl_easy_cleanup};
};

mock_options with(sim::limit l) {
  mock_options o;
  o.server.limits = {std::move(l)};
  return o;
}

TEST(mock_service, serves_within_the_limit_and_throttles_beyond) {
  running mock(with(sim::fixed_window{2, 1h}));
  auto const first = mock.ask("/a\"b?c=\\");
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.body, "{\"status\":200,\"method\":\"GET\",\"target\":\"/a\\\"b?c=\\\\\"}\n");
  EXPECT_EQ(first["Date"].size(), std::string("Fri, 31 Dec 1999 23:59:59 GMT").size());
  EXPECT_EQ(mock.ask("/2", "body").body,
            "{\"status\":200,\"method\":\"POST\",\"target\":\"/2\"}\n");
  auto const third = mock.ask("/3", "", true);
  EXPECT_EQ(third.status, 429);
  EXPECT_EQ(third.body, "");
  EXPECT_EQ(third["Retry-After"], "");
  EXPECT_EQ(mock.ask("/4").new_connections, 0);
  auto const totals = mock.stop();
  EXPECT_EQ(totals.requests, 4U);
  EXPECT_EQ(totals.throttled, 2U);
  EXPECT_EQ(totals.peak_in_flight, 1U);
}

TEST(mock_service, tells_when_to_come_back) {
  using form = retry_after_form;
  for (auto const f : {form::none, form::seconds, form::date, form::milliseconds}) {
    auto options = with(sim::fixed_window{1, 20s});
    options.retry_after = f;
    options.throttle_status = 503;
    running mock(std::move(options));
    EXPECT_EQ(mock.ask("/").status, 200);
    auto const told = mock.ask("/");
    EXPECT_EQ(told.status, 503);
    double seconds = 0;
    if (f == form::seconds) {
      EXPECT_EQ(told["Retry-After"].find_first_not_of("0123456789"), std::string::npos);
      seconds = std::stod("0" + told["Retry-After"]);
    } else if (f == form::date) {
      seconds = std::difftime(curl_getdate(told["Retry-After"].c_str(), nullptr),
                              curl_getdate(told["Date"].c_str(), nullptr));
    } else if (f == form::milliseconds) {
      seconds = std::stod("0" + told["retry-after-ms"]) / 1e3;
    } else {
      EXPECT_EQ(told["Retry-After"] + told["retry-after-ms"], "");
      continue;
    }
    // 20 s less what passed since the first request; a slow machine may lose some, the date may
    // gain one.
    EXPECT_GT(seconds, 5) << told.headers;
    EXPECT_LE(seconds, 21) << told.headers;
  }
}

TEST(mock_service, waits_and_fails_as_told) {
  mock_options o;
  o.server.latency = {20ms};
  o.server.failures = 1;
  o.connect_latency = {10ms};
  running mock(std::move(o));
  auto const begin = std::chrono::steady_clock::now();
  EXPECT_EQ(mock.ask("/").status, 500);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 30ms);
  EXPECT_EQ(mock.stop().failed, 1U);
}

TEST(mock_service, shares_processors) {
  auto options = with(sim::shared{.processors = 1});
  options.server.latency = {300ms};
  options.others = 1h;  // one, at once
  auto const begin = std::chrono::steady_clock::now();
  running mock(std::move(options));
  EXPECT_EQ(mock.ask("/1").status, 200);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 600ms);  // the work of both
  EXPECT_EQ(mock.ask("/2").status, 200);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 900ms);
  EXPECT_EQ(mock.stop().late, 0U);
}

TEST(mock_service, answers_504_when_the_gateway_has_no_patience_left) {
  auto options = with(sim::shared{.processors = 1, .patience = 50ms, .drops = true});
  options.server.latency = {1h};
  running mock(std::move(options));
  auto const begin = std::chrono::steady_clock::now();
  EXPECT_EQ(mock.ask("/1").status, 504);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 50ms);
  EXPECT_EQ(mock.ask("/2").status, 504);
  auto const totals = mock.stop();
  EXPECT_EQ(totals.late, 2U);
  EXPECT_EQ(totals.failed, 0U);
  EXPECT_EQ(totals.in_flight, 0U);
}

TEST(mock_service, bounds_what_a_client_may_send) {
  running mock({});
  EXPECT_EQ(mock.ask("/", std::string(3 << 20, 'x')).status, 200);  // curl asks first: Expect
  EXPECT_EQ(mock.ask("/", std::string((16 << 20) + 1, 'x')).status, 413);
  EXPECT_EQ(mock.ask("/" + std::string(15 << 10, 'x')).status, 200);
  EXPECT_EQ(mock.ask("/" + std::string(17 << 10, 'x')).status, 431);
  EXPECT_EQ(mock.stop().requests, 2U);
}

TEST(mock_service, logs_a_line_for_each_request) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const log = open_memstream(&text, &size);
  auto options = with(sim::fixed_window{1, 1h});
  options.log = log;
  running mock(std::move(options));
  mock.ask("/one");
  mock.ask("/two", "x");
  mock.stop();
  std::fclose(log);
  std::string const lines(text, size);
  std::free(text);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2) << lines;
  EXPECT_NE(lines.find(" GET /one 200 1 "), lines.npos) << lines;
  EXPECT_NE(lines.find(" POST /two 429 1 "), lines.npos) << lines;
}

}  // namespace
}  // namespace headway::app
