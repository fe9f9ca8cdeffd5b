#include "pacing/trace.hpp"

#include <fcntl.h>
#include <fmt/compile.h>
#include <fmt/format.h>

#include <boost/pfr.hpp>
#include <cstddef>
#include <exception>
#include <iterator>
#include <type_traits>
#include <utility>

#include "base/json_text.hpp"
#include "pacing/laws.hpp"

namespace headway::app {
namespace {

constexpr std::size_t unwritten_max = 64 << 10;
constexpr std::size_t name_max = 200;

template <std::size_t N, class Enum>
std::string_view name_of(std::array<std::string_view, N> const& names, Enum value) {
  return names.at(static_cast<std::size_t>(value));
}

/// The fields of a policy, whichever it is, in order; doubles as the shortest text that reads back
/// to the same bits.
template <class T>
void append_state(std::string& out, T const& v) {
  if constexpr (std::is_arithmetic_v<T>) {
    if (!out.empty()) out += ' ';
    fmt::format_to(std::back_inserter(out), "{}", v);
  } else if constexpr (requires { v.time_since_epoch(); }) {
    append_state(out, v.time_since_epoch().count());
  } else if constexpr (requires { v.count(); }) {
    append_state(out, v.count());
  } else if constexpr (requires { v.valueless_by_exception(); }) {
    append_state(out, v.index());
    std::visit([&](auto const& chosen) { append_state(out, chosen); }, v);
  } else if constexpr (!std::is_empty_v<T>) {
    boost::pfr::for_each_field(v, [&](auto const& field) { append_state(out, field); });
  }
}

template <class T>
std::string state(T const& v) {
  std::string out;
  append_state(out, v);
  return out;
}

/// At most name_max bytes, cut between characters.
std::string_view shortened(std::string_view name) noexcept {
  if (name.size() <= name_max) return name;
  auto end = name_max;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;
  return name.substr(0, end);
}

}  // namespace

trace::trace(std::string const& path) : file_(file::open(path, O_WRONLY | O_CREAT | O_TRUNC)) {}

trace::~trace() {
  try {
    flush();
  } catch (std::exception const&) {  // a caller that must know has called flush()
  }
}

void trace::head(trace_head const& h) {
  began_ = h.began;
  auto const& s = h.settings;
  auto const out = std::back_inserter(lines_);
  fmt::format_to(
      out,
      R"({{"headway_trace":{},"version":"{}","began":{},"law":"{}","attempts_max":{},"queue_max":{},)"
      R"("hint_max":{},"first_alone":{},"throttled":"{}","quiet_successes":{},"in_flight_max":{},)"
      R"("budget":{{"ratio":{},"per_second":{},"balance_max":{},"balance":{}}})",
      trace_format, h.version, began_.time_since_epoch().count(), h.law.name, s.attempts_max,
      s.queue_max, s.hint_max.count(), s.first_alone.count(),
      name_of(after_throttle_names, s.throttled), s.quiet_successes, s.in_flight_max,
      s.budget.ratio, s.budget.per_second, s.budget.balance_max, s.budget.balance);
  if (auto const& ceiling = s.rate_ceiling)
    fmt::format_to(out, R"(,"rate_ceiling":{{"interval":{},"burst_tolerance":{}}})",
                   ceiling->interval.count(), ceiling->burst_tolerance.count());
  if (auto const share = leave_of(h.law.law).value_or(0); share > 0)
    fmt::format_to(out, R"(,"leave":{})", share);
  fmt::format_to(out, R"(,"state":"{}","backoff":"{}")", state(h.law.law), state(h.law.backoff));
  close_line();
}

void trace::scope(int scope, std::string_view name, std::optional<remembered> const& memory) {
  fmt::format_to(std::back_inserter(lines_), R"({{"scope":{},"name":)", scope);
  append_quoted(lines_, shortened(name));
  if (memory)
    fmt::format_to(std::back_inserter(lines_),
                   R"(,"remembered":{{"rate":{},"slots":{},"latency":{},"age":{}}})",
                   memory->what.rate, memory->what.slots, memory->what.latency,
                   memory->age.count());
  close_line();
}

void trace::submit(int scope, time_point now, request_terms const& terms,
                   std::variant<ticket, refused> answer) {
  auto const out = std::back_inserter(lines_);
  open_line("submit", scope, now);
  fmt::format_to(out, FMT_COMPILE(R"(,"cost":{})"), terms.cost);
  if (terms.deadline != never) field("deadline", terms.deadline);
  if (terms.failures > 0) fmt::format_to(out, FMT_COMPILE(R"(,"failures":{})"), terms.failures);
  if (terms.throttles > 0) fmt::format_to(out, FMT_COMPILE(R"(,"throttles":{})"), terms.throttles);
  if (auto const* no = std::get_if<refused>(&answer)) {
    fmt::format_to(out, FMT_COMPILE(R"(,"refused":"{}")"), to_string(no->why));
    field("until", no->until);
  } else {
    fmt::format_to(out, FMT_COMPILE(R"(,"ticket":{})"),
                   static_cast<std::uint64_t>(std::get<ticket>(answer)));
  }
  close_line();
}

void trace::start(int scope, time_point now, ticket t, fraction u,
                  std::optional<time_point> quota_until) {
  open_line("start", scope, now);
  fmt::format_to(std::back_inserter(lines_), FMT_COMPILE(R"(,"ticket":{},"u":{})"),
                 static_cast<std::uint64_t>(t), u);
  if (quota_until) field("quota_until", *quota_until);
  close_line();
}

void trace::finish(int scope, time_point now, ticket t, attempt_result const& r, fraction u,
                   decision const& answer) {
  auto const out = std::back_inserter(lines_);
  open_line("finish", scope, now);
  fmt::format_to(out, FMT_COMPILE(R"(,"ticket":{},"outcome":"{}")"), static_cast<std::uint64_t>(t),
                 name_of(outcome_names, r.what));
  if (r.short_of != resource::unknown)
    fmt::format_to(out, FMT_COMPILE(R"(,"short_of":"{}")"), name_of(resource_names, r.short_of));
  if (r.advice.retry_after)
    fmt::format_to(out, FMT_COMPILE(R"(,"retry_after":{})"), r.advice.retry_after->count());
  if (r.advice.remaining)
    fmt::format_to(out, FMT_COMPILE(R"(,"remaining":{})"), *r.advice.remaining);
  if (r.advice.reset) fmt::format_to(out, FMT_COMPILE(R"(,"reset":{})"), r.advice.reset->count());
  if (!r.may_retry) lines_ += R"(,"may_retry":false)";
  if (r.held_elsewhere) lines_ += R"(,"held_elsewhere":true)";
  fmt::format_to(out, FMT_COMPILE(R"(,"u":{},"verdict":"{}")"), u,
                 name_of(verdict_names, answer.what));
  if (answer.what != verdict::done) {
    fmt::format_to(out, FMT_COMPILE(R"(,"why":"{}")"), to_string(answer.why));
    field("until", answer.until);
  }
  close_line();
}

void trace::cancel(int scope, time_point now, ticket t) {
  open_line("cancel", scope, now);
  fmt::format_to(std::back_inserter(lines_), FMT_COMPILE(R"(,"ticket":{})"),
                 static_cast<std::uint64_t>(t));
  close_line();
}

void trace::wakeup(int scope, time_point now, time_point at, reason why) {
  open_line("wakeup", scope, now);
  fmt::format_to(std::back_inserter(lines_), FMT_COMPILE(R"(,"why":"{}")"), to_string(why));
  field("at", at);
  close_line();
}

void trace::end(int scope, time_point now, scope_governor const& g) {
  open_line("end", scope, now);
  fmt::format_to(std::back_inserter(lines_),
                 R"(,"in_flight":{},"waiting":{},"level":{},"why":"{}","state":"{}")",
                 g.in_flight(), g.waiting(), g.level(), to_string(g.why(now).why),
                 state(g.law_state().now_known()));
  field("held_until", g.held_until());
  field("wakeup", g.wakeup(now));
  close_line();
}

void trace::flush() {
  if (!file_ || lines_.empty()) return;
  auto const text = std::exchange(lines_, {});  // not tried again, should the disk be full
  lines_.reserve(text.capacity());
  file_->append(text);
}

void trace::open_line(std::string_view call, int scope, time_point now) {
  fmt::format_to(std::back_inserter(lines_), FMT_COMPILE(R"({{"t":{},"scope":{},"call":"{}")"),
                 (now - began_).count(), scope, call);
}

void trace::field(std::string_view name, time_point t) {
  auto const out = std::back_inserter(lines_);
  if (t == never)
    fmt::format_to(out, FMT_COMPILE(R"(,"{}":null)"), name);
  else
    fmt::format_to(out, FMT_COMPILE(R"(,"{}":{})"), name,
                   later(t, -began_.time_since_epoch()).time_since_epoch().count());
}

void trace::close_line() {
  lines_ += "}\n";
  if (file_ && lines_.size() >= unwritten_max) flush();
}

traced_governor::traced_governor(trace* to, int scope, std::string_view name,
                                 shipped_law const& law, governor_settings const& settings,
                                 std::optional<remembered> const& memory,
                                 std::shared_ptr<pace> shared)
    : scope_governor(law.backoff,
                     {memory ? with_memory(law, *memory).law : law.law, std::move(shared)},
                     settings),
      trace_(to),
      scope_(scope) {
  if (trace_) trace_->scope(scope_, name, memory);
}

traced_governor::traced_governor(traced_governor&& other) noexcept
    : scope_governor(std::move(other)),
      trace_(std::exchange(other.trace_, nullptr)),
      scope_(other.scope_),
      last_(other.last_) {}

traced_governor::~traced_governor() {
  try {
    end();
  } catch (std::exception const&) {  // a full disk: the run has been told, or will be
  }
}

std::variant<ticket, refused> traced_governor::submit(time_point now, request_terms const& terms) {
  auto const answer = scope_governor::submit(now, terms);
  last_ = now;
  if (trace_) trace_->submit(scope_, now, terms, answer);
  return answer;
}

void traced_governor::start(time_point now, ticket t, fraction u,
                            std::optional<time_point> quota_until) {
  scope_governor::start(now, t, u);
  last_ = now;
  if (trace_) trace_->start(scope_, now, t, u, quota_until);
}

decision traced_governor::finish(time_point now, ticket t, attempt_result const& r, fraction u) {
  auto const answer = scope_governor::finish(now, t, r, u);
  last_ = now;
  if (trace_) trace_->finish(scope_, now, t, r, u, answer);
  return answer;
}

void traced_governor::cancel(time_point now, ticket t) {
  scope_governor::cancel(now, t);
  last_ = now;
  if (trace_) trace_->cancel(scope_, now, t);
}

time_point traced_governor::wakeup(time_point now) {
  auto const at = scope_governor::wakeup(now);
  last_ = now;
  if (trace_) trace_->wakeup(scope_, now, at, scope_governor::why(now).why);
  return at;
}

void traced_governor::end() {
  if (auto* const to = std::exchange(trace_, nullptr)) to->end(scope_, last_, *this);
}

}  // namespace headway::app
