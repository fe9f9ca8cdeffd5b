#include "whatif/trace_reader.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/fatal.hpp"
#include "base/text.hpp"
#include "headway/text/law.hpp"
#include "pacing/lanes.hpp"
#include "pacing/laws.hpp"

namespace headway::app {
namespace {

constexpr std::size_t line_max = 256 << 10;
constexpr std::int64_t instant_max = 4'000'000'000'000'000'000;  // 126 years

template <class Number>
constexpr std::pair<Number, Number> any_of_type = {std::numeric_limits<Number>::min(),
                                                   std::numeric_limits<Number>::max()};

reason reason_named(std::string_view name) {
  auto why = reason::none;
  while (why < reason::cancelled && to_string(why) != name)
    why = static_cast<reason>(static_cast<int>(why) + 1);
  return why;
}

constexpr std::array<std::string_view, 12> call_names = {"scope",  "submit", "start",  "learn",
                                                         "finish", "cancel", "wakeup", "look",
                                                         "claim",  "limit",  "leave",  "end"};

}  // namespace

/// A JSON object whose errors name file, line and key.
class trace_reader::object {
 public:
  object(trace_reader const& where, simdjson::dom::object o) : where_(where), object_(o) {}

  bool has(std::string_view key) const { return object_.at_key(key).error() == simdjson::SUCCESS; }

  std::string_view text(std::string_view key) const { return get<std::string_view>(key, "text"); }
  double real(std::string_view key) const { return get<double>(key, "a number"); }
  bool flag(std::string_view key) const { return get<bool>(key, "true or false"); }
  std::uint64_t natural(std::string_view key) const {
    return get<std::uint64_t>(key, "a whole number from 0 to 18446744073709551615");
  }
  template <class Number = std::int64_t>
  Number whole(std::string_view key, std::pair<Number, Number> range = any_of_type<Number>) const {
    std::int64_t n = 0;
    if (object_.at_key(key).get(n) != simdjson::SUCCESS || n < range.first || n > range.second)
      fail(key, fmt::format("a whole number from {} to {}", range.first, range.second));
    return static_cast<Number>(n);
  }
  template <class Enum, std::size_t N>
  Enum one_of(std::string_view key, std::array<std::string_view, N> const& names) const {
    auto const found = std::ranges::find(names, text(key));
    if (found == names.end()) fail(key, fmt::format("one of {}", fmt::join(names, ", ")));
    return static_cast<Enum>(found - names.begin());
  }
  object inner(std::string_view key) const {
    return {where_, get<simdjson::dom::object>(key, "an object")};
  }

 private:
  template <class T>
  T get(std::string_view key, std::string_view allowed) const {
    T value{};
    if (object_.at_key(key).get(value) != simdjson::SUCCESS) fail(key, allowed);
    return value;
  }
  [[noreturn]] void fail(std::string_view key, std::string_view allowed) const {
    where_.fail(fmt::format("\"{}\" is not {}", key, allowed));
  }

