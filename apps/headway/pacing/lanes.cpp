#include "pacing/lanes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/clock.hpp"
#include "base/fatal.hpp"
#include "base/text.hpp"
#include "base/url.hpp"
#include "base/words.hpp"
#include "headway/driver/machine_pace.hpp"
#include "pacing/laws.hpp"

namespace headway::app {
namespace {

constexpr int together_max = 16;  // lanes whose pace is the machine's

}  // namespace

std::string lane_key::account() const {
  return fmt::format("{}\n{}\n{}", origin, credential, given);
}

bool host_ceiling::is_for(std::string_view origin) const noexcept {
  return host_of(origin) == host || origin.substr(origin.find("://") + 3) == host;
}

lanes::lanes(pacing_settings settings)
    : settings_(std::move(settings)),
      all_(lanes_max, [this](std::string_view key) { return make(key, wanted_); }) {}

void lanes::recall() {
  try {
    memory_ = memory(settings_.state.empty() ? memory::default_path() : settings_.state);
  } catch (fatal const& e) {
    if (!settings_.state.empty()) throw;
    say(fmt::format("nothing is remembered: {}", e.what()));
  }
}

void lanes::trace_to(std::string const& path, time_point began) {
  trace_ = std::make_unique<trace>(path);
  trace_->head({.law = settings_.law, .settings = settings_.governor, .began = began});
}

lane* lanes::at(time_point now, lane_key const& key) {
  wanted_.key = &key;
  if (wanted_.speaks == nullptr || key.origin != speaker_) {  // most JOBS have one
    wanted_.speaks = &profile_of(key.origin);
    speaker_ = key.origin;
  }
  wanted_.account = key.account();
  wanted_.partition = wanted_.speaks->partition_of(key.url, key.body);
  key_ = std::to_string(key.given.size());  // which may have line feeds
  key_.append("\n").append(wanted_.account).append("\n").append(wanted_.partition);
  return all_.at(now, key_);
}

lane lanes::make(std::string_view key, wanted const& w) {
  auto const number = made_++;
  std::string name(w.key->origin);
  for (std::string_view const part : {w.key->given, std::string_view(w.partition)})
    if (!part.empty()) name.append(" ").append(part);
  name = printable(name);
  auto const known = memory_.recall(name);
  auto shared = join_machine(key, known);
  auto governing = settings_.governor;
  for (auto const& h : settings_.hosts)
    if (h.is_for(w.key->origin)) {
      if (h.rate) governing.rate_ceiling = h.rate;
      if (h.in_flight > 0) governing.in_flight_max = h.in_flight;
    }
  traced_governor governor(trace_.get(), number, name, settings_.law, governing, known, shared);
  auto const quotas = memory_.recall_quotas(name);
  quota_book book(settings_.quotas, w.speaks->costs_of_a_byte());
  book.remember(clock_now(), quotas.what, quotas.age);
  lane made({.account = w.account,
             .name = std::move(name),
             .renewable = w.key->renewable,
             .shared = std::move(shared),
             .governor = std::move(governor),
             .quotas = std::move(book),
             .speaks = *w.speaks,
             .wait_max = settings_.governor.hint_max});
  if (stopped_.contains(w.account)) made.stop();
  return made;
}

void lanes::stop(lane const& stopped) {
  stopped_.insert(stopped.account());
  for (auto& [key, l] : all_)
    if (l.account() == stopped.account()) l.stop();
}

/// Null where it is not shared. Said, once, if that is something to put right: not what the machine
/// is like, such as one without a folder to write to.
std::shared_ptr<pace> lanes::join_machine(std::string_view key,
                                          std::optional<remembered> const& known) {
  std::erase_if(shared_, [](auto const& each) { return each.expired(); });
  auto const leaves = leave_of(settings_.law.law);
  if (settings_.alone || !leaves || shared_.size() >= together_max) return nullptr;
  try {
    auto machine = std::make_shared<machine_pace>(
        machine_pace::default_folder(), fmt::format("run\n{}\n{}", key, *leaves),
        known ? with_memory(settings_.law, *known).law : settings_.law.law,
        settings_.governor.hint_max);
    shared_.push_back(machine);
    return machine;
  } catch (std::system_error const&) {
  } catch (std::runtime_error const& e) {
    if (!std::exchange(said_alone_, true))
      say(fmt::format("it paces alone (--alone): {}", e.what()));
  }
  return nullptr;
}

profile const& lanes::profile_of(std::string_view origin) const {
  return settings_.speaks ? *settings_.speaks : profile::of_host(host_of(origin));
}

time_point lanes::wakeup() noexcept {
  auto at = never;
  for (auto& [key, s] : all_) at = std::min(at, s.wake());
  return at;
}

void lanes::wake(time_point at) noexcept {
  for (auto& [key, s] : all_) s.wake_by(at);
}

time_point lanes::parked_until() noexcept {
  auto at = time_point::min();
  for (auto& [key, s] : all_) at = std::max(at, s.parked_until());
  return at;
}

void lanes::look(time_point now, duration since) {
  for (auto& [key, l] : all_) {
    auto const before = l.look(l.why(now).why);
    if (before == reason::none) continue;
    (l.in_trouble(before) ? troubled_for_ : held_for_[static_cast<std::size_t>(before)]) += since;
  }
}

std::vector<hindrance> lanes::hindrances(time_point now, std::size_t most) {
  std::vector<hindrance> all;
  hindrance first;
  for (auto& [key, l] : all_) {
    auto found = l.hindered(now);
    if (found.in_trouble())
      all.push_back(std::move(found));
    else if (first.what == hindrance::kind::none)
      first = std::move(found);
  }
  std::ranges::stable_sort(all, std::greater{}, &hindrance::what);
  if (all.size() > most) all.resize(most);
  if (all.empty() && first.what != hindrance::kind::none) {
    if (all_.size() == 1) first.where.clear();
    all.push_back(std::move(first));
  }
  return all;
}

std::string lanes::where_time_went() const {
  std::vector<std::pair<duration, std::string_view>> parts;
  duration all = troubled_for_;
  if (all > 0ns) parts.emplace_back(all, "what went wrong");
  for (std::size_t i = 1; i < held_for_.size(); ++i) {
    all += held_for_[i];
    if (held_for_[i] > 0ns) parts.emplace_back(held_for_[i], to_string(static_cast<reason>(i)));
  }
  if (all < 100ms) return "";
  std::ranges::sort(parts, std::greater{});
  std::string text = "held back by:";
  for (std::size_t i = 0; i < std::min<std::size_t>(parts.size(), 3); ++i)
    text += fmt::format("{} {} {:.0f} %", i == 0 ? "" : ",", parts[i].second,
                        100 * to_seconds(parts[i].first) / to_seconds(all));
  return text + "\n";
}

std::string lanes::findings() {
  std::string text;
  for (auto& [key, s] : all_) {
    auto const quotas = s.quotas().findings();
    for (auto const& found : {app::findings(s.law_state(), !quotas.empty()), quotas})
      if (!found.empty()) text += fmt::format("{}: {}\n", s.title(), found);
  }
  for (auto& [key, s] : all_)
    if (auto const others = s.company(); others > 0)
      text += fmt::format("{}: one pace with {} other run{} here\n", s.title(), others,
                          others > 1 ? "s" : "");
  return text;
}

void lanes::conclude() {
  for (auto& [key, s] : all_) s.end();
  if (trace_) trace_->flush();
}

void lanes::keep() {
  for (auto& [key, sc] : all_) {
    if (auto quotas = sc.quotas().knows(); !quotas.empty())
      memory_.learn_quotas(sc.name(), std::move(quotas));
    if (auto const known = knowledge_of(sc.law_state())) memory_.learn(sc.name(), *known);
  }
  try {
    memory_.keep();
  } catch (fatal const& e) {
    say(fmt::format("what was learned is not kept: {}", e.what()));
  }
}

}  // namespace headway::app
