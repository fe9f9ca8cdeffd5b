#include "mock/service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <csignal>
#include <ctime>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/fatal.hpp"
#include "base/json_text.hpp"
#include "headway/random.hpp"
#include "mock/emr.hpp"

namespace headway::app {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using tcp = asio::ip::tcp;
using wall = std::chrono::system_clock;

namespace {

// What one client may cost: memory for a header, traffic for a body (which is not kept), a
// connection for a minute.
constexpr std::uint32_t header_bytes_max = 16 * 1024;
constexpr std::uint64_t body_bytes_max = 16 * 1024 * 1024;
constexpr auto idle_max = 60s;
constexpr auto linger_max = 2s;
constexpr auto silence_max = 10min;

/// A request body that is read and, unless it is asked for, dropped.
struct dropped_body {
  struct value_type {
    std::string text{};
    bool keep = false;
  };
  class reader {
   public:
    template <bool IsRequest, class Fields>
    reader(http::header<IsRequest, Fields>& /*header*/, value_type& body) : body_(body) {}
    void init(boost::optional<std::uint64_t> const& /*length*/, error_code& e) { e = {}; }
    template <class Buffers>
    std::size_t put(Buffers const& bytes, error_code& e) {
      e = {};
      if (body_.keep) body_.text += beast::buffers_to_string(bytes);
      return beast::buffer_bytes(bytes);
    }
    void finish(error_code& e) { e = {}; }

   private:
    value_type& body_;
  };
};

std::string http_date(std::time_t t) {
  std::tm utc{};
  gmtime_r(&t, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc)};
}

}  // namespace

struct mock_service::state {
  class session;

  mock_options options;
  sim::server model{options.server};
  rng draw{1};
  std::chrono::steady_clock::time_point const started = std::chrono::steady_clock::now();
  mock_totals totals{};
  asio::io_context io{1};
  tcp::acceptor acceptor{io};
  asio::signal_set signals{io};
  asio::steady_timer breath{io};
  asio::steady_timer rivals{io};
  asio::steady_timer ends{io};
  std::map<std::uint64_t, std::shared_ptr<session>>
      at_work{};  // by the number on shared processors
  std::string date;
  std::time_t date_of = 0;

  explicit state(mock_options o) : options(std::move(o)) {}

  time_point now() const { return time_point(std::chrono::steady_clock::now() - started); }

  std::string const& date_at(std::time_t t) {
    if (t != date_of) date = http_date(date_of = t);
    return date;
  }

  void listen();
  void accept();
  void let_others_ask(time_point last);
  void await_end();
};

/// One connection: read, decide, wait, answer, and again.
class mock_service::state::session : public std::enable_shared_from_this<session> {
 public:
  session(state& s, tcp::socket socket)
      : state_(s), stream_(std::move(socket)), timer_(stream_.get_executor()) {
    error_code ignored;
    stream_.socket().set_option(tcp::no_delay(true), ignored);
  }

