#include "run/scopes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "command.hpp"
#include "run/clock.hpp"
#include "run/laws.hpp"
#include "run/progress.hpp"
#include "run/text.hpp"
#include "run/url.hpp"

namespace headway::app {
namespace {

constexpr int together_max = 16;  // scopes whose pace is the machine's

governor_settings settings_of(run_options const& options, int connections) {
  auto const most = options.concurrency_ceiling;
  return {.attempts_max = options.attempts_max,
          .queue_max = requests::requests_max,
          .hint_max = options.wait_max,
          .throttled = options.law.throttled,
          .rate_ceiling = options.rate_ceiling,
          .in_flight_max = most > 0 ? most : connections,
          .budget = options.budget};
}

}  // namespace

scopes::scopes(run_options const& options, int connections)
    : options_(options),
      settings_(settings_of(options, connections)),
      all_(scopes_max, [this](std::string_view key) { return make(key); }) {}

void scopes::recall() {
  try {
    memory_ = memory(options_.state.empty() ? memory::default_path() : options_.state);
  } catch (fatal const& e) {
    if (!options_.state.empty()) throw;
    say(fmt::format("nothing is remembered: {}", e.what()));
  }
}

void scopes::trace_to(std::string const& path, time_point began) {
  trace_ = std::make_unique<trace>(path);
  trace_->head({.law = options_.law, .settings = settings_, .began = began});
}

scope* scopes::at(time_point now, std::string_view account, job const& j) {
  if (speaks_ == nullptr || j.origin != speaker_) {  // most JOBS have one
    speaks_ = &profile_of(j.origin);
    speaker_ = j.origin;
  }
  auto const body = j.body ? std::string_view(*j.body) : std::string_view();
  key_.assign(account).append("\n").append(speaks_->partition_of(j.url, body));
  return all_.at(now, key_);
}

scope scopes::make(std::string_view key) {
  auto const number = made_++;
  auto const end = key.find('\n');
  auto const within = key.rfind('\n');
  auto const given = key.rfind('\n', within - 1);
  std::string name(key.substr(0, end));
  for (auto const part : {key.substr(given + 1, within - given - 1), key.substr(within + 1)})
    if (!part.empty()) name.append(" ").append(part);
  name = printable(name);
  auto const known = memory_.recall(name);
  auto machine = join_machine(key, known);
  traced_governor governor(trace_.get(), number, name, options_.law, settings_, known, machine);
  auto const* const speaks = &profile_of(key.substr(0, end));
  auto const quotas = memory_.recall_quotas(name);
  quota_book book(options_.quotas, speaks->costs_of_a_byte());
  book.remember(clock_now(), quotas.what, quotas.age);
  return {.account = std::string(key.substr(0, within)),
          .name = std::move(name),
          .machine = std::move(machine),
          .governor = std::move(governor),
          .book = std::move(book),
          .by_ticket = {},
          .speaks = speaks};
}

/// Null where it is not shared. Said, once, if that is something to put right: not what the machine
/// is like, such as one without a folder to write to.
std::shared_ptr<machine_pace> scopes::join_machine(std::string_view key,
                                                   std::optional<remembered> const& known) {
  std::erase_if(machines_, [](auto const& m) { return m.expired(); });
  auto const* const s = std::get_if<seek>(&options_.law.law.choice);
  if (options_.alone || s == nullptr || machines_.size() >= together_max) return nullptr;
  try {
    auto machine = std::make_shared<machine_pace>(
        machine_pace::default_folder(), fmt::format("run\n{}\n{}", key, s->leave),
        known ? with_memory(options_.law, *known).law : options_.law.law);
    machines_.push_back(machine);
    return machine;
  } catch (std::system_error const&) {
  } catch (std::runtime_error const& e) {
    if (!std::exchange(said_alone_, true))
      say(fmt::format("it paces alone (--alone): {}", e.what()));
  }
  return nullptr;
}

profile const& scopes::profile_of(std::string_view origin) const {
  return options_.speaks ? *options_.speaks : profile::of_host(host_of(origin));
}

time_point scopes::wakeup() noexcept {
  auto at = never;
  for (auto& [key, s] : all_) at = std::min(at, s.wake);
  return at;
}

void scopes::wake(time_point at) noexcept {
  for (auto& [key, s] : all_) s.wake = std::min(s.wake, at);
}

time_point scopes::parked_until() noexcept {
  auto at = time_point::min();
  for (auto& [key, s] : all_) at = std::max(at, s.parked_until);
  return at;
}

void scopes::stop(std::string_view account) noexcept {
  for (auto& [key, s] : all_) s.stopped = s.stopped || s.account == account;
}

scopes::wait scopes::look(time_point now, duration since) {
  wait first;
  for (auto& [key, s] : all_) {
    if (s.shown != reason::none) held_for_[static_cast<std::size_t>(s.shown)] += since;
    s.shown = reason::none;
    if (s.waiting() == 0) continue;
    auto const held = s.held.why != reason::none ? s.held : s.governor.why(now);
    s.shown = held.why;
    if (first.held.why == reason::none) first = {held, &s};
  }
  return first;
}

std::string scopes::where_time_went() const {
  std::vector<std::pair<duration, reason>> parts;
  duration all{0};
  for (std::size_t i = 1; i < held_for_.size(); ++i) {
    all += held_for_[i];
    if (held_for_[i] > 0ns) parts.emplace_back(held_for_[i], static_cast<reason>(i));
  }
  if (all < 100ms) return "";
  std::ranges::sort(parts, std::greater{});
  std::string text = "held back by:";
  for (std::size_t i = 0; i < std::min<std::size_t>(parts.size(), 3); ++i)
    text += fmt::format("{} {} {:.0f} %", i == 0 ? "" : ",", to_string(parts[i].second),
                        100 * to_seconds(parts[i].first) / to_seconds(all));
  return text + "\n";
}

std::string scopes::findings() {
  std::string text;
  for (auto& [key, s] : all_)
    for (auto const& found : {app::findings(s.governor.law_state()), s.book.findings()})
      if (!found.empty()) text += fmt::format("{}: {}\n", s.name, found);
  for (auto& [key, s] : all_)
    if (auto const others = s.machine ? s.machine->company() : 0; others > 0)
      text += fmt::format("{}: one pace with {} other run{} here\n", s.name, others,
                          others > 1 ? "s" : "");
  return text;
}

void scopes::conclude() {
  for (auto& [key, s] : all_) s.governor.end();
  if (trace_) trace_->flush();
}

void scopes::keep() {
  for (auto& [key, sc] : all_) {
    if (auto quotas = sc.book.knows(); !quotas.empty())
      memory_.learn_quotas(sc.name, std::move(quotas));
    if (auto const* s = std::get_if<seek>(&sc.governor.law_state().choice);
        s != nullptr && s->ceiling > 0 && s->successes >= 3)
      memory_.learn(sc.name, s->knows());
  }
  try {
    memory_.keep();
  } catch (fatal const& e) {
    say(fmt::format("what was learned is not kept: {}", e.what()));
  }
}

}  // namespace headway::app
