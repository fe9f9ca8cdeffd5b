#include "client/transport.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace headway::app {
namespace {

/// A server with one answer for each request, in the order in which they come.
class scripted_server {
 public:
  struct answer {
    std::string text;
    bool closes = false;  ///< then
    bool early = false;   ///< at the head: the body is not read
  };

  explicit scripted_server(std::vector<answer> answers)
      : answers_(std::move(answers)),
        listening_(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const address = reinterpret_cast<sockaddr*>(&here);
    socklen_t size = sizeof here;
    if (bind(listening_, address, size) != 0 || listen(listening_, 16) != 0 ||
        getsockname(listening_, address, &size) != 0)
      throw std::runtime_error("no socket to listen at");
    origin = "http://127.0.0.1:" + std::to_string(ntohs(here.sin_port));
  }
  ~scripted_server() {
    for (auto const& [fd, c] : open_) close(fd);
    close(listening_);
  }
  scripted_server(scripted_server const&) = delete;
  scripted_server& operator=(scripted_server const&) = delete;

  /// Does what it can without waiting; writes 64 KiB at a time.
  void serve() {
    for (int fd = 0;
         (fd = accept4(listening_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;
         ++connections)
      open_[fd];
    for (auto at = open_.begin(); at != open_.end();) {
      auto& [fd, c] = *at;
      std::array<char, 65'536> block;
      for (ssize_t n = 0; (n = read(fd, block.data(), block.size())) > 0;)
        c.in.append(block.data(), static_cast<std::size_t>(n));
      if (take(c.in) && requests.size() <= answers_.size()) {
        auto const& next = answers_[requests.size() - 1];
        c.out += next.text;
        c.closes = next.closes;
      }
      if (auto const n = send(fd, c.out.data(), std::min(c.out.size(), block.size()), MSG_NOSIGNAL);
          n > 0)
        c.out.erase(0, static_cast<std::size_t>(n));
      bool const ended = c.closes && c.out.empty();
      if (ended) close(fd);
      at = ended ? open_.erase(at) : std::next(at);
    }
  }

  std::string origin;
  std::vector<std::string> requests;
  int connections = 0;

 private:
  /// Moves a whole request, head and body, from `text` to requests.
  bool take(std::string& text) {
    auto const head = text.find("\r\n\r\n");
    if (head == text.npos) return false;
    std::size_t body = 0;
    if (auto const at = text.find("Content-Length: "); at < head)
      std::from_chars(text.data() + at + 16, text.data() + head, body);
    if (requests.size() < answers_.size() && answers_[requests.size()].early) body = 0;
    if (text.size() < head + 4 + body) return false;
    requests.push_back(text.substr(0, head + 4 + body));
    text.erase(0, head + 4 + body);
    return true;
  }
  struct connection {
    std::string in, out;  ///< read of the next request; not written yet
    bool closes = false;  ///< when all is written
  };

  std::vector<answer> answers_;
  int listening_;
  std::map<int, connection> open_;  // by descriptor
};

/// A reply that outlives its callback.
struct kept {
  reply what;
  std::string body, error, obstacle;
  std::vector<std::pair<std::string, std::string>> fields;
};

class transport_test : public testing::Test {
 protected:
  using answers = std::vector<scripted_server::answer>;

  void TearDown() override { EXPECT_TRUE(replies.empty()) << "more replies than attempts"; }

  transport& with(transport_options options = {}) {
    auto const head = [](std::uint64_t, reply const&) { return true; };
    return wire.emplace(
        events, std::move(options), head, [this](std::uint64_t key, reply const& r) {
          auto& k = replies[key];
          k = {r, std::string(r.body), std::string(r.error), std::string(r.obstacle), {}};
          for (auto const& f : r.fields) k.fields.emplace_back(f.name, f.value);
        });
  }
  /// Waits for the reply of `key`; at most half a minute.
  kept reply_of(std::uint64_t key, scripted_server* server = nullptr) {
    for (auto const end = clock_now() + 30s; !replies.contains(key) && clock_now() < end;) {
      for (auto const& e : events.wait(std::min(wire->wakeup(), clock_now() + 1ms))) wire->ready(e);
      most_bytes = std::max(most_bytes, wire->body_bytes());
      if (server != nullptr) server->serve();
      wire->flush([] { return true; });
    }
    auto const found = replies.extract(key);
    if (found.empty()) throw std::runtime_error("no reply");
    return found.mapped();
  }
  /// Sends one request to a server of this one answer.
  kept once(answers script, attempt a = {.url = {}, .method = "GET"}) {
    scripted_server server(std::move(script));
    auto const url = server.origin + "/a";
    a.url = url;
    if (!wire) with();
    wire->send(1, a);
    auto result = reply_of(1, &server);
    requests = server.requests;
    return result;
  }

  poller events;
  std::optional<transport> wire;
  std::map<std::uint64_t, kept> replies;
  std::vector<std::string> requests;
  std::size_t most_bytes = 0;  // of bodies in flight
};

std::string const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

TEST_F(transport_test, an_answer_has_status_fields_and_body) {
  auto const r =
      once({{"HTTP/1.1 429 Slow\r\nContent-Type: text/plain\r\nRetry-After: 3\r\n"
             "X-Two: a\r\nX-Two: b\r\nContent-Length: 4\r\n\r\nslow"}});
  EXPECT_EQ(r.what.state, send_state::answered);
  EXPECT_TRUE(r.what.reached);
  EXPECT_EQ(r.what.status, 429);
  EXPECT_EQ(r.body, "slow");
  EXPECT_EQ(r.error, "");
  using field = std::pair<std::string, std::string>;
  EXPECT_EQ(r.fields, (std::vector<field>{{"Content-Type", "text/plain"},
                                          {"Retry-After", "3"},
                                          {"X-Two", "a"},
                                          {"X-Two", "b"},
                                          {"Content-Length", "4"}}));
}

TEST_F(transport_test, a_request_goes_out_as_it_is_given) {
  std::vector<std::string> const headers{"X-A: 1", "X-Empty:", "Content-Type: text/x"};
  once({{ok}}, {.url = {}, .method = "PUT", .headers = headers, .body = "all of it"});
  ASSERT_EQ(requests.size(), 1U);
  auto const& text = requests[0];
  EXPECT_TRUE(text.starts_with("PUT /a HTTP/1.1\r\n")) << text;
  for (auto const* line : {"\r\nX-A: 1\r\n", "\r\nX-Empty:\r\n", "\r\nContent-Type: text/x\r\n"})
    EXPECT_NE(text.find(line), text.npos) << text;
  EXPECT_EQ(text.find("Expect"), text.npos) << text;
  EXPECT_TRUE(text.ends_with("\r\n\r\nall of it")) << text;
}

TEST_F(transport_test, our_own_headers_give_way_to_those_of_the_line) {
  once({{ok}}, {.url = {}, .method = "GET"});
  auto const ours = requests.at(0);
  std::vector<std::string> const headers{"user-agent: theirs", "accept-encoding: gzip"};
  once({{ok}}, {.url = {}, .method = "GET", .headers = headers});
  auto const& theirs = requests.at(0);
  EXPECT_NE(ours.find("\r\nUser-Agent: headway/"), ours.npos) << ours;
  EXPECT_NE(ours.find("\r\nAccept-Encoding: deflate, gzip"), ours.npos) << ours;
  EXPECT_NE(theirs.find("\r\nuser-agent: theirs\r\naccept-encoding: gzip\r\n\r\n"), theirs.npos)
      << theirs;
  EXPECT_EQ(theirs.find("headway/"), theirs.npos) << theirs;
}

TEST_F(transport_test, a_kept_connection_serves_the_next_request_unless_it_is_to_be_fresh) {
  scripted_server server({{ok}, {ok}, {ok}});
  auto& t = with();
  auto const url = server.origin + "/a";
  for (std::uint64_t key = 1; key <= 3; ++key) {
    t.send(key, {.url = url, .method = "GET", .fresh_connection = key == 3});
    EXPECT_EQ(reply_of(key, &server).what.status, 200);
    EXPECT_EQ(server.connections, key == 3 ? 2 : 1);
  }
}

TEST_F(transport_test, a_kept_connection_that_closes_under_a_request_does_not_send_it_again) {
  scripted_server server({{ok}, {"", true}, {ok}});
  auto& t = with();
  auto const url = server.origin + "/a";
  t.send(1, {.url = url, .method = "POST", .body = "one"});
  EXPECT_EQ(reply_of(1, &server).what.status, 200);
  t.send(2, {.url = url, .method = "POST", .body = "two"});
  auto const r = reply_of(2, &server);
  EXPECT_EQ(r.what.state, send_state::sent);
  EXPECT_TRUE(r.what.stale);
  EXPECT_EQ(r.error, "the connection was closed before there was an answer");
  EXPECT_EQ(server.requests.size(), 2U);
  t.send(3, {.url = url, .method = "GET"});
  EXPECT_EQ(reply_of(3, &server).what.status, 200);
  EXPECT_EQ(server.requests.size(), 3U);
}

TEST_F(transport_test, a_connection_that_breaks_under_a_body_does_not_send_it_again) {
  std::string const body(8 << 20, 'x');
  for (bool const kept : {true, false}) {
    scripted_server server({{ok}, {"", true, true}, {ok}});
    auto& t = with();
    auto const url = server.origin + "/a";
    t.send(1, {.url = url, .method = "GET"});
    EXPECT_EQ(reply_of(1, &server).what.status, 200);
    t.send(2, {.url = url, .method = "POST", .body = body, .fresh_connection = !kept});
    auto const r = reply_of(2, &server);
    EXPECT_EQ(r.what.state, send_state::sent);
    EXPECT_EQ(r.what.stale, kept);
    EXPECT_EQ(server.requests.size(), 2U);
    t.send(3, {.url = url, .method = "POST", .body = "whole"});
    EXPECT_EQ(reply_of(3, &server).what.status, 200);
    EXPECT_TRUE(server.requests.at(2).ends_with("whole"));
  }
}

TEST_F(transport_test, a_server_that_is_not_there_was_not_reached) {
  auto& t = with();
  std::string url;
  {
    scripted_server const gone({});
    url = gone.origin;
  }
  t.send(1, {.url = url, .method = "GET"});
  auto r = reply_of(1);
  EXPECT_EQ(r.what.state, send_state::not_sent);
  EXPECT_FALSE(r.what.reached);
  EXPECT_FALSE(r.what.futile);
  EXPECT_EQ(r.obstacle, "connection refused");
  t.send(2, {.url = "http://none.invalid/", .method = "GET"});
  EXPECT_EQ(reply_of(2).obstacle, "name not found");
}

TEST_F(transport_test, a_proxy_that_is_not_there_is_named) {
  std::string proxy;
  {
    scripted_server const gone({});
    proxy = gone.origin;
  }
  setenv("http_proxy", proxy.c_str(), 1);
  auto& t = with();
  t.send(1, {.url = "http://none.invalid/", .method = "GET"});
  t.send(2, {.url = proxy + "/", .method = "GET"});  // the server itself, by libcurl's words
  auto const first = reply_of(1).obstacle, second = reply_of(2).obstacle;
  unsetenv("http_proxy");
  EXPECT_EQ(first, "connection refused by the proxy " + proxy.substr(proxy.find("//") + 2));
  EXPECT_EQ(second, "connection refused");
}

TEST_F(transport_test, an_answer_that_breaks_off_is_told_by_how) {
  struct broken {
    std::string answer, error;
    send_state state = send_state::answered;
  };
  std::string const head = "HTTP/1.1 200 OK\r\n";
  for (auto const& [answer, error, state] : std::vector<broken>{
           {"", "Empty reply from server", send_state::sent},
           {head + "X: 1\r\n", "the connection was closed in the header of the answer"},
           {head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nok",
            "the answer has two different Content-Lengths"},
           {head + "Content-Length: 2, 3\r\n\r\nok",
            "the answer has two different Content-Lengths"},
           {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
            "the answer is 101: a protocol that was not asked for", send_state::sent},
           {head + "Content-Length: 9\r\n\r\nok", "transfer closed with 7 bytes remaining to read"},
           {head + "X: " + std::string(90'000, 'x') + "\r\nY: " + std::string(90'000, 'x') +
                "\r\nZ: " + std::string(90'000, 'x') + "\r\n\r\n",
            "the header of the answer is longer than 256 KiB"},
           {head + "X: " + std::string(110'000, 'x') + "\r\n\r\n",
            "a line in the header of the answer is longer than 100 KiB, or memory ran out"},
       }) {
    auto const r = once({{answer, true}});
    EXPECT_EQ(r.error, error);
    EXPECT_EQ(r.what.state, state) << error;
    EXPECT_FALSE(r.what.stale) << error;
  }
}

TEST_F(transport_test, the_same_length_twice_is_one) {
  auto const r = once({{"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nok"}});
  EXPECT_EQ(r.error, "");
  EXPECT_EQ(r.body, "ok");
}

TEST_F(transport_test, only_the_final_answers_fields_are_told) {
  auto const r = once({{"HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\n" + ok}});
  EXPECT_EQ(r.what.status, 200);
  ASSERT_EQ(r.fields.size(), 1U);
  EXPECT_EQ(r.fields[0].first, "Content-Length");
}

TEST_F(transport_test, a_body_beyond_its_bound_is_not_told_in_part) {
  with({.body_max = 10});
  auto const r = once({{"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n12345678901"}});
  EXPECT_TRUE(r.what.too_large);
  EXPECT_EQ(r.body, "");
  EXPECT_EQ(wire->body_bytes(), 0U);
}

TEST_F(transport_test, bodies_in_flight_are_counted_until_their_replies) {
  scripted_server server({{ok}});
  auto& t = with();
  auto const url = server.origin + "/a";
  std::string const body(1000, 'b');
  t.send(1, {.url = url, .method = "POST", .body = body});
  EXPECT_EQ(t.body_bytes(), 1000U);
  reply_of(1, &server);
  EXPECT_EQ(t.body_bytes(), 0U);
}

TEST_F(transport_test, beyond_half_of_the_room_one_answer_goes_on_and_the_others_wait) {
  constexpr std::size_t size = 2'000'000;
  std::string const answer = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(size) +
                             "\r\n\r\n" + std::string(size, 'a');
  scripted_server server(answers(8, {answer}));
  auto& t = with({.body_max = size, .bodies_max = 4 * size});
  auto const url = server.origin + "/a";
  for (std::uint64_t key = 1; key <= 8; ++key) t.send(key, {.url = url, .method = "GET"});
  for (std::uint64_t key = 1; key <= 8; ++key) EXPECT_EQ(reply_of(key, &server).body.size(), size);
  EXPECT_LE(most_bytes, 3 * size + size / 2) << "half, one body, and what was read already";
  EXPECT_EQ(t.body_bytes(), 0U);
}

TEST_F(transport_test, a_compressed_body_that_was_cut_off_is_none) {
  std::string const whole(
      "\037\213\010\000\000\000\000\000\002\003\113\314\311\121"
      "\310\117\123\310\054\001\000\162\174\332\277\011\000\000\000",
      29);
  auto const answer = [](std::string_view coding, std::string_view body) {
    return scripted_server::answer{
        fmt::format("HTTP/1.1 200 OK\r\nContent-Encoding: {}\r\n"
                    "Content-Length: {}\r\n\r\n{}",
                    coding, body.size(), body)};
  };
  auto const is = [&](std::string_view coding, std::string_view body) {
    auto const r = once({answer(coding, body)});
    EXPECT_EQ(r.what.status, 200);
    return r.error.empty() ? r.body : r.error;
  };
  EXPECT_EQ(is("gzip", whole), "all of it");
  EXPECT_EQ(is("Identity", "as it is"), "as it is");
  EXPECT_EQ(is("gzip", ""), "");
  for (auto const size : {std::size_t{1}, whole.size() / 2, whole.size() - 1})
    EXPECT_EQ(is("gzip", std::string_view(whole).substr(0, size)),
              "the compressed body was cut off");
  EXPECT_EQ(is("gzip", "all of it"), "the body is not what its Content-Encoding says");
  for (auto const* const other : {"br", "gzip, gzip"})
    EXPECT_EQ(is(other, whole), "the Content-Encoding of the body is neither gzip nor deflate");
}

TEST_F(transport_test, a_timeout_ends_an_attempt_that_was_sent) {
  auto const r = once({}, {.url = {}, .method = "GET", .timeout = 50ms});
  EXPECT_EQ(r.what.state, send_state::sent);
  EXPECT_TRUE(r.error.starts_with("Operation timed out")) << r.error;
  EXPECT_EQ(requests.size(), 1U);
}

TEST_F(transport_test, no_reply_is_told_while_there_is_no_room) {
  scripted_server server({{ok}});
  auto& t = with();
  auto const url = server.origin + "/a";
  t.send(1, {.url = url, .method = "GET"});
  for (auto const end = clock_now() + 200ms; clock_now() < end;) {
    for (auto const& e : events.wait(clock_now() + 1ms)) t.ready(e);
    server.serve();
    t.flush([] { return false; });
  }
  EXPECT_TRUE(replies.empty());
  EXPECT_EQ(server.requests.size(), 1U);
  EXPECT_EQ(reply_of(1).what.status, 200);
}

TEST_F(transport_test, a_signed_query_is_in_order) {
  with({.sigv4 = "aws:amz:eu-1:s3", .sigv4_key = "ID:SECRET"});
  scripted_server server({{ok}});
  auto const url = server.origin + "/a?z=1&b&a=2";
  wire->send(1, {.url = url, .method = "GET"});
  reply_of(1, &server);
  ASSERT_EQ(server.requests.size(), 1U);
  EXPECT_TRUE(server.requests[0].starts_with("GET /a?a=2&b=&z=1 HTTP/1.1\r\n"));
  EXPECT_NE(server.requests[0].find("Authorization: AWS4-HMAC-SHA256 Credential=ID/"),
            std::string::npos);
  EXPECT_EQ(server.requests[0].find("SECRET"), std::string::npos);
}

}  // namespace
}  // namespace headway::app
