#include "pacing/lanes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

constexpr std::size_t orders_max = 100;
constexpr int together_max = 16;  // lanes whose pace is the machine's

}  // namespace

std::string lane_key::account() const {
  std::string text;
  text.reserve(origin.size() + credential.size() + given.size() + 2);
  return text.append(origin).append("\n").append(credential).append("\n").append(given);
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

void lanes::recall(lanes& others) {
  others.keep();
  memory_ = others.memory_;
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
  auto governing = settings_.governor;
  for (auto const& h : settings_.hosts)
    if (h.is_for(w.key->origin)) {
      if (h.rate) governing.rate_ceiling = h.rate;
      if (h.in_flight > 0) governing.in_flight_max = h.in_flight;
    }
  auto shared =
      share(key, short_name(name),
            known ? with_memory(settings_.law, *known).law : settings_.law.law, governing);
  traced_governor governor(trace_.get(), number, name, settings_.law, settings_.governor, known,
                           std::move(shared));
  if (governing != settings_.governor)
    governor.limit(clock_now(), governing.rate_ceiling, governing.in_flight_max);
  auto const quotas = memory_.recall_quotas(name);
  quota_book book(settings_.quotas, w.speaks->costs_of_a_byte());
  book.remember(clock_now(), quotas.what, quotas.age);
  lane made({.account = w.account,
             .name = std::move(name),
             .renewable = w.key->renewable,
             .governor = std::move(governor),
             .quotas = std::move(book),
             .speaks = *w.speaks,
             .knew = known.has_value(),
             .wait_max = settings_.governor.hint_max,
             .hold_max = settings_.hold_max});
  if (stopped_.contains(w.account)) made.stop();
  for (auto const& [pattern, o] : orders_)
    if (pattern.empty() || matches(pattern, made.name())) obey(clock_now(), key, made, o);
  return made;
}

void lanes::stop(lane const& stopped) {
  stopped_.insert(stopped.account());
  for (auto& [key, l] : all_)
    if (l.account() == stopped.account()) l.stop();
}

shared_pace lanes::share(std::string_view key, std::string const& title, any_law const& begins,
                         governor_settings const& allows) {
  if (!settings_.fleet) return join_machine(key, begins);
  auto const most = settings_.in_flight_most;
  auto hosted =
      settings_.fleet->place().join(fmt::format("{}\n{}", key, leave_of(begins).value_or(0)), title,
                                    begins, ceilings_of(allows, most));
  return {.with = hosted, .hosted = hosted, .in_flight_most = most};
}

/// Null where it is not shared. Said, once, if that is something to put right: not what the machine
/// is like, such as one without a folder to write to.
shared_pace lanes::join_machine(std::string_view key, any_law const& begins) {
  std::erase_if(shared_, [](auto const& each) { return each.expired(); });
  auto const leaves = leave_of(begins);
  if (settings_.alone || !leaves || shared_.size() >= together_max) return {};
  try {
    shared_pace machine;
    auto page = machine_pace::open(machine_pace::default_folder(),
                                   fmt::format("run\n{}\n{}", key, *leaves));
    machine.seat = page->seat();
    if (trace_) {
      machine.tape = std::make_shared<page_tape>();
      page = std::make_unique<recording_page>(std::move(page), machine.tape);
    }
    machine.with =
        std::make_shared<paged_pace>(std::move(page), begins, settings_.governor.hint_max);
    shared_.push_back(machine.with);
    return machine;
  } catch (std::system_error const&) {
  } catch (std::runtime_error const& e) {
    if (!std::exchange(said_alone_, true))
      say(fmt::format("it paces alone (--alone): {}", e.what()));
  }
  return {};
}

std::size_t lanes::order(time_point now, std::string const& pattern, lane_order const& o) {
  auto const meant = [&](lane const& l) {
    return !l.stopped() && (pattern.empty() || matches(pattern, l.name()));
  };
  std::size_t many = 0;
  std::vector<std::string> names;
  for (auto& [key, l] : all_) {
    names.push_back(l.title());
    if (!meant(l)) continue;
    ++many;
  }
  if (!pattern.empty() && many == 0)
    throw fatal(
        exit_usage,
        fmt::format("no scope matches {}; there {}", in_quotes(pattern),
                    names.empty() ? "is none yet" : fmt::format("is {}", fmt::join(names, ", "))));
  if (o.leave && !leave_of(settings_.law.law))
    throw fatal(exit_usage, "leave is for the default law only");
  auto known = std::ranges::find(orders_, pattern, [](auto const& each) { return each.first; });
  if (known == orders_.end()) {
    if (orders_.size() >= orders_max)
      throw fatal(exit_usage, fmt::format("at most {} patterns of scopes", orders_max));
    known = orders_.insert(orders_.end(), {pattern, {}});
  } else {
    std::rotate(known, known + 1, orders_.end());  // the last word is the latest
    known = orders_.end() - 1;
  }
  auto& all = known->second;
  if (o.paused) all.paused = o.paused;
  if (o.rate) all.rate = o.rate;
  if (o.in_flight) all.in_flight = o.in_flight;
  if (o.leave) all.leave = o.leave;
  for (auto& [key, l] : all_)
    if (meant(l)) obey(now, key, l, o);
  return many;
}

void lanes::obey(time_point now, std::string_view key, lane& l, lane_order const& o) {
  if (o.paused) l.pause(now, *o.paused);
  if (o.rate || o.in_flight) {
    auto const& present = l.ceilings();
    auto const none =
        settings_.in_flight_most > 0 ? settings_.in_flight_most : settings_.governor.in_flight_max;
    auto const flights = o.in_flight.value_or(present.in_flight_max);
    l.limit(now, o.rate ? o.rate->rate : present.rate_ceiling, flights > 0 ? flights : none);
  }
  if (o.leave) {
    auto law = l.law_state();
    app::leave(law, *o.leave);
    l.leave(now, *o.leave, share(key, l.title(), law, l.ceilings()));
  }
}

void lanes::note(time_point now, std::string_view words) {
  if (trace_) trace_->ctl(now, words);
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

bool lanes::parked_as_broken(time_point now) {
  bool any = false;
  for (auto& [key, l] : all_) any |= l.parked() && l.why(now).why == reason::server_broken;
  return any;
}

reason lanes::look_at(time_point now, duration since, lane& l) {
  auto const [before, ceiling] = l.look(l.why(now).why);
  auto const told = before == reason::server_hint || before == reason::quota;
  if (before != reason::none)
    (l.in_trouble(before) && !told ? troubled_for_
     : ceiling                     ? at_ceiling_for_
                                   : held_for_[static_cast<std::size_t>(before)]) += since;
  return before;
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
  duration all = troubled_for_ + at_ceiling_for_;
  if (troubled_for_ > 0ns) parts.emplace_back(troubled_for_, "what went wrong");
  if (at_ceiling_for_ > 0ns) parts.emplace_back(at_ceiling_for_, own_ceiling);
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
  std::vector<std::pair<std::string, int>> lines;  // and of how many lanes each is
  for (auto& [key, s] : all_) {
    for (auto const& found : {s.findings(), s.quotas().findings()}) {
      if (found.empty()) continue;
      auto line = fmt::format("{}: {}", s.title(), found);
      auto const same = std::ranges::find(lines, line, &std::pair<std::string, int>::first);
      if (same == lines.end())
        lines.emplace_back(std::move(line), 1);
      else
        ++same->second;
    }
  }
  for (auto const& [line, many] : lines)
    text += line + (many > 1 ? fmt::format(" (each of {} credentials)\n", many) : "\n");
  for (auto const& h : settings_.hosts) {
    bool met = made_ > static_cast<int>(lanes_max);  // or it may have been
    for (auto& [key, s] : all_) met |= h.is_for(s.name().substr(0, s.name().find(' ')));
    if (!met) text += fmt::format("{}: has a ceiling of its own, and no request\n", h.host);
  }
  for (auto& [key, s] : all_)
    if (auto const others = s.company(); others > 0)
      text += fmt::format("{}: one pace with {} other {}{}{}\n", s.title(), others,
                          s.hosts() ? "member" : "run", others > 1 ? "s" : "",
                          s.hosts() ? " of the fleet" : " here");
  return text;
}

std::optional<fleet::standing> lanes::hosts() {
  std::optional<fleet::standing> most;
  for (auto& [key, l] : all_)
    if (auto here = l.hosts(); here && (!most || here->members > most->members))
      most = std::move(here);
  return most;
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
    if (auto const& last = sc.last_cut())
      memory_.learn_cut(sc.name(), {wall_time_of(last->at), last->by});
    if (sc.company() > 0) memory_.doubt(sc.name());
  }
  try {
    memory_.keep();
  } catch (fatal const& e) {
    say(fmt::format("what was learned is not kept: {}", e.what()));
  }
}

}  // namespace headway::app
