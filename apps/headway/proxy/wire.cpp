#include "proxy/wire.hpp"

#include <fmt/format.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/address.hpp"
#include "base/clock.hpp"
#include "base/fatal.hpp"
#include "base/text.hpp"
#include "base/url.hpp"

namespace headway::app::proxy {
namespace {

constexpr std::size_t read_bytes = 16 * 1024;
constexpr std::size_t idle_wires_max = 1024;
constexpr duration idle_for = 60s;
constexpr duration rested = 10ms;  // that its server may have closed it, and we not read that yet
constexpr duration addresses_for = 30s;
constexpr std::chrono::milliseconds next_address_after{250};  // RFC 8305's connection attempt delay
constexpr std::chrono::seconds connect_max{10};

/// Whether it is an address of this host: a socket can be bound to it.
bool is_ours(asio::ip::address const& a) {
  asio::io_context own;
  asio::ip::udp::socket probe(own);
  asio::ip::udp::endpoint const there(a, 0);
  error_code e;
  probe.open(there.protocol(), e);
  if (!e) probe.bind(there, e);
  return !e;
}

int slot_of_pool() {
  static int const index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

}  // namespace

// ── one ──────────────────────────────────────────────────────────────────────────────────────────

wire::wire(wires& pool) : pool_(pool), socket_(pool.io_) {}

template <class F>
void wire::with_stream(F f) {
  if (tls_)
    f(*tls_);
  else
    f(socket_);
}

void wire::connect(wire_user& u) {
  user_ = &u;
  timer_ = std::make_unique<asio::steady_timer>(pool_.io_);
  pool_.resolve([self = shared_from_this()](error_code e, auto const& endpoints) {
    if (self->closed_) return;
    if (e) return self->fail(fmt::format("cannot resolve {}: {}", self->pool_.host_, e.message()));
    self->dial(endpoints);
  });
}

void wire::dial(std::vector<tcp::endpoint> const& endpoints) {
  endpoints_ = endpoints;
  deadline_ = std::make_unique<asio::steady_timer>(pool_.io_, connect_max);
  deadline_->async_wait([self = shared_from_this()](error_code e) {
    if (!e && !self->open_ && !self->closed_)
      self->fail(fmt::format("no connection within {} s", connect_max.count()));
  });
  dial_next();
}

/// Tries the next address, while earlier ones are still being tried.
void wire::dial_next() {
  auto const which = dialling_.size();
  if (which >= endpoints_.size()) return;
  auto& s = *dialling_.emplace_back(std::make_unique<tcp::socket>(pool_.io_));
  s.async_connect(endpoints_[which],
                  [self = shared_from_this(), which](error_code e) { self->dialled(which, e); });
  if (dialling_.size() == endpoints_.size()) return;
  timer_->expires_after(next_address_after);
  timer_->async_wait([self = shared_from_this(), which](error_code e) {
    if (!e && !self->closed_ && !self->socket_.is_open() && self->dialling_.size() == which + 1)
      self->dial_next();
  });
}

void wire::dialled(std::size_t which, error_code e) {
  if (closed_ || socket_.is_open()) return;
  if (e) {
    last_error_ = e.message();
    refused_ |= e == asio::error::connection_refused;
    dialling_[which]->close(e);
    if (which + 1 == dialling_.size()) dial_next();
    auto const over = std::ranges::none_of(dialling_, [](auto const& s) { return s->is_open(); });
    if (over)
      fail(fmt::format("cannot connect: {}", last_error_),
           refused_ ? unreached::refused : unreached::broken);
    return;
  }
  socket_ = std::move(*dialling_[which]);
  peer_ = endpoints_[which];
  dialling_.clear();
  endpoints_.clear();
  error_code ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
  socket_.set_option(asio::socket_base::keep_alive(true), ignored);
  if (pool_.via_)
    ask_proxy();
  else
    secure();
}

/// Has an HTTP proxy on the way connect us (CONNECT).
void wire::ask_proxy() {
  auto const host =
      pool_.host_.find(':') == std::string::npos ? pool_.host_ : '[' + pool_.host_ + ']';
  asked_ = fmt::format("CONNECT {0}:{1} HTTP/1.1\r\nHost: {0}:{1}\r\n{2}\r\n", host, pool_.port_,
                       pool_.via_->authorization);
  asio::async_write(
      socket_, asio::buffer(asked_), [self = shared_from_this()](error_code e, std::size_t) {
        if (self->closed_) return;
        if (e) return self->fail("the HTTP proxy on the way: " + e.message());
        self->asked_.clear();
        asio::async_read_until(
            self->socket_, asio::dynamic_buffer(self->asked_, 16 * 1024), "\r\n\r\n",
            [self](error_code failed, std::size_t) {
              if (self->closed_) return;
              auto const& said = self->asked_;
              if (failed && said.empty())
                return self->fail("the HTTP proxy on the way: " + failed.message());
              if (failed || said.size() < 12 || said.compare(0, 7, "HTTP/1.") != 0 ||
                  said.compare(9, 1, "2") != 0)
                return self->fail(fmt::format("the HTTP proxy on the way says {}",
                                              in_quotes(said.substr(0, said.find('\r')))));
              self->secure();
            });
      });
}

void wire::secure() {
  if (!pool_.secure_) return ready();
  tls_ = std::make_unique<asio::ssl::stream<tcp::socket&>>(socket_, pool_.tls_);
  auto* const ssl = tls_->native_handle();
  if (is_address(pool_.host_)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), pool_.host_.c_str());
  } else {
    SSL_set_tlsext_host_name(ssl, pool_.host_.c_str());
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    SSL_set1_host(ssl, pool_.host_.c_str());
  }
  if (pool_.session_ != nullptr) SSL_set_session(ssl, static_cast<SSL_SESSION*>(pool_.session_));
  tls_->async_handshake(asio::ssl::stream_base::client, [self = shared_from_this()](error_code e) {
    if (self->closed_) return;
    if (!e) return self->ready();
    auto const verified = SSL_get_verify_result(self->tls_->native_handle());
    if (verified != X509_V_OK)
      return self->fail(fmt::format("its certificate is not trusted: {}",
                                    X509_verify_cert_error_string(verified)),
                        unreached::futile);
    self->fail("TLS: " + e.message());
  });
}

