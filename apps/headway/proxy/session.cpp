#include "proxy/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "base/words.hpp"
#include "client/headers.hpp"
#include "proxy/guard.hpp"
#include "proxy/service.hpp"

namespace headway::app::proxy {
namespace {

constexpr std::size_t small_read = 2 * 1024, large_read = 64 * 1024;
constexpr std::size_t rest_max = 16 * 1024;    // of what a client sends before its turn
constexpr std::size_t unsent_max = 32 * 1024;  // of an answer that it does not take
constexpr duration idle_max = 60s, head_max = 10s, write_max = 30s, linger_max = 2s;
constexpr duration idle_max_short = 2s;  // while others wait for a place
constexpr duration body_grace = 10s, body_silence_max = 30s;
// While others wait for room, what holds it comes faster.
constexpr double body_bytes_a_second = 4096, body_bytes_a_second_short = 256 * 1024;
constexpr std::size_t path_shown = 200;
constexpr char tls_record = 0x16;  // which a client of TLS sends first

constexpr std::array<std::string_view, 5> safe = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS"};
constexpr std::array<std::string_view, 4> credentials = {"authorization", "cookie", "x-api-key",
                                                         "api-key"};

}  // namespace

session::session(service& house, tcp::socket socket) : house_(house), socket_(std::move(socket)) {
  error_code e;
  socket_.set_option(tcp::no_delay(true), e);
  peer_ = socket_.remote_endpoint(e).address().to_string(e);
  house_.add(*this);
}

session::~session() {
  if (held_ > 0) house_.release_bytes(held_);
  house_.remove(*this);
}

void session::start() {
  since_ = clock_now();
  read();
}

// ── in ───────────────────────────────────────────────────────────────────────────────────────────

void session::read() {
  if (reading_ || gone_ || is_ == phase::closed || is_ == phase::room) return;
  if (is_ == phase::answering && rest_.size() > rest_max) return;
  reading_ = true;
  auto const wanted = is_ == phase::body && order_ && order_->body.capacity() > small_read
                          ? large_read
                          : small_read;
  if (in_.size() != wanted) {
    in_ = std::vector<char>(wanted);
  }
  socket_.async_read_some(asio::buffer(in_),
                          [self = shared_from_this()](error_code e, std::size_t n) {
                            self->reading_ = false;
                            self->on_read(e, n);
                          });
}

void session::on_read(error_code e, std::size_t n) {
  if (is_ == phase::closed) return;
  if (e == asio::error::eof) return on_gone();
  if (e) return close();
  if (is_ == phase::lingering) return read();
  house_.received(n);
  heard_ = clock_now();
  rest_.append(in_.data(), n);
  work();
  read();
}

/// It has closed its side at least. What it asked for stops; if it does read, it learns why.
void session::on_gone() {
  gone_ = true;
  if (is_ != phase::answering) return close();
  if (auto const x = exchange_) {
    if (begun_) return close();
    exchange_.reset();
    x->leave();
    answer_begins(exchange::own_answer({{400, "half_closed",
                                         "the client closed its side of the connection before the "
                                         "answer, and so counts as gone"},
                                        std::nullopt},
                                       false, false));
    answer_ends(false, false);
  }
}

void session::work() {
  if (is_ == phase::head || is_ == phase::body) feed();
}

void session::feed() {
  if (!reader_ && !skipped_) {  // one empty line is old clients' (RFC 9112 §2.2)
    if (rest_ == "\r") return;
    skipped_ = rest_.starts_with("\r\n");
    if (skipped_) rest_.erase(0, 2);
  }
  std::string_view bytes = rest_;
  if (!reader_ && !bytes.empty()) {
    reader_ = std::make_unique<request_reader>();
    since_ = clock_now();
  }
  while ((is_ == phase::head || is_ == phase::body) && !bytes.empty()) {
    error_code e;
    auto const used = reader_->feed(bytes, e);
    if (e) {
      rest_.clear();
      if (reader_->too_long())
        return refuse(
            {{431, "head_too_long",
              fmt::format("the {} longer than {} bytes",
                          reader_->has_head() ? "trailers are" : "head is", head_bytes_max)},
             std::nullopt});
      if (!reader_->has_head() && reader_->start.text.starts_with(tls_record))
        return refuse(
            {{400, "tls", "TLS is not spoken here: want http:// in the base URL"}, std::nullopt});
      return refuse(
          {{400, "malformed", "want a request of HTTP/1.1 or HTTP/1.0, as GET /path HTTP/1.1"},
           std::nullopt});
    }
    bytes.remove_prefix(used);
    if (is_ == phase::head && reader_->has_head()) {
      is_ = phase::body;
      since_ = clock_now();
      rest_.erase(0, rest_.size() - bytes.size());
      bytes = rest_;
      if (!on_head()) return;  // it was refused, or waits for room
    }
    if (is_ == phase::body) {
      auto& body = reader_->body;
      if (reader_->chunked() && !body.empty()) {
        if (order_->body.size() + body.size() > house_.settings().body_max)
          return refuse({{413, "body_too_long",
                          fmt::format("the body is longer than --body-max, {} bytes",
                                      house_.settings().body_max)},
                         std::nullopt});
        if (!house_.hold_bytes(body.size()))
          return refuse({{503, "memory", "the bodies that wait leave no room for this one"}, 1s});
        held_ += body.size();
      }
      order_->body += body;
      body.clear();
      if (reader_->is_done()) {
        rest_.erase(0, rest_.size() - bytes.size());
        return begin();
      }
    }
    if (used == 0) break;
  }
  rest_.erase(0, rest_.size() - bytes.size());
}

/// False where its body is not to be read (now).
bool session::on_head() {
  auto& r = reader_->start;
  keeps_alive_ = reader_->keep_alive();
  auto const no = [&](objection const& why) { return refuse({why, std::nullopt}), false; };
  if (auto const why = objection_to(r)) {
    keeps_alive_ = false;  // where the next request begins is not sure
    return no(*why);
  }
  auto const& c = house_.settings();
  if (!c.client_token.empty()) {
    if (!shows_token(r, c.client_token))
      return no({401, "token", "want the token of --client-token-file, as Authorization: Bearer"});
    hide_token(r, c.client_token);
  }
  auto const to = route_of(c.upstreams, r);
  if (!to)
    return no({404, "route", "no route leads from here; there are: " + describe(c.upstreams)});
  to_ = house_.server_of(to->upstream);
  auto const& u = to_->settings();
  if (std::ranges::any_of(r.fields, [&](auto const& f) {
        return equal_ignoring_case(f.name, "cdn-loop") && lists_token(f.value, house_.mark());
      }))
    return no(
        {508, "loop",
         fmt::format("upstream {}: {} leads back to this proxy; want the API", u.name, u.url)});
  if (!u.headers.empty()) {
    std::vector<std::string> names = c.admin_hosts;
    names.push_back(c.listen.text());
    if (!u.host.empty()) names.push_back(u.host);
    if (u.via_http_proxy) names.push_back(std::string(r.find("host").value_or("")));
    if (auto const why = objection_of_guard(r, names)) return no(*why);
  }
  auto told = hints_of(r, std::chrono::system_clock::now());
  if (auto const* const why = std::get_if<objection>(&told)) return no(*why);

  order_ = std::make_unique<order>();
  auto& o = *order_;
  o.told = std::get<hints>(std::move(told));
  o.method = r.method;
  o.target = to->target;
  o.path = r.target.substr(0, std::min(r.target.find('?'), path_shown));
  o.base = to->base;
  o.version = r.version;
  o.keeps_alive = keeps_alive_;
  o.credential = credential();
  if (!u.words.bounds() && u.headers.empty()) o.scope = o.told.scope;
  o.client = printable(o.told.client);
  if (o.client.empty())
    o.client =
        o.credential.empty()
            ? peer_
            : fmt::format("key …{} from {}", o.credential.substr(o.credential.size() - 4), peer_);
  o.trace = std::string(r.find("traceparent").value_or("").substr(0, 100));
  o.id = house_.new_id();
  o.idempotent = std::ranges::find(safe, r.method) != safe.end() || r.find("idempotency-key") ||
                 to_->speaks().computes(r.method, u.origin + o.target);

  auto const length = reader_->content_length();
  if (length && *length > c.body_max)
    return no({413, "body_too_long",
               fmt::format("the body is longer than --body-max, {} bytes", c.body_max)});
  if (reader_->is_done()) return true;
  if (length && !house_.hold_bytes(*length)) {
    is_ = phase::room;
    house_.wait_for_room(shared_from_this());
    return false;
  }
  if (length) held_ = *length;
  read_body();
  return true;
}

void session::room() {
  if (is_ != phase::room) return;
  auto const length = reader_->content_length().value_or(0);
  if (!house_.hold_bytes(length)) return house_.wait_for_room(shared_from_this());
  held_ = length;
  is_ = phase::body;
  auto const now = clock_now();
  if (auto& patience = order_->told.patience) *patience -= std::min(*patience, now - since_);
  since_ = heard_ = now;
  read_body();
  feed();
  read();
}

void session::read_body() {
  if (auto const length = reader_->content_length()) order_->body.reserve(*length);
  if (reader_->start.version == 11 && reader_->start.find("expect")) {
    out_ += "HTTP/1.1 100 Continue\r\n\r\n";
    flush();
  }
}

/// The digest of what shows the server whose limit it is, as lanes know it: the proxy's own
/// credential, else the client's.
std::string session::credential() {
  std::vector<std::string> lines;
  auto const& u = to_->settings();
  auto const own = std::ranges::any_of(
      credentials, [&](std::string_view name) { return has_header(u.headers, name); });
  if (!own)
    for (auto const& f : reader_->start.fields)
      for (auto const name : credentials)
        if (equal_ignoring_case(f.name, name))
          lines.push_back(fmt::format("{}: {}", name, f.value));
  for (auto const& line : u.headers) lines.push_back(line);
  if (lines.empty()) return {};
  std::string all;
  for (auto const& line : lines) all.append(line).append("\n");
  if (all != credential_of_) {
    credential_ = credential_digest(lines);
    credential_of_ = std::move(all);
  }
  return credential_;
}

/// The request is whole.
void session::begin() {
  auto const self = shared_from_this();
  auto& o = *order_;
  o.head = std::make_shared<std::string const>(
      request_head(reader_->start, to_->settings(), o.target, o.body.size(), house_.mark()));
  if (held_ != o.body.size()) house_.release_bytes(held_ - o.body.size());
  held_ = 0;  // the exchange's
  reader_.reset();
  is_ = phase::answering;
  ended_ = false;
  exchange_ =
      std::make_shared<exchange>(house_, shared_from_this(), std::move(to_), std::move(*order_));
  order_.reset();
  auto const x = exchange_;
  x->start(clock_now());
}

// ── out ──────────────────────────────────────────────────────────────────────────────────────────

void session::refuse(refusal const& why) {
  auto const self = shared_from_this();
  auto const only_head = reader_ && reader_->has_head() && reader_->start.method == "HEAD";
  ended_request what;
  what.at = std::chrono::system_clock::now();
  what.id = house_.new_id();
  what.status = why.status;
  what.reason = why.code;
  what.ended = "refused";
  what.client = peer_;
  if (reader_ && reader_->has_head()) {
    auto const& r = reader_->start;
    what.method = r.method;
    what.path = r.target.substr(0, std::min(r.target.find('?'), path_shown));
  }
  if (to_) {
    ++to_->count.since.refused[what.reason];
    ++to_->count.since.requests[why.status];
    auto const second = second_of(clock_now());
    to_->count.requests.add(second);
    to_->count.refused.add(second);
    what.upstream = to_->settings().name;
  }
  house_.ended({.what = std::move(what), .upstream = duration(0)});
  is_ = phase::answering;
  // What of the body has not been read would be the next request.
  keeps_alive_ = keeps_alive_ && reader_ && reader_->has_head() && reader_->is_done() &&
                 reader_->start.version == 11;
  answer_begins(exchange::own_answer(why, keeps_alive_, only_head));
  answer_ends(false, keeps_alive_);
}

void session::answer_begins(std::string head) {
  begun_ = true;
  if (out_.empty())
    out_ = std::move(head);
  else
    out_ += head;
  if (is_full()) flush();  // nothing is added before it has gone
}

void session::answer_goes_on(std::string_view bytes, bool chunked) {
  if (bytes.empty()) return flush();
  if (chunked) {
    fmt::format_to(std::back_inserter(out_), "{:x}\r\n", bytes.size());
    out_.append(bytes).append("\r\n");
  } else {
    out_.append(bytes);
  }
  flush();
}

void session::answer_ends(bool chunked, bool keeps_alive) {
  exchange_.reset();
  if (chunked) out_ += "0\r\n\r\n";
  keeps_alive_ = keeps_alive;
  ended_ = true;
  flush();
}

void session::answer_breaks() {
  exchange_.reset();
  close();  // no client takes half for whole
}

bool session::is_full() const noexcept {
  return out_.size() + writing_.size() > unsent_max;
}

void session::flush() {
  if (is_ == phase::closed || !writing_.empty()) return;
  if (out_.empty()) {
    if (ended_) next();
    return;
  }
  std::swap(writing_, out_);
  write_due_ = clock_now() + write_max;
  house_.sent(writing_.size());
  asio::async_write(
      socket_, asio::buffer(writing_),
      [self = shared_from_this()](error_code e, std::size_t) { self->on_written(e); });
}

void session::on_written(error_code e) {
  write_due_ = never;
  writing_.clear();
  if (is_ == phase::closed) return;
  if (e) return close();
  flush();
  if (exchange_ && !is_full()) exchange_->go_on();
}

/// The answer has gone: the next request, or the end.
void session::next() {
  if (gone_) return close();
  ended_ = begun_ = skipped_ = false;
  order_.reset();
  to_.reset();
  reader_.reset();
  if (held_ > 0) house_.release_bytes(std::exchange(held_, 0));
  auto const on = keeps_alive_ && !drains_;
  if (!on) rest_.clear();
  for (auto* const s : {&writing_, &out_, &rest_})
    if (s->empty() && s->capacity() > small_read) s->shrink_to_fit();
  since_ = clock_now();
  if (!on) {
    is_ = phase::lingering;  // closing with unread bytes would reset the connection
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    return read();
  }
  is_ = phase::head;
  if (rest_.empty()) return read();
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->work();
    self->read();
  });
}