  void read() {
    parser_.emplace();
    parser_->header_limit(header_bytes_max);
    parser_->body_limit(body_bytes_max);
    parser_->get().body().keep = state_.options.openai || state_.options.emr;
    stream_.expires_after(idle_max);
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = shared_from_this()](error_code e, std::size_t) {
                              if (e) return self->turn_away(e);
                              self->on_header();
                            });
  }

  /// Answers what shared processors, or the gateway in their place, are done with.
  void end(bool late) {
    if (late) answer_.what = outcome::failure;
    late_ = late;
    state_.totals.late += late;
    state_.totals.failed += !late && answer_.what == outcome::failure;
    answer();
  }

 private:
  void on_header() {
    if (!beast::iequals(parser_->get()[http::field::expect], "100-continue")) return read_body();
    asio::async_write(stream_, asio::buffer(std::string_view("HTTP/1.1 100 Continue\r\n\r\n")),
                      [self = shared_from_this()](error_code e, std::size_t) {
                        if (!e) self->read_body();
                      });
  }

  void read_body() {
    if (parser_->is_done()) return on_request();
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](error_code e, std::size_t) {
                       if (e) return self->turn_away(e);
                       self->on_request();
                     });
  }

  void on_request() {
    arrived_ = state_.now();
    in_flight_ = ++state_.totals.in_flight;
    state_.totals.peak_in_flight = std::max(state_.totals.peak_in_flight, in_flight_);
    wait(state_.options.connect_latency.draw(state_.draw()), &session::decide);
  }

  void decide() {
    completion_ = {};
    if (state_.options.openai)
      completion_ =
          state_.options.openai->arrive(state_.now(), parser_->get().body().text, state_.draw());
    if (completion_.refusal.empty())
      answer_ = state_.model.arrive(state_.now(), 1, state_.draw());
    else
      answer_ = {.what = outcome::throttle,
                 .after = state_.options.server.error_latency,
                 .retry_after = completion_.again};
    late_ = false;
    ++state_.totals.requests;
    state_.totals.throttled += answer_.what == outcome::throttle;
    if (!answer_.comes()) return keep_silent();
    if (answer_.number) {
      state_.at_work.emplace(*answer_.number, shared_from_this());
      return state_.await_end();
    }
    state_.totals.failed += answer_.what == outcome::failure;
    wait(answer_.after, &session::answer);
  }

  /// Answers nothing until the client gives up.
  void keep_silent() {
    ++state_.totals.silent;
    if (state_.options.log) log(0);
    stream_.expires_after(silence_max);
    stream_.async_read_some(
        buffer_.prepare(1),
        [self = shared_from_this()](error_code, std::size_t) { --self->state_.totals.in_flight; });
  }

  void wait(duration d, void (session::*next)()) {
    if (d == duration::zero()) return (this->*next)();
    timer_.expires_after(d);
    timer_.async_wait([self = shared_from_this(), next](error_code e) {
      if (!e) ((*self).*next)();
    });
  }

  void answer() {
    auto const& request = parser_->get();
    unsigned const status = answer_.what == outcome::success    ? 200
                            : answer_.what == outcome::throttle ? state_.options.throttle_status
                            : late_                             ? 504
                                                                : 500;
    auto const wall_now = wall::now();
    response_ = {};
    response_.result(status);
    response_.version(request.version());
    response_.keep_alive(request.keep_alive());
    response_.set(http::field::date, state_.date_at(wall::to_time_t(wall_now)));
    response_.set(http::field::content_type, "application/json");
    if (answer_.retry_after) set_retry_after(*answer_.retry_after, wall_now);
    response_.body() = fmt::format("{{\"status\":{},\"method\":{},\"target\":{}}}\n", status,
                                   json_string(in_utf8(to_view(request.method_string()))),
                                   json_string(in_utf8(to_view(request.target()))));
    if (state_.options.openai) speak_as_openai();
    if (state_.options.emr) speak_as_emr();
    response_.prepare_payload();
    if (request.method() == http::verb::head) response_.body().clear();

    --state_.totals.in_flight;
    if (state_.options.log)
      log(response_.result_int());  // first, so that a client that has the answer finds its line
    stream_.expires_after(idle_max);
    http::async_write(stream_, response_, [self = shared_from_this()](error_code e, std::size_t) {
      if (e) return;
      if (self->response_.need_eof()) return self->close();
      self->read();
    });
  }

  void speak_as_openai() {
    for (auto const& [name, value] : completion_.fields) response_.set(name, value);
    if (!completion_.refusal.empty())
      response_.body() = completion_.refusal;
    else if (answer_.what == outcome::success)
      response_.body() = answer_of(completion_, state_.totals.requests);
  }

  void speak_as_emr() {
    response_.set(http::field::content_type, "application/x-amz-json-1.1");
    response_.set("x-amzn-RequestId",
                  fmt::format("00000000-0000-4000-8000-{:012x}", state_.totals.requests));
    auto const& request = parser_->get();
    if (answer_.what == outcome::throttle) {
      response_.body() = emr_throttled;
    } else if (answer_.what == outcome::failure) {
      response_.body() = emr_failed;
    } else {
      auto told = emr_answer(to_view(request["X-Amz-Target"]), request.body().text);
      response_.result(told.status);
      response_.body() = std::move(told.body);
    }
  }

  void log(unsigned status) {
    auto const& request = parser_->get();
    auto const tokens =
        state_.options.openai ? fmt::format(" {}", completion_.charged) : std::string();
    fmt::print(state_.options.log, "{:.6f} {} {} {} {} {:.3f}{}\n",
               to_seconds(arrived_.time_since_epoch()), to_view(request.method_string()),
               to_view(request.target()), status, in_flight_,
               to_seconds(state_.now() - arrived_) * 1e3, tokens);
  }

  void set_retry_after(duration d, wall::time_point wall_now) {
    switch (state_.options.retry_after) {
      case retry_after_form::none:
        return;
      case retry_after_form::seconds:
        return response_.set(http::field::retry_after,
                             std::to_string(std::chrono::ceil<std::chrono::seconds>(d).count()));
      case retry_after_form::date: {
        auto const then = std::chrono::ceil<std::chrono::seconds>(wall_now + d);
        return response_.set(http::field::retry_after, http_date(wall::to_time_t(then)));
      }
      case retry_after_form::milliseconds:
        return response_.set(
            "retry-after-ms",
            std::to_string(std::chrono::ceil<std::chrono::milliseconds>(d).count()));
    }
  }

  /// What is not a request, or too large a one, is told so where anybody listens; then the
  /// connection ends.
  void turn_away(error_code e) {
    if (e.category() != error_code(http::error::end_of_stream).category() ||
        e == http::error::end_of_stream || e == http::error::partial_message)
      return close();
    response_ = {};
    response_.result(e == http::error::body_limit ? http::status::payload_too_large
                     : e == http::error::header_limit
                         ? http::status::request_header_fields_too_large
                         : http::status::bad_request);
    response_.keep_alive(false);
    response_.body() = fmt::format("{{\"error\":{}}}\n", json_string(in_utf8(e.message())));
    response_.prepare_payload();
    stream_.expires_after(idle_max);
    http::async_write(stream_, response_,
                      [self = shared_from_this()](error_code failed, std::size_t) {
                        if (failed) return;
                        self->close();
                        self->buffer_.clear();
                        self->stream_.expires_after(linger_max);
                        self->linger();
                      });
  }

  /// Closing with unread bytes would reset the connection, and the client might never see why.
  void linger() {
    stream_.async_read_some(buffer_.prepare(header_bytes_max),
                            [self = shared_from_this()](error_code e, std::size_t) {
                              if (!e) self->linger();
                            });
  }

  void close() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  }

  static std::string_view to_view(beast::string_view s) { return {s.data(), s.size()}; }

  state& state_;
  beast::tcp_stream stream_;
  asio::steady_timer timer_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<dropped_body>> parser_;
  http::response<http::string_body> response_;
  time_point arrived_{};
  std::uint64_t in_flight_ = 0;
  sim::answer answer_;
  bool late_ = false;
  completion completion_;
};