void wire::ready() {
  open_ = true;
  timer_.reset();
  deadline_.reset();
  read();
  user_->on_connected();
}

void wire::fail(std::string_view why, unreached how) {
  auto const self = shared_from_this();
  auto* const user = std::exchange(user_, nullptr);
  close();
  if (user != nullptr) user->on_unreached(why, how);
}

void wire::send(std::shared_ptr<std::string const> head, std::string_view body,
                std::shared_ptr<void> owner) {
  has_sent_ = true;
  std::array<asio::const_buffer, 2> const buffers = {asio::buffer(*head), asio::buffer(body)};
  with_stream([&](auto& stream) {
    asio::async_write(stream, buffers,
                      [self = shared_from_this(), head = std::move(head), owner = std::move(owner)](
                          error_code e, std::size_t) {
                        // A server that answers before it has read all may close its side.
                        if (!e && self->user_ != nullptr) self->user_->on_written();
                      });
  });
}

void wire::resume() {
  if (!std::exchange(paused_, false)) return;
  read();
}

void wire::read() {
  if (reading_ || paused_ || !open_ || closed_) return;
  reading_ = true;
  if (in_.empty()) in_.resize(read_bytes);
  with_stream([this](auto& stream) {
    stream.async_read_some(asio::buffer(in_),
                           [self = shared_from_this()](error_code e, std::size_t n) {
                             self->reading_ = false;
                             self->on_read(e, n);
                           });
  });
}

void wire::on_read(error_code e, std::size_t n) {
  if (closed_) return;
  if (!e && user_ != nullptr) {
    user_->on_bytes({in_.data(), n});
    return read();
  }
  // It is idle, and a server has nothing to say then; or it is over.
  auto const self = shared_from_this();
  auto* const user = std::exchange(user_, nullptr);
  auto const why =
      e == asio::error::eof ? std::string("the server closed the connection") : e.message();
  if (user == nullptr) pool_.forget(*this);
  close();
  if (user != nullptr) user->on_end(e == asio::error::eof ? std::string_view() : why);
}

bool wire::is_over() {
  char c = 0;
  return ::recv(socket_.native_handle(), &c, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

void wire::close() {
  closed_ = true;
  open_ = false;
  user_ = nullptr;
  timer_.reset();
  deadline_.reset();
  for (auto const& s : dialling_) {
    error_code ignored;
    s->close(ignored);
  }
  error_code ignored;
  socket_.close(ignored);
}

// ── all ──────────────────────────────────────────────────────────────────────────────────────────

wires::wires(asio::io_context& io, upstream_config const& u)
    : io_(io), secure_(u.origin.starts_with("https:")) {
  host_ = host_of(u.origin);
  port_ = u.origin.substr(u.origin.rfind(':') + 1);
  via_ = http_proxy::before(u.origin);
  if (!secure_) return;
  error_code e;
  auto* const context = tls_.native_handle();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  tls_.set_verify_mode(asio::ssl::verify_peer, e);
  if (u.ca_file.empty())
    tls_.set_default_verify_paths(e);
  else
    tls_.load_verify_file(u.ca_file, e);
  if (e) throw fatal(exit_usage, fmt::format("--cacert {}: {}", in_quotes(u.ca_file), e.message()));
  constexpr unsigned char protocols[] = "\x08http/1.1";
  SSL_CTX_set_alpn_protos(context, protocols, sizeof protocols - 1);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
  SSL_CTX_set_ex_data(context, slot_of_pool(), this);
  SSL_CTX_sess_set_new_cb(context, [](SSL* ssl, SSL_SESSION* fresh) {
    auto* const pool =
        static_cast<wires*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), slot_of_pool()));
    if (pool->session_ != nullptr) SSL_SESSION_free(static_cast<SSL_SESSION*>(pool->session_));
    pool->session_ = fresh;
    return 1;  // it is ours now
  });
}