// ── life ─────────────────────────────────────────────────────────────────────────────────────────

void session::tick(time_point now) {
  auto const self = shared_from_this();
  if (exchange_) {
    auto const x = exchange_;
    x->tick(now);
  }
  auto due = never;
  switch (is_) {
    case phase::head:
      if (reader_ && now >= since_ + head_max)
        return refuse(
            {{408, "slow", fmt::format("the head did not come within {}", in_words(head_max))},
             std::nullopt});
      due = since_ + (house_.lacks_places() ? idle_max_short : idle_max);
      break;
    case phase::body:
      if (now >= body_due())
        return refuse({{408, "slow",
                        fmt::format("the body came too slowly: {} bytes in {}", order_->body.size(),
                                    in_words(now - since_))},
                       std::nullopt});
      break;
    case phase::lingering:
      due = since_ + linger_max;
      break;
    case phase::room:
      if (now - since_ >=
          std::min(order_->told.patience.value_or(to_->wait_max()), to_->wait_max()))
        return refuse({{503, "memory", "the bodies that wait leave no room for this one"}, 1s});
      break;
    case phase::answering:
    case phase::closed:
      break;
  }
  if (now >= std::min(due, write_due_)) close();
}

time_point session::body_due() const {
  auto const received = static_cast<double>(order_->body.size());
  auto const a_second = house_.lacks_room() ? body_bytes_a_second_short : body_bytes_a_second;
  return std::min(since_ + body_grace + from_seconds(received / a_second),
                  heard_ + body_silence_max);
}

void session::drain() {
  drains_ = true;
  error_code e;
  if (is_ == phase::head && !reader_ && rest_.empty() && socket_.available(e) == 0) close();
}

bool session::finish_drain() {
  if (is_ >= phase::answering) return false;
  refuse(being_stopped());
  return true;
}

void session::close() {
  if (is_ == phase::closed) return;
  auto const self = shared_from_this();
  is_ = phase::closed;
  if (auto const x = std::exchange(exchange_, nullptr)) x->leave();
  error_code ignored;
  socket_.close(ignored);
}

}  // namespace headway::app::proxy
