#include "proxy/exchange.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/http/status.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "proxy/inflate.hpp"
#include "proxy/service.hpp"

namespace headway::app::proxy {
namespace {

constexpr duration silence_max = 600s;
constexpr duration judging_max = 10s;
constexpr auto first_bytes_max = std::chrono::seconds(1);  // after the head
constexpr std::size_t own_share = 64 * 1024;  // of an answer, which counts as held beyond that
constexpr std::size_t error_looked_at = own_share;
constexpr std::size_t event_looked_at = 4 * 1024;
constexpr std::size_t success_looked_at = std::size_t{1} << 20;
constexpr std::size_t inflated_max = 256 * 1024;
constexpr std::size_t piece_max = 16 * 1024;  // that the client is given at once
constexpr int interim_max = 10;

std::string_view reason_phrase(int status) noexcept {
  auto const words = beast::http::obsolete_reason(static_cast<beast::http::status>(status));
  return {words.data(), words.size()};
}

}  // namespace

exchange::exchange(service& house, std::shared_ptr<client_side> asks, std::shared_ptr<server> to,
                   order asked)
    : house_(house),
      client_(std::move(asks)),
      to_(std::move(to)),
      what_(std::move(asked)),
      arrived_(clock_now()) {
  in_ = what_.body.size();
}

exchange::~exchange() {
  where.reset();  // before its server
  house_.release_bytes(what_.body.size() + kept_);
}

void exchange::start(time_point now) {
  auto const& u = to_->settings();
  auto const url = u.origin + what_.target;
  auto const& speaks = to_->speaks();
  this->what.size = {.bytes = static_cast<double>(what_.body.size()),
                     .given = what_.told.costs,
                     .reserved = speaks.reserved_by(what_.body)};
  first = what_.told.first;
  client = what_.client;
  deadline = now + std::min(what_.told.patience.value_or(to_->wait_max()), to_->wait_max());
  told_patience = what_.told.patience.has_value();
  since_ = now;
  auto const self = shared_from_this();
  if (auto no = to_->join(now, *this,
                          {.origin = u.origin,
                           .credential = what_.credential,
                           .given = what_.scope,
                           .url = url,
                           .body = what_.body}))
    on_refused(std::move(*no));
}

// ── an attempt ───────────────────────────────────────────────────────────────────────────────────

void exchange::on_turn(time_point now) {
  waited_ += now - since_;
  since_ = now;
  is_ = phase::flying;
  ++attempts_;
  interim_ = 0;
  written_ = settled_ = any_bytes_ = false;
  due_ = now + silence_max;
  make_reader();
  wire_ = to_->connections().take(*this, std::exchange(fresh_, false) || to_->is_absent());
  ++(wire_->open() ? to_->count.since.reused : to_->count.since.connects);
  if (wire_->open())
    on_connected();
  else
    wire_->connect(*this);
}

void exchange::on_connected() {
  if (!wire_->used_before()) to_->reached(clock_now());
  auto head = what_.head;
  if (auto* const values = to_->renews()) {
    head = std::make_shared<std::string const>(values->filled(*head));
    values_ = values->generation();
  }
  wire_->send(std::move(head), what_.body, shared_from_this());
}

void exchange::on_bytes(std::string_view bytes) {
  auto const self = shared_from_this();
  any_bytes_ = true;
  if (is_ != phase::judging) due_ = std::max(due_, clock_now() + silence_max);
  std::string joined;
  if (!rest_.empty()) {
    joined = std::exchange(rest_, {}).append(bytes);
    bytes = joined;
  }
  while (!reader_->is_done() && !bytes.empty()) {
    auto const had_head = reader_->has_head();
    error_code e;
    auto const used = reader_->feed(bytes, e);
    if (e) return malformed(e.message());
    bytes.remove_prefix(used);
    if (!had_head && reader_->has_head() && !on_head()) return;
    if (used == 0) break;
  }
  extra_ = reader_->is_done() && !bytes.empty();
  if (!reader_->is_done()) rest_.assign(bytes);
  if (is_ == phase::judging)
    look_closer();
  else if (is_ == phase::passing)
    pass_body();
}

/// False where there is nothing more to do.
bool exchange::on_head() {
  auto const status = reader_->start.status;
  if (auto const flaw = flaw_of(reader_->start); !flaw.empty()) return malformed(flaw), false;
  if (status == 101) return malformed("101, though no upgrade was asked for"), false;
  if (status < 200) {  // Python's client would take 103 for the answer
    if (++interim_ > interim_max) return malformed("too many interim answers"), false;
    make_reader();
    return true;
  }
  is_ = phase::judging;
  headed_ = clock_now();
  look_at_ = 0;
  to_->count.since.upstream_head.add(headed_ - since_);
  return true;
}

void exchange::make_reader() {
  reader_ = std::make_unique<answer_reader>();
  if (what_.method == "HEAD") reader_->skip(true);
}

void exchange::on_end(std::string_view why) {
  auto const self = shared_from_this();
  if (reader_->has_head() && why.empty()) {
    error_code cut_short;
    reader_->end(cut_short);
    if (!cut_short) {
      if (is_ == phase::judging)
        look_closer();
      else
        pass_body();
      return;
    }
  }
  broke(why.empty() ? "the server closed the connection" : why);
}

// ── what the answer means ────────────────────────────────────────────────────────────────────────

answer_view exchange::view() const {
  auto const& h = reader_->start;
  return {.status = h.status,
          .fields = h.fields,
          .type = h.find("content-type").value_or(""),
          .body = reader_->body};
}

/// The body as a judge can read it: decompressed, as far as it has come.
std::string exchange::readable(std::string_view body) const {
  return inflated(body.substr(0, success_looked_at),
                  reader_->start.find("content-encoding").value_or(""), inflated_max);
}

/// Judges the answer as soon as it can be judged.
void exchange::look_closer() {
  auto const& speaks = to_->speaks();
  auto seen = view();
  auto const done = reader_->is_done();
  auto const good = seen.status >= 200 && seen.status <= 299;
  auto const stream = good && seen.type.starts_with("text/event-stream");
  auto const first_look = std::exchange(looked_, true) == false;
  auto const judge_all = [&] {
    auto const text = readable(seen.body);
    seen.body = text;
    return speaks.judge(seen, what_.body, wall_now());
  };
  if (done && good && to_->tells_costs()) return judged(judge_all());
  if (first_look || stream)
    if (auto told = speaks.judge_head(seen, wall_now())) return judged(std::move(*told));
  if (first_look) {
    look_at_ = stream ? event_looked_at : good ? success_looked_at : error_looked_at;
    if (stream && !done)
      be_patient([](exchange& x) {
        if (x.is_ != phase::judging) return;
        x.look_no_more();
        x.begin_now();
      });
    due_ = headed_ + judging_max;
  }
  if (done || reader_->body.size() >= look_at_ || !keeps(reader_->body.size())) judged(judge_all());
}

/// Whether so much of the answer can be kept, to be read.
bool exchange::keeps(std::size_t bytes) {
  if (bytes <= own_share + kept_) return true;
  auto const more = bytes - own_share - kept_;
  if (!house_.hold_bytes(more)) return false;
  kept_ += more;
  return true;
}

/// Does this if nothing else comes of it in a second.
void exchange::be_patient(void (*then)(exchange&)) {
  patience_ = std::make_unique<asio::steady_timer>(house_.io(), first_bytes_max);
  patience_->async_wait([weak = weak_from_this(), then](error_code e) {
    if (auto const self = weak.lock(); !e && self) then(*self);
  });
}

/// Judges it by what has come.
void exchange::look_no_more() {
  auto const self = shared_from_this();
  auto seen = view();
  auto const text = readable(seen.body);
  seen.body = text;
  judged(to_->speaks().judge(seen, what_.body, wall_now()));
}

void exchange::judged(judgement told) {
  patience_.reset();
  told_ = std::move(told);
  if (reader_->start.status == 401 && to_->renews() != nullptr &&
      what_.told.again != hints::repeat::never && !std::exchange(renewed_, true))
    return renew();
  if (!throttles(told_.what) && told_.what != reaction::transient) {
    auto const streams = !reader_->is_done();  // the law need not wait for its end
    if (streams) to_->hear(clock_now(), *this, told_, reader_->start.status);
    pass_on(false);
    if (streams) to_->pump(clock_now(), *where);
    return;
  }
  auto const now = clock_now();
  auto const status = reader_->start.status;
  auto const again =
      what_.idempotent || house_.retry_unsafe() || what_.told.again == hints::repeat::always;
  auto const said = told_.words();
  auto const error =
      fmt::format("status {}{}{}", status, said.empty() ? "" : ": ", printable(said));
  auto const ruled = settle(told_, again, error);
  if (ruled.taught == outcome::throttle) ++throttled_;
  auto const waits = waits_for(ruled, now);
  if (waits) {
    give_up_answer();
    wait(now);
  } else {
    pass_on(true);
  }
  to_->pump(clock_now(), *where);
}

/// The server has refused the values of --header-cmd, and so has not carried it out: it goes again
/// with new ones.
void exchange::renew() {
  auto const now = clock_now();
  settle(told_, false, "status 401", true);
  to_->renews()->refuse(values_);
  give_up_answer();
  wait(now);
  to_->turn_again(now, *this);
}

lane::settled exchange::settle(judgement const& told, bool may_repeat, std::string_view error,
                               bool says_nothing) {
  settled_ = true;
  return to_->settle(clock_now(), *this, told,
                     {.status = reader_ && reader_->has_head() ? reader_->start.status : 0,
                      .says_nothing = says_nothing,
                      .may_repeat = may_repeat,
                      .error = error});
}

/// Whether it goes again, and in time. Where not, it is in no queue any more.
bool exchange::waits_for(lane::settled const& ruled, time_point now) {
  if (ruled.ruling.what != verdict::retry && ruled.ruling.what != verdict::park) return false;
  if (ruled.alone) return false;
  if (ruled.ruling.what == verdict::retry && what_.told.again != hints::repeat::never &&
      ruled.ruling.until <= deadline)
    return true;
  to_->leave(now, *this);
  return false;
}

void exchange::wait(time_point now) {
  is_ = phase::waiting;
  since_ = now;
  due_ = never;
}

/// Gives its wire back, whose answer is whole, or closes it.
void exchange::release() {
  if (!wire_) return;
  auto const w = std::exchange(wire_, nullptr);
  auto const whole = reader_ && reader_->has_head() && reader_->is_done() && !extra_ && written_;
  if (whole && reader_->keep_alive())
    to_->connections().give_back(w);
  else
    to_->connections().drop(w);
}

void exchange::give_up_answer() {
  release();
  reader_.reset();
  house_.release_bytes(std::exchange(kept_, 0));
  rest_.clear();
  begins_.clear();
  patience_.reset();
  looked_ = false;
}

// ── what goes wrong ──────────────────────────────────────────────────────────────────────────────

void exchange::on_unreached(std::string_view why, unreached how) {
  auto const self = shared_from_this();
  if (how != unreached::refused)
    return broke(why, how == unreached::futile ? breakage::futile : breakage::plain);
  auto const now = clock_now();
  --attempts_;  // nothing was sent
  give_up_answer();
  wait(now);
  to_->refused_connection(now, *this, why, what_.told.again != hints::repeat::never);
}

void exchange::malformed(std::string_view why) {
  broke(fmt::format("a malformed answer: {}", why));
}

void exchange::broke(std::string_view why, breakage how) {
  auto const silent = how == breakage::silent;
  auto const now = clock_now();
  auto const sent = wire_->has_sent();
  if (sent) ends_ = final_outcome::unknown;
  auto const stale = wire_->used_before() && sent && !any_bytes_ && !silent;
  auto const again = !begun_ && how == breakage::plain &&
                     (!sent || what_.idempotent || house_.retry_unsafe() ||
                      what_.told.again == hints::repeat::always) &&
                     what_.told.again != hints::repeat::never;
  auto const wait_again = [&] {
    give_up_answer();
    wait(now);
  };
  judgement const broken{.what = reaction::transient};
  if (!settled_) {
    auto const ruled = settle(broken, again && !stale, why);
    if (stale && again) {
      fresh_ = true;  // one that was just made does not die of old age
      wait_again();
      return to_->turn_again(now, *this);
    }
    if (waits_for(ruled, now)) {
      wait_again();
      return to_->pump(clock_now(), *where);
    }
  }
  give_up_answer();
  to_->pump(clock_now(), *where);
  if (begun_) {
    if (client_ != nullptr) client_->answer_breaks();
    return end("broken", final_outcome::unknown);
  }
  on_refused({{silent ? 504 : 502, silent ? "silent" : "broken",
               fmt::format("{}: {}", to_->settings().name, in_utf8(printable(why)))},
              std::nullopt});
}

void exchange::tick(time_point now) {
  if (now < due_ || is_ == phase::over) return;
  auto const self = shared_from_this();
  if (is_ == phase::judging)
    look_no_more();
  else if (is_ == phase::flying || is_ == phase::passing)
    broke(fmt::format("silent for {} s", silence_max / 1s), breakage::silent);
}

void exchange::leave() {
  if (is_ == phase::over) return;
  auto const self = shared_from_this();
  auto const now = clock_now();
  client_ = nullptr;
  auto const sent = begun_ || ends_ == final_outcome::unknown || (wire_ && wire_->has_sent());
  ++to_->count.since.left[is_ == phase::waiting ? "waiting" : begun_ ? "streaming" : "flying"];
  to_->count.left.add(second_of(now));
  to_->leave(now, *this);
  give_up_answer();
  if (where != nullptr) to_->pump(clock_now(), *where);
  end("left", sent ? final_outcome::unknown : final_outcome::failed);
}

// ── what goes to the client ──────────────────────────────────────────────────────────────────────

std::string exchange::marks() const {
  auto const waited = std::chrono::round<std::chrono::milliseconds>(waited_).count();
  std::string text =
      fmt::format(FMT_COMPILE("X-Headway-Waited: {}.{:03}\r\nX-Headway-Attempts: {}\r\n"
                              "X-Headway-Throttled: {}\r\n"),
                  waited / 1000, waited % 1000, attempts_, throttled_);
  if (where != nullptr) {
    text += "X-Headway-Scope: ";
    for (char const c : where->in->title()) text += c >= ' ' && c <= '~' ? c : '?';
    text += "\r\n";
  }
  return text;
}

void exchange::on_refused(refusal why) {
  auto const self = shared_from_this();
  auto const now = clock_now();
  if (is_ == phase::waiting) waited_ += now - since_;
  if (why.status == 502 || why.status == 504)
    why.message += ends_ == final_outcome::unknown
                       ? "; the request was sent, and may have been carried out"
                       : "; the request was not sent";
  status_ = why.status;
  reason_ = why.code;
  ++to_->count.since.refused[std::string(why.code)];
  to_->count.refused.add(second_of(now));
  if (client_ != nullptr) {
    auto const keeps = what_.keeps_alive && what_.version == 11 && !house_.draining();
    client_->answer_begins(own_answer(why, keeps, what_.method == "HEAD", marks()));
    client_->answer_ends(false, keeps);
  }
  end("refused", ends_);
}

std::string exchange::own_answer(refusal const& why, bool keeps_alive, bool only_head,
                                 std::string_view more) {
  std::string body = R"({"error":{"type":"headway","code":)";
  append_quoted(body, why.code);
  body += R"(,"message":)";
  append_quoted(body, in_utf8(why.message));
  body += R"(},"reason":)";
  append_quoted(body, why.code);
  if (why.again) body += fmt::format(R"(,"retry_after":{:.1f})", to_seconds(*why.again));
  body += "}\n";
  auto text = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n"
      "X-Headway-Reason: {}\r\n",
      why.status, reason_phrase(why.status), body.size(), why.code);
  if (why.status == 503) {
    auto const seconds = std::chrono::ceil<std::chrono::seconds>(why.again.value_or(1s)).count();
    text += fmt::format("Retry-After: {}\r\n", std::clamp<std::int64_t>(seconds, 1, 86'400));
  }
  text += more;
  if (!keeps_alive) text += "Connection: close\r\n";
  text += "\r\n";
  if (!only_head) text += body;
  return text;
}

void exchange::pass_on(bool given_up) {
  auto const& h = reader_->start;
  is_ = phase::passing;
  due_ = clock_now() + silence_max;
  auto const bodiless =
      what_.method == "HEAD" || h.status == 204 || h.status == 304 || h.status < 200;
  how_ = bodiless                   ? framing::none
         : h.find("content-length") ? framing::length
         : what_.version == 11      ? framing::chunks
                                    : framing::close;
  keeps_alive_ = what_.keeps_alive && how_ != framing::close && !house_.draining();
  streamed_ = !reader_->is_done();
  sees_ = streamed_ && to_->tells_costs();
  auto& text = begins_ = answer_head(h, to_->settings(), what_.base, how_, keeps_alive_);
  if (keeps_alive_ && what_.version == 10) text += "Connection: keep-alive\r\n";
  text += marks();
  if (given_up) text += "x-should-retry: false\r\nstripe-should-retry: false\r\n";
  text += "\r\n";
  if (reader_->is_done() || !reader_->body.empty()) return pass_body();
  be_patient([](exchange& x) { x.begin_now(); });  // it may break before there is more than a head
}

/// Passes the head on: from now on nothing is repeated.
void exchange::begin() {
  if (std::exchange(begun_, true)) return;
  patience_.reset();
  status_ = reader_->start.status;
  what_.head.reset();
  if (written_) house_.release_bytes(std::exchange(what_.body, {}).size());
  if (client_ != nullptr) client_->answer_begins(std::move(begins_));
}

/// Without waiting for the body.
void exchange::begin_now() {
  if (is_ != phase::passing) return;
  begin();
  if (client_ != nullptr) client_->answer_goes_on("", false);
}

/// Passes on what has come, as far as the client takes it.
void exchange::pass_body() {
  auto& body = reader_->body;
  auto const done = reader_->is_done();
  if (!body.empty() || done) begin();
  auto const ends = done && wire_;
  if (ends) whole();
  while (passed_ < body.size() && !client_->is_full()) {
    auto const piece = std::string_view(body).substr(passed_, piece_max);
    passed_ += piece.size();
    out_ += piece.size();
    see(piece);
    if (how_ != framing::none) client_->answer_goes_on(piece, how_ == framing::chunks);
  }
  if (passed_ == body.size()) {
    passed_ = 0;
    body.clear();
    if (body.capacity() > own_share) body.shrink_to_fit();
    if (kept_ > 0) {
      house_.release_bytes(std::exchange(kept_, 0));
      keeps(seen_.size());
    }
    if (done) complete();
  }
  if (wire_ && client_->is_full()) wire_->pause();
  if (ends) to_->pump(clock_now(), *where);
}

/// Remembers it for what it says that the request has cost.
void exchange::see(std::string_view piece) {
  if (settled_ || !sees_) return;
  auto const all = seen_.size() + piece.size();
  sees_ = all <= success_looked_at && keeps(all + reader_->body.size() - passed_);
  if (sees_) seen_ += piece;
}

void exchange::go_on() {
  if (is_ != phase::passing) return;
  auto const self = shared_from_this();
  if (begun_) pass_body();
  if (wire_ && !client_->is_full()) wire_->resume();
}

/// The server has done its part, and others may have its turn and wire.
void exchange::whole() {
  if (!settled_) {
    see(std::string_view(reader_->body).substr(passed_));
    if (!seen_.empty()) {
      auto all = view();
      auto const text = readable(seen_);
      all.body = text;
      told_.costs = to_->speaks().judge(all, what_.body, wall_now()).costs;
    }
    settle(told_, false, "");
  }
  due_ = never;
  release();
}

void exchange::complete() {
  to_->served(clock_now(), what_.client);
  client_->answer_ends(how_ == framing::chunks, keeps_alive_);
  end("done", told_.what == reaction::served ? final_outcome::success : final_outcome::failed);
}

void exchange::end(std::string_view how, final_outcome outcome) {
  auto const now = clock_now();
  is_ = phase::over;
  due_ = never;
  client_ = nullptr;
  patience_.reset();
  auto& count = to_->count;
  count.requests.add(second_of(now));
  if (status_ != 0) ++count.since.requests[status_];
  count.since.by_scope.ended(where ? where->name : "other", outcome);
  count.waits.add(now, waited_);
  count.since.wait.add(waited_);
  count.since.request.add(now - arrived_);
  house_.ended({.what = {.at = std::chrono::system_clock::now(),
                         .id = what_.id,
                         .upstream = to_->settings().name,
                         .method = what_.method,
                         .path = what_.path,
                         .status = status_,
                         .reason = reason_,
                         .ended = std::string(how),
                         .waited = waited_,
                         .took = now - arrived_,
                         .attempts = attempts_,
                         .throttled = throttled_,
                         .streamed = streamed_,
                         .client = what_.client},
                .scope = where != nullptr ? where->name : std::string(),
                .trace = what_.trace,
                .upstream = headed_ != time_point{} ? headed_ - since_ : duration(0),
                .in = in_,
                .out = out_});
}

}  // namespace headway::app::proxy
