#include "proxy/admin.hpp"

#include <fmt/format.h>

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "proxy/exchange.hpp"
#include "proxy/guard.hpp"

namespace headway::app::proxy {
namespace {

constexpr std::size_t visits_max = 64;
constexpr std::chrono::seconds visit_max{10};
constexpr std::string_view guards =
    "Cache-Control: no-store\r\n"
    "Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\n";

}  // namespace

/// One request, and the end of its connection.
class admin::visit : public std::enable_shared_from_this<visit> {
 public:
  visit(admin& at, tcp::socket socket)
      : at_(at),
        open_(at.open_),
        socket_(std::move(socket)),
        timer_(socket_.get_executor(), visit_max) {
    place_ = open_->insert(open_->end(), this);
  }
  ~visit() {
    if (place_ != open_->end()) open_->erase(place_);
  }
  visit(visit const&) = delete;
  visit& operator=(visit const&) = delete;

  void start() {
    timer_.async_wait([weak = weak_from_this()](error_code e) {
      if (auto const self = weak.lock(); !e && self) self->socket_.close(e);
    });
    read();
  }

  /// Another needs its place.
  void leave() {
    open_->erase(std::exchange(place_, open_->end()));
    error_code ignored;
    socket_.close(ignored);
    timer_.cancel();
  }

 private:
  void read() {
    socket_.async_read_some(
        asio::buffer(in_), [self = shared_from_this()](error_code e, std::size_t n) {
          if (e) return;
          self->reader_.feed({self->in_.data(), n}, e);
          if (e) return self->refuse({400, "malformed", "want a request of HTTP/1.1 or HTTP/1.0"});
          if (!self->reader_.has_head()) return self->read();
          self->on_head();
        });
  }

  void on_head() {
    auto const& r = reader_.start;
    only_head_ = r.method == "HEAD";
    if (auto const no = objection_to(r)) return refuse(*no);
    if (auto const no = objection_of_guard(r, at_.names_)) return refuse(*no);
    if (!at_.token_.empty() && !shows_token(r, at_.token_))
      return refuse({401, "token", "want the token of --admin-token-file"},
                    "WWW-Authenticate: Basic realm=\"headway\"\r\n");
    if (r.method != "GET" && !only_head_)
      return refuse({405, "method", "want GET or HEAD"}, "Allow: GET, HEAD\r\n");
    auto const path = r.target.substr(0, r.target.find('?'));
    auto const page = at_.pages_(path);
    if (!page) return refuse({404, "path", "want /, /api/state, /metrics or /healthz"});
    write(
        fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}"
                    "Connection: close\r\n\r\n{}",
                    page->status, page->status == 200 ? "OK" : "Service Unavailable", page->type,
                    page->body.size(), guards, only_head_ ? "" : page->body));
  }

  void refuse(objection const& why, std::string_view more = "") {
    write(exchange::own_answer({why, std::nullopt}, false, only_head_,
                               std::string(guards).append(more)));
  }

  void write(std::string text) {
    out_ = std::move(text);
    asio::async_write(socket_, asio::buffer(out_),
                      [self = shared_from_this()](error_code e, std::size_t) {
                        if (e) return;
                        self->socket_.shutdown(tcp::socket::shutdown_send, e);
                        self->linger();
                      });
  }

  /// Closing with unread bytes would reset the connection before the answer is read.
  void linger() {
    socket_.async_read_some(asio::buffer(in_),
                            [self = shared_from_this()](error_code e, std::size_t) {
                              if (!e) self->linger();
                            });
  }

  admin& at_;
  std::shared_ptr<std::list<visit*>> open_;
  std::list<visit*>::iterator place_;
  tcp::socket socket_;
  asio::steady_timer timer_;
  request_reader reader_;
  std::array<char, 4096> in_{};
  std::string out_;
  bool only_head_ = false;
};

admin::admin(asio::io_context& io, address const& at, std::vector<std::string> names,
             std::string token, pages of)
    : names_(std::move(names)),
      token_(std::move(token)),
      pages_(std::move(of)),
      listener_(io, at, "--admin", [this](tcp::socket socket) {
        if (open_->size() >= visits_max) open_->front()->leave();  // the oldest
        std::make_shared<visit>(*this, std::move(socket))->start();
      }) {}

}  // namespace headway::app::proxy