wires::~wires() {
  close_idle();
  if (session_ != nullptr) SSL_SESSION_free(static_cast<SSL_SESSION*>(session_));
}

void wires::resolve(found then) {
  auto const age = clock_now() - resolved_;
  // While they are asked for again, those before will do: a slow resolver holds nothing up.
  if (!addresses_.empty() && age < (asks_ ? 2 : 1) * addresses_for) return then({}, addresses_);
  asking_.push_back(std::move(then));
  ask();
}

void wires::ask() {
  if (std::exchange(asks_, true)) return;
  auto const tell = [this, open = asio::make_work_guard(io_), alive = std::weak_ptr(alive_)](
                        error_code e, std::vector<tcp::endpoint> addresses) {
    asio::post(open.get_executor(), [this, alive, e, addresses = std::move(addresses)]() mutable {
      if (!alive.expired()) resolved(e, std::move(addresses));
    });
  };
  try {
    look_up_ =
        std::jthread([tell, host = via_ ? via_->host : host_, port = via_ ? via_->port : port_] {
          asio::io_context own;
          error_code e;
          auto const results = tcp::resolver(own).resolve(host, port, e);
          tell(e, {results.begin(), results.end()});
        });
  } catch (std::system_error const&) {  // no thread
    tell(asio::error::no_memory, {});
  }
}

void wires::resolved(error_code e, std::vector<tcp::endpoint> addresses) {
  asks_ = false;
  if (!e) addresses_ = std::move(addresses);
  if (!addresses_.empty()) e = {};  // what led there may still do
  resolved_ = clock_now();
  for (auto const& w : std::exchange(idle_, {}))
    if (leads_here(*w))
      idle_.push_back(w);
    else
      w->close();
  for (auto const& each : std::exchange(asking_, {})) each(e, addresses_);
}

void wires::find(std::function<void(std::string const& problem)> then) {
  resolve([this, then = std::move(then)](error_code e, auto const&) {
    then(e ? fmt::format("cannot resolve {}{}: {}", via_ ? "the HTTPS_PROXY " : "",
                         via_ ? via_->host : host_, e.message())
           : "");
  });
}

void wires::know(wires const& others) {
  if (host_ != others.host_ || port_ != others.port_ || secure_ != others.secure_) return;
  addresses_ = others.addresses_;
  resolved_ = others.resolved_;
}

void wires::refresh() {
  if (!addresses_.empty()) ask();  // else none was needed yet
}

bool wires::lead_to(tcp::endpoint const& listens) const {
  auto const all = listens.address().is_unspecified();
  return !via_ && std::ranges::any_of(addresses_, [&](tcp::endpoint const& to) {
    return to == listens || (all && to.port() == listens.port() && is_ours(to.address()));
  });
}

bool wires::leads_here(wire const& w) const noexcept {
  return std::ranges::find(addresses_, w.peer_) != addresses_.end();
}

std::shared_ptr<wire> wires::take(wire_user& u, bool fresh) {
  ++busy_;
  while (!fresh && !idle_.empty()) {
    auto w = std::move(idle_.back());
    idle_.pop_back();
    if (clock_now() - w->idle_since() > rested && w->is_over()) {
      w->close();
      continue;
    }
    w->user_ = &u;
    w->used_before_ = true;
    w->has_sent_ = false;
    return w;
  }
  return std::make_shared<wire>(*this);
}

void wires::give_back(std::shared_ptr<wire> const& w) {
  if (!w->open() || idle_.size() >= idle_wires_max || !leads_here(*w)) return drop(w);
  --busy_;
  w->user_ = nullptr;
  w->resume();
  w->idle_since_ = clock_now();
  idle_.push_back(w);
}

void wires::drop(std::shared_ptr<wire> const& w) {
  --busy_;
  w->close();
}

void wires::forget(wire const& gone) {
  std::erase_if(idle_, [&](auto const& w) { return w.get() == &gone; });
}

void wires::tick(time_point now) {
  auto const old =
      std::ranges::find_if(idle_, [&](auto const& w) { return w->idle_since() + idle_for > now; });
  for (auto it = idle_.begin(); it != old; ++it) (*it)->close();
  idle_.erase(idle_.begin(), old);
  if (busy_ + idle_.size() > 0 && now - resolved_ >= addresses_for) refresh();
}

void wires::close_idle() {
  for (auto const& w : std::exchange(idle_, {})) w->close();
}

}  // namespace headway::app::proxy
