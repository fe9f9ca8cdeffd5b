#include "pacing/trace.hpp"

#include <fcntl.h>
#include <fmt/compile.h>
#include <fmt/format.h>

#include <cstddef>
#include <exception>
#include <iterator>
#include <type_traits>
#include <utility>

#include "base/json_text.hpp"
#include "pacing/fields.hpp"
#include "pacing/laws.hpp"

namespace headway::app {
namespace {

constexpr std::size_t unwritten_max = 64 << 10;
constexpr std::size_t shown_name_max = 200;

template <std::size_t N, class Enum>
std::string_view name_of(std::array<std::string_view, N> const& names, Enum value) {
  return names.at(static_cast<std::size_t>(value));
}

/// The numbers of a policy, whichever it is; doubles as the shortest text that reads back to the
/// same bits.
template <class T>
std::string state(T const& v) {
  std::string out;
  each_number(v, [&](auto n) {
    if (!out.empty()) out += ' ';
    fmt::format_to(std::back_inserter(out), "{}", n);
  });
  return out;
}

/// Until when what was sent beyond the `old` rate counts against the `next`: as many units.
time_point owed(time_point now, gcra const& old, gcra const& next) {
  auto const units = to_seconds(std::max(old.tat - now, duration(0))) / to_seconds(old.interval);
  return later(now, from_seconds(units * to_seconds(next.interval)));
}

/// What a governor is to do of its user's settings, where hosts share its pace: their fleet does
/// the rest.
governor_settings own_part(governor_settings s, bool hosted) {
  if (!hosted) return s;
  s.rate_ceiling.reset();
  s.first_alone = 0ns;
  return s;
}

/// At most shown_name_max bytes, cut between characters.
std::string_view shortened(std::string_view name) noexcept {
  if (name.size() <= shown_name_max) return name;
  auto end = shown_name_max;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;
  return name.substr(0, end);
}

}  // namespace

fleet::ceilings ceilings_of(governor_settings const& s, int in_flight_most) {
  auto const& rate = s.rate_ceiling;
  return {.interval = rate ? rate->interval : 0ns,
          .tolerance = rate ? rate->burst_tolerance : 0ns,
          .out_max = s.in_flight_max == in_flight_most ? 0 : s.in_flight_max};
}

trace::trace(std::string const& path) : file_(file::open(path, O_WRONLY | O_CREAT | O_TRUNC)) {}

trace::~trace() {
  try {
    flush();
  } catch (std::exception const&) {  // a caller that must know has called flush()
  }
}

void trace::head(trace_head const& h) {
  began_ = h.began;
  format_ = h.format;
  auto const& s = h.settings;
  auto const out = std::back_inserter(lines_);
  fmt::format_to(
      out,
      R"({{"headway_trace":{},"version":"{}","began":{},"law":"{}","attempts_max":{},"queue_max":{},)"
      R"("hint_max":{},"first_alone":{},"throttled":"{}","quiet_successes":{},"in_flight_max":{},)"
      R"("budget":{{"ratio":{},"per_second":{},"balance_max":{},"balance":{}}})",
      h.format, h.version, began_.time_since_epoch().count(), h.law.name, s.attempts_max,
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

void trace::scope(int scope, std::string_view name, std::optional<remembered> const& memory,
                  int seat) {
  fmt::format_to(std::back_inserter(lines_), R"({{"scope":{},"name":)", scope);
  append_quoted(lines_, shortened(name));
  if (seat >= 0) fmt::format_to(std::back_inserter(lines_), R"(,"seat":{})", seat);
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

void trace::learn(int scope, time_point now, ticket t, attempt_result const& r, fraction u,
                  bool taught) {
  open_line("learn", scope, now);
  result(t, r);
  fmt::format_to(std::back_inserter(lines_), FMT_COMPILE(R"(,"u":{},"taught":{})"), u, taught);
  close_line();
}

void trace::finish(int scope, time_point now, ticket t, attempt_result const& r, fraction u,
                   decision const& answer, any_law const& law) {
  open_line("finish", scope, now);
  result(t, r);
  fmt::format_to(std::back_inserter(lines_), FMT_COMPILE(R"(,"u":{},"verdict":"{}")"), u,
                 name_of(verdict_names, answer.what));
  if (answer.what != verdict::done) {
    fmt::format_to(std::back_inserter(lines_), FMT_COMPILE(R"(,"why":"{}")"),
                   to_string(answer.why));
    field("until", answer.until);
  }
  if (auto const ssthresh = law.ssthresh(); ssthresh > 0)
    fmt::format_to(std::back_inserter(lines_), FMT_COMPILE(R"(,"cwnd":{},"ssthresh":{})"),
                   law.allowed(), ssthresh);
  close_line();
}

void trace::result(ticket t, attempt_result const& r) {
  auto const out = std::back_inserter(lines_);
  fmt::format_to(out, FMT_COMPILE(R"(,"ticket":{},"outcome":"{}")"), static_cast<std::uint64_t>(t),
                 name_of(outcome_names, r.what));
  if (r.short_of != resource::unknown)
    fmt::format_to(out, FMT_COMPILE(R"(,"short_of":"{}")"), name_of(resource_names, r.short_of));
  if (r.advice.retry_after)
    fmt::format_to(out, FMT_COMPILE(R"(,"retry_after":{})"), r.advice.retry_after->count());
  if (r.advice.remaining)
    fmt::format_to(out, FMT_COMPILE(R"(,"remaining":{})"), *r.advice.remaining);
  if (r.advice.reset) fmt::format_to(out, FMT_COMPILE(R"(,"reset":{})"), r.advice.reset->count());
  if (r.advice.shared) lines_ += R"(,"shared":true)";
  if (!r.may_retry) lines_ += R"(,"may_retry":false)";
  if (r.held_elsewhere) lines_ += R"(,"held_elsewhere":true)";
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

void trace::look(int scope, time_point now, bool held_elsewhere) {
  open_line("look", scope, now);
  if (held_elsewhere) lines_ += R"(,"held_elsewhere":true)";
  close_line();
}

void trace::claim(int scope, time_point now, std::int64_t cost, fraction u, bool taken) {
  open_line("claim", scope, now);
  fmt::format_to(std::back_inserter(lines_), FMT_COMPILE(R"(,"cost":{},"u":{},"taken":{})"), cost,
                 u, taken);
  close_line();
}

void trace::limit(int scope, time_point now, std::optional<gcra> const& rate, int in_flight_max) {
  open_line("limit", scope, now);
  fmt::format_to(std::back_inserter(lines_), R"(,"in_flight_max":{})", in_flight_max);
  if (rate)
    fmt::format_to(std::back_inserter(lines_),
                   R"(,"rate_ceiling":{{"interval":{},"burst_tolerance":{}}})",
                   rate->interval.count(), rate->burst_tolerance.count());
  close_line();
}

void trace::leave(int scope, time_point now, double share, int seat) {
  open_line("leave", scope, now);
  fmt::format_to(std::back_inserter(lines_), R"(,"share":{})", share);
  if (seat >= 0) fmt::format_to(std::back_inserter(lines_), R"(,"seat":{})", seat);
  close_line();
}

void trace::ctl(time_point now, std::string_view words) {
  fmt::format_to(std::back_inserter(lines_), R"({{"t":{},"ctl":)", (now - began_).count());
  append_quoted(lines_, words);
  close_line();
}

void trace::cost(int scope, time_point now, std::string_view quota, double expected, double told) {
  fmt::format_to(std::back_inserter(lines_), FMT_COMPILE(R"({{"t":{},"scope":{},"quota":)"),
                 (now - began_).count(), scope);
  append_quoted(lines_, quota);
  fmt::format_to(std::back_inserter(lines_), FMT_COMPILE(R"(,"expected":{},"told":{})"), expected,
                 told);
  close_line();
}

void trace::held(int scope, time_point now, reason why) {
  fmt::format_to(std::back_inserter(lines_), FMT_COMPILE(R"({{"t":{},"scope":{},"held":"{}")"),
                 (now - began_).count(), scope, to_string(why));
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
  lines_ += std::exchange(belief_, {});
  if (!page_answers_.empty()) {
    lines_.append(R"(,"page":)");
    append_quoted(lines_, std::exchange(page_answers_, {}));
  }
  lines_ += "}\n";
  if (file_ && lines_.size() >= unwritten_max) flush();
}

traced_governor::traced_governor(trace* to, int scope, std::string_view name,
                                 shipped_law const& law, governor_settings const& settings,
                                 std::optional<remembered> const& memory, shared_pace shared)
    : scope_governor(law.backoff, {memory ? with_memory(law, *memory).law : law.law, shared.with},
                     own_part(settings, shared.hosted != nullptr)),
      trace_(to),
      scope_(scope),
      shared_(std::move(shared)),
      said_(settings) {
  if (trace_ == nullptr) return;
  add_what_was_heard();
  trace_->scope(scope_, name, memory, shared_.seat);
}

/// To the line that comes next.
void traced_governor::add_what_was_heard() {
  if (shared_.tape) trace_->heard(shared_.tape->take());
  auto const known = knowledge_of(law_state());
  auto belief = !known             ? std::string()
                : known->slots > 0 ? fmt::format(R"(,"slots":{})", known->slots)
                                   : fmt::format(R"(,"limit":{})", known->rate);
  if (belief.empty() || belief == believed_) return;
  believed_ = belief;
  trace_->believes(std::move(belief));
}

traced_governor::traced_governor(traced_governor&& other) noexcept
    : scope_governor(std::move(other)),
      trace_(std::exchange(other.trace_, nullptr)),
      scope_(other.scope_),
      shared_(std::move(other.shared_)),
      said_(std::move(other.said_)),
      believed_(std::move(other.believed_)),
      noted_(other.noted_),
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
  if (trace_) {
    add_what_was_heard();
    trace_->submit(scope_, now, terms, answer);
  }
  return answer;
}

void traced_governor::start(time_point now, ticket t, fraction u,
                            std::optional<time_point> quota_until) {
  scope_governor::start(now, t, u);
  last_ = now;
  if (trace_ == nullptr) return;
  add_what_was_heard();
  trace_->start(scope_, now, t, u, quota_until);
}

bool traced_governor::learn(time_point now, ticket t, attempt_result const& head, fraction u) {
  auto const taught = scope_governor::learn(now, t, head, u);
  last_ = now;
  if (trace_) {
    add_what_was_heard();
    trace_->learn(scope_, now, t, head, u, taught);
  }
  return taught;
}

decision traced_governor::finish(time_point now, ticket t, attempt_result const& r, fraction u) {
  auto const answer = scope_governor::finish(now, t, r, u);
  last_ = now;
  if (trace_) {
    add_what_was_heard();
    trace_->finish(scope_, now, t, r, u, answer, law_state());
  }
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
  noted_ = reason::none;
  if (trace_) trace_->wakeup(scope_, now, at, scope_governor::why(now).why);
  return at;
}

void traced_governor::look(time_point now, bool held_elsewhere) {
  if (!shared_.with) return;
  look_at(*shared_.with, static_cast<scope_governor&>(*this), now, held_elsewhere);
  last_ = now;
  if (trace_ == nullptr) return;
  add_what_was_heard();
  trace_->look(scope_, now, held_elsewhere);
}

bool traced_governor::claim(time_point now, std::int64_t cost, fraction u) {
  if (!shared_.with) return true;
  auto const taken = shared_.with->claim(now, cost, u);
  last_ = now;
  if (trace_) {
    add_what_was_heard();
    trace_->claim(scope_, now, cost, u, taken);
  }
  return taken;
}

time_point traced_governor::look_again(time_point now) const {
  return shared_.with ? shared_.with->look_again(now) : never;
}

void traced_governor::limit(time_point now, std::optional<gcra> const& rate, int in_flight_max) {
  if (shared_.hosted) {
    said_.rate_ceiling = rate;
    said_.in_flight_max = in_flight_max;
    shared_.hosted->limit(ceilings_of(said_, shared_.in_flight_most));
  }
  auto taken_over = shared_.hosted ? std::nullopt : rate;
  if (auto const& old = settings().rate_ceiling; taken_over && old)
    taken_over->tat = owed(now, *old, *rate);
  scope_governor::limit(taken_over, in_flight_max);
  last_ = now;
  if (trace_) trace_->limit(scope_, now, rate, in_flight_max);
}

void traced_governor::leave(time_point now, double share, shared_pace with) {
  auto law = law_state();
  app::leave(law, share);
  shared_ = std::move(with);
  follow({law, shared_.with});
  last_ = now;
  if (trace_ == nullptr) return;
  add_what_was_heard();
  trace_->leave(scope_, now, share, shared_.seat);
}

void traced_governor::end() {
  if (auto* const to = std::exchange(trace_, nullptr)) to->end(scope_, last_, *this);
}

}  // namespace headway::app