void mock_service::state::listen() {
  error_code e;
  auto const& at = options.listen;
  tcp::endpoint const endpoint(asio::ip::make_address(at.host), at.port);
  acceptor.open(endpoint.protocol(), e);
  if (!e) acceptor.set_option(tcp::acceptor::reuse_address(true), e);
  if (!e) acceptor.bind(endpoint, e);
  if (!e) acceptor.listen(asio::socket_base::max_listen_connections, e);
  if (e) throw fatal(exit_usage, fmt::format("cannot listen on {}: {}", at.text(), e.message()));
}

void mock_service::state::accept() {
  acceptor.async_accept([this](error_code e, tcp::socket socket) {
    if (e == asio::error::operation_aborted) return;
    if (!e) {
      std::make_shared<session>(*this, std::move(socket))->read();
      return accept();
    }
    breath.expires_after(50ms);  // out of descriptors: some will be free again
    breath.async_wait([this](error_code stopped) {
      if (!stopped) accept();
    });
  });
}

/// Counts, as the limits do, what arrives of others since then, and waits for the next.
void mock_service::state::let_others_ask(time_point last) {
  for (; last <= now(); last += options.others) {
    ++totals.others;
    totals.others_throttled += model.arrive(now(), 1, draw()).what == outcome::throttle;
  }
  rivals.expires_at(started + last.time_since_epoch());
  rivals.async_wait([this, last](error_code stopped) {
    if (!stopped) let_others_ask(last);
  });
}

/// Waits for the next end on shared processors, if anything is at work there.
void mock_service::state::await_end() {
  auto const next = model.next_end();
  if (next == never) return;
  ends.expires_at(started + next.time_since_epoch());
  ends.async_wait([this](error_code stopped) {
    if (stopped) return;
    while (auto const end = model.take(now())) {
      auto const found = at_work.extract(end->number);
      if (found) found.mapped()->end(end->late);  // else it was of others
    }
    await_end();
  });
}

mock_service::mock_service(mock_options options)
    : state_(std::make_unique<state>(std::move(options))) {
  state_->listen();
}

mock_service::~mock_service() = default;

std::uint16_t mock_service::port() const {
  return state_->acceptor.local_endpoint().port();
}

void mock_service::run() {
  state_->accept();
  if (state_->options.others > 0ns) state_->let_others_ask(state_->now());
  state_->io.run();
}

void mock_service::stop_on_signals() {
  state_->signals.add(SIGINT);
  state_->signals.add(SIGTERM);
  state_->signals.async_wait([this](error_code, int) { state_->io.stop(); });
}

void mock_service::stop() {
  state_->io.stop();
}

mock_totals mock_service::totals() const {
  return state_->totals;
}

}  // namespace headway::app