  trace_reader const& where_;
  simdjson::dom::object object_;
};

trace_reader::trace_reader(std::string path)
    : path_(std::move(path)),
      in_(path_, std::ios::binary),
      buffer_(line_max + simdjson::SIMDJSON_PADDING, '\0'),
      json_(std::make_unique<simdjson::dom::parser>()) {
  if (!in_) throw fatal(exit_usage, fmt::format("cannot read {}: {}", path_, std::strerror(errno)));
  read_head();
}

trace_reader::~trace_reader() = default;

void trace_reader::fail(std::string_view what) const {
  throw fatal(exit_usage, fmt::format("{}:{}: {}", path_, line_, what));
}

bool trace_reader::read_line() {
  in_.getline(buffer_.data(), line_max);
  auto const taken = static_cast<std::size_t>(in_.gcount());
  if (in_.bad()) throw fatal(exit_usage, fmt::format("cannot read {}", path_));
  if (taken == 0 && in_.eof()) return false;
  ++line_;
  if (in_.fail()) fail(fmt::format("the line has more than {} bytes", line_max - 2));
  size_ = in_.eof() ? taken : taken - 1;
  return true;
}

trace_reader::object trace_reader::parse() {
  simdjson::dom::object o;
  if (json_->parse(buffer_.data(), size_, false).get(o) != simdjson::SUCCESS)
    fail("not a line of a trace, a JSON object");
  return {*this, o};
}

void trace_reader::read_head() {
  if (!read_line()) throw fatal(exit_usage, path_ + ": it is empty, not a trace");
  auto const o = parse();
  if (!o.has("headway_trace")) fail("no trace begins so: see headway run --trace");
  head_.format = o.whole<int>("headway_trace", {1, trace_format});
  head_.version = o.text("version");
  try {
    head_.law = parse_law(o.text("law"));
  } catch (std::invalid_argument const& wrong) {
    fail(fmt::format("\"law\": {}", wrong.what()));
  }
  if (o.has("leave")) leave(head_.law.law, share_of(o, "leave"));
  head_.began = time_point(duration(o.whole("began", {0, instant_max})));

  auto& s = head_.settings;
  s.attempts_max = o.whole<int>("attempts_max");
  s.queue_max = o.natural("queue_max");
  s.hint_max = duration(o.whole("hint_max"));
  s.first_alone = duration(o.whole("first_alone"));
  s.throttled = o.one_of<after_throttle>("throttled", after_throttle_names);
  s.quiet_successes = o.whole<int>("quiet_successes");
  s.in_flight_max = o.whole<int>("in_flight_max");
  auto const budget = o.inner("budget");
  s.budget.ratio = budget.real("ratio");
  s.budget.per_second = budget.real("per_second");
  s.budget.balance_max = budget.real("balance_max");
  s.budget.balance = budget.real("balance");
  s.rate_ceiling = rate_ceiling_of(o);
}

double trace_reader::share_of(object const& o, char const* key) const {
  auto const share = o.real(key);
  if (!(share >= 0 && share < 1)) fail(fmt::format("\"{}\" is not from 0 to 1", key));
  if (!leave_of(head_.law.law)) fail("this law leaves nothing");
  return share;
}

std::optional<gcra> trace_reader::rate_ceiling_of(object const& o) const {
  if (!o.has("rate_ceiling")) return std::nullopt;
  auto const ceiling = o.inner("rate_ceiling");
  return gcra{.interval = duration(ceiling.whole("interval", {1, instant_max})),
              .burst_tolerance = duration(ceiling.whole("burst_tolerance", {0, instant_max}))};
}

std::optional<traced_call> trace_reader::next() {
  if (!read_line()) return std::nullopt;
  auto const o = parse();
  traced_call c;
  using kind = traced_call::kind;
  if (o.has("ctl")) {
    c.what = kind::ctl;
    c.at = head_.began + duration(o.whole("t", {0, instant_max}));
    c.words = o.text("ctl");
    return c;
  }
  c.scope = o.whole<int>("scope");
  if (o.has("told")) {
    c.what = kind::cost;
    c.at = head_.began + duration(o.whole("t", {0, instant_max}));
    c.name = o.text("quota");
    c.expected = o.real("expected"), c.told = o.real("told");
    if (!open_.contains(c.scope)) fail(fmt::format("there is no scope {} here", c.scope));
    return c;
  }
  if (o.has("held")) {
    c.what = kind::held;
    c.at = head_.began + duration(o.whole("t", {0, instant_max}));
    c.why = reason_named(o.text("held"));
    if (!open_.contains(c.scope)) fail(fmt::format("there is no scope {} here", c.scope));
    return c;
  }
  if (o.has("page")) c.page = o.text("page");
  if (o.has("seat")) c.seat = o.whole<int>("seat", {0, common_pace::members_max - 1});
  if (o.has("limit")) c.belief = learned{.rate = o.real("limit")};
  if (o.has("slots")) c.belief = learned{.slots = o.real("slots")};
  if (!o.has("call")) {
    c.name = o.text("name");
    if (o.has("remembered")) {
      auto const m = o.inner("remembered");
      c.memory = {{m.real("rate"), m.real("slots"), m.real("latency")},
                  duration(m.whole("age", {0, instant_max}))};
    }
    if (!open_.insert(c.scope).second) fail(fmt::format("scope {} is there already", c.scope));
    if (open_.size() > lanes::lanes_max + 1)  // a new one is made before it takes another's place
      fail(fmt::format("more than {} scopes at once", lanes::lanes_max));
    return c;
  }
  c.what = o.one_of<kind>("call", call_names);
  if (c.what == kind::scope) fail("a scope's line has no \"call\"");
  if (!open_.contains(c.scope)) fail(fmt::format("there is no scope {} here", c.scope));
  c.at = head_.began + duration(o.whole("t", {0, instant_max}));
  if (c.what == kind::submit) {
    c.terms.cost = o.whole("cost", {1, any_of_type<std::int64_t>.second});
    if (o.has("deadline"))
      c.terms.deadline = head_.began + duration(o.whole("deadline", {0, instant_max}));
    if (o.has("failures"))
      c.terms.failures = o.whole<int>("failures", {0, any_of_type<int>.second});
    if (o.has("throttles"))
      c.terms.throttles = o.whole<int>("throttles", {0, any_of_type<int>.second});
    c.ended = o.has("refused");
  }
  if (c.what == kind::wakeup) c.why = reason_named(o.text("why"));
  if (c.what == kind::look) c.held_elsewhere = o.has("held_elsewhere");
  if (c.what == kind::claim) {
    c.terms.cost = o.whole("cost", {1, any_of_type<std::int64_t>.second});
    c.u = o.natural("u");
  }
  if (c.what == kind::limit) {
    c.rate = rate_ceiling_of(o);
    c.in_flight_max = o.whole<int>("in_flight_max");
  }
  if (c.what == kind::leave) {
    c.share = share_of(o, "share");
  }
  auto const answers = c.what == kind::learn || c.what == kind::finish;
  auto const has_ticket = answers || c.what == kind::start || c.what == kind::cancel ||
                          (c.what == kind::submit && !c.ended);
  if (has_ticket) c.id = ticket{o.natural("ticket")};
  if (answers || c.what == kind::start) c.u = o.natural("u");
  if (c.what == kind::start && o.has("quota_until"))
    c.quota_until = head_.began + duration(o.whole("quota_until", {0, instant_max}));
  if (answers) {
    c.result.what = o.one_of<outcome>("outcome", outcome_names);
    if (o.has("short_of")) c.result.short_of = o.one_of<resource>("short_of", resource_names);
    if (o.has("retry_after")) c.result.advice.retry_after = duration(o.whole("retry_after"));
    if (o.has("remaining"))
      c.result.advice.remaining = o.whole("remaining", any_of_type<std::int64_t>);
    if (o.has("reset")) c.result.advice.reset = duration(o.whole("reset"));
    if (o.has("shared")) c.result.advice.shared = o.flag("shared");
    if (o.has("may_retry")) c.result.may_retry = o.flag("may_retry");
    if (o.has("held_elsewhere")) c.result.held_elsewhere = o.flag("held_elsewhere");
  }
  if (c.what == kind::finish) {
    auto const v = o.one_of<verdict>("verdict", verdict_names);
    c.ended = v == verdict::done || v == verdict::give_up;
  }
  if (c.what == kind::end) open_.erase(c.scope);
  return c;
}

}  // namespace headway::app
