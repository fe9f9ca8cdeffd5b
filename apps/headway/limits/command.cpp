/// `headway limits`: what runs have learned, to see, to forget and to set.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/fatal.hpp"
#include "base/json_text.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"
#include "base/url.hpp"
#include "base/words.hpp"
#include "command.hpp"
#include "pacing/memory.hpp"
#include "pacing/settings.hpp"
#include "watch/command_socket.hpp"

namespace headway::app {
namespace {

/// What living runs say of a scope.
struct use {
  int runs = 0;         // that say so …
  int processes = 0;    // … and what else shares their pace: programs with the library
  double held_for = 0;  // seconds
};
using uses = std::map<std::string, use>;

uses ask_living_runs() {
  uses all;
  for (auto const& run : live_runs()) {
    auto const answer = ask(run, R"({"do":"status"})");
    simdjson::dom::parser json;
    simdjson::dom::array scopes;
    if (!answer || json.parse(*answer)["scopes"].get(scopes) != simdjson::SUCCESS) continue;
    std::map<std::string, std::pair<double, std::int64_t>> its;  // it may have several lanes of one
    for (auto const s : scopes) {
      std::string_view name;
      double held = 0;
      std::int64_t company = 0;
      if (s["scope"].get(name) != simdjson::SUCCESS) continue;
      if (s["held_s"].get(held) != simdjson::SUCCESS) held = 0;
      if (s["company"].get(company) != simdjson::SUCCESS) company = 0;
      auto& [longest, most] = its[std::string(name)];
      longest = std::max(longest, held);
      most = std::max(most, company);
    }
    for (auto const& [name, said] : its) {
      auto& u = all[name];
      ++u.runs;
      u.processes = std::max({u.processes, u.runs, static_cast<int>(said.second) + 1});
      u.held_for = std::max(u.held_for, said.first);
    }
  }
  return all;
}

std::string ago(wall_time at) {
  return in_words(std::max<duration>(wall_time_of() - at, 0s)) + " ago";
}

double trust_in(known_scope const& s) {
  constexpr double week = 7 * 24 * 3600.0;  // of law/seek.hpp: then half of it is believed
  auto const age = std::chrono::duration<double>(wall_time_of() - s.at).count();
  return 1 / (1 + std::max(age, 0.0) / week);
}

bool learned_of(known_scope const& s) {
  return s.at != std::chrono::sys_seconds{};
}

std::string words_of(known_quota const& q) {
  auto text = q.name;
  if (q.limit > 0) text += fmt::format(" {:.6g}", q.limit);
  if (q.per_second > 0) text += " at " + rate_in_words(q.per_second);
  auto const cost = q.whole;
  if (cost.per_byte > 0 || cost.constant > 0)
    text += fmt::format(", {:.4g} a byte and {:.4g} a request", cost.per_byte, cost.constant);
  return text;
}

/// Columns as wide as their widest cell.
void print_table(std::vector<std::vector<std::string>> const& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (auto const& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], columns_of(row[i]));
  for (auto const& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - columns_of(row[i]) + 2, ' ');
    }
    fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }
}

std::string in_json(std::string const& name, known_scope const* s, use const& u) {
  auto text = fmt::format(R"({{"scope":{},"processes":{},"held_s":{:.3f})", json_string(name),
                          u.processes, u.held_for);
  if (s != nullptr && learned_of(*s))
    text += fmt::format(
        R"(,"rate":{:.6g},"slots":{:.6g},"latency_s":{:.6g},"learned_at":{},"trust":{:.3f},"by_hand":{})",
        s->what.rate, s->what.slots, s->what.latency, s->at.time_since_epoch().count(),
        trust_in(*s), s->by_hand);
  if (s != nullptr && !s->quotas.empty()) {
    text += R"(,"quotas":[)";
    for (auto const& q : s->quotas)
      text += fmt::format(
          R"({}{{"quota":{},"limit":{:.6g},"per_second":{:.6g},"cost_per_byte":{:.6g},"cost_constant":{:.6g}}})",
          text.back() == '[' ? "" : ",", json_string(q.name), q.limit, q.per_second,
          q.whole.per_byte, q.whole.constant);
    text += ']';
  }
  if (s != nullptr && s->last_cut)
    text += fmt::format(R"(,"last_cut":{{"at":{:.3f},"by":{}}})",
                        static_cast<double>(s->last_cut->at.time_since_epoch().count()) / 1e3,
                        json_string(s->last_cut->by));
  return text + "}";
}

int list(memory const& known, bool json) {
  auto const living = ask_living_runs();
  std::map<std::string, known_scope const*> all;
  for (auto const& [name, s] : known.all()) all[name] = &s;
  for (auto const& [name, u] : living) all.try_emplace(name, nullptr);
  std::vector<std::vector<std::string>> rows{
      {"SCOPE", "RATE", "SLOTS", "LATENCY", "LEARNED", "TRUST", "USED BY", "HELD", "QUOTAS"}};
  for (auto const& [name, s] : all) {
    auto const found = living.find(name);
    auto const u = found == living.end() ? use{} : found->second;
    if (json) {
      fmt::print("{}\n", in_json(name, s, u));
      continue;
    }
    std::vector<std::string> row(rows.front().size(), "–");
    row[0] = printable(short_name(name));
    if (s != nullptr && learned_of(*s)) {
      if (s->what.rate > 0) row[1] = rate_in_words(s->what.rate);
      if (s->what.slots > 0) row[2] = fmt::format("{:.0f}", s->what.slots);
      if (s->what.latency > 0) row[3] = short_in_words(from_seconds(s->what.latency));
      row[4] = ago(s->at) + (s->by_hand ? ", by hand" : "");
      row[5] = fmt::format("{:.0f} %", 100 * trust_in(*s));
    }
    row[6] = u.processes > 0 ? std::to_string(u.processes) : "–";
    if (u.held_for > 0) row[7] = in_words(from_seconds(u.held_for)) + " more";
    if (s != nullptr && !s->quotas.empty()) {
      std::vector<std::string> quotas;
      for (auto const& q : s->quotas) quotas.push_back(printable(words_of(q)));
      row[8] = fmt::format("{}", fmt::join(quotas, "; "));
    }
    rows.push_back(std::move(row));
  }
  if (json) return exit_ok;
  if (all.empty())
    fmt::print("nothing is learned yet\n");
  else
    print_table(rows);
  return exit_ok;
}

/// `living`: what runs use now, by the name of its scope.
template <class Living>
[[noreturn]] void no_match(std::string const& pattern, memory const& known, Living const& living) {
  std::vector<std::string> names;
  for (auto const& [name, s] : known.all()) names.push_back(printable(short_name(name)));
  for (auto const& [name, u] : living)
    if (!known.all().contains(name)) names.push_back(printable(short_name(name)));
  auto const more = names.size() > 10 ? fmt::format(" and {} more", names.size() - 10) : "";
  if (names.size() > 10) names.resize(10);
  throw fatal(exit_usage, fmt::format("no scope matches {}; {}", in_quotes(pattern),
                                      names.empty() ? "none is known"
                                                    : fmt::format("known: {}{}",
                                                                  fmt::join(names, ", "), more)));
}

int forget(memory& known, std::string const& pattern) {
  auto const living = ask_living_runs();
  auto const matched = [&](auto const& each) { return matches(pattern, each.first); };
  auto const learning = static_cast<std::size_t>(std::ranges::count_if(living, matched));
  if (learning == 0 && std::ranges::none_of(known.all(), matched)) no_match(pattern, known, living);
  for (auto const& name : known.forget(pattern)) {
    auto const& s = known.all().at(name);
    fmt::print("forgotten: {}{}\n", printable(short_name(name)),
               learned_of(s) ? fmt::format(" ({}, learned {})",
                                           s.what.slots > 0
                                               ? fmt::format("about {:.0f} at once", s.what.slots)
                                               : rate_in_words(s.what.rate),
                                           ago(s.at))
                             : "");
  }
  if (learning > 0)
    fmt::print("{} scope{} in use: what the runs that live now have learned is not kept\n",
               learning, learning == 1 ? " is" : "s are");
  return exit_ok;
}

/// A URL as scopes are named; what follows it, after a space, stays.
std::string scope_named(std::string const& given) {
  auto const space = given.find(' ');
  auto url = given.substr(0, space);
  auto const is_host = url.find_first_of(".:") != url.npos || url == "localhost";
  if (is_host && url.find("://") == url.npos) url = "https://" + url;
  auto const where = destination_of(url);
  if (!where.problem.empty()) throw fatal(exit_usage, "limits set: " + where.problem);
  return where.origin + (space == given.npos ? "" : given.substr(space));
}

int set(memory& known, std::string const& given, std::vector<std::string> const& values) {
  learned what;
  for (auto const& v : values) {
    auto const equals = v.find('=');
    auto const key = v.substr(0, equals), value = equals == v.npos ? "" : v.substr(equals + 1);
    if (key == "rate") {
      auto const r = option_value("rate", value, parse_rate);
      what.rate = r.units / to_seconds(r.period);
    } else if (key == "slots") {
      what.slots = option_value("slots", value, [](std::string_view text) {
        std::size_t read = 0;
        auto const n =
            text.empty() || !is_digit(text.front()) ? 0 : std::stod(std::string(text), &read);
        if (read != text.size() || !(n >= 1 && n <= 1'000'000) || n != std::floor(n))
          throw std::invalid_argument("want a whole number from 1 to 1000000");
        return n;
      });
    } else if (key == "latency") {
      what.latency = to_seconds(option_value("latency", value, parse_bound));
    } else {
      throw fatal(exit_usage,
                  fmt::format("{}: want rate=40/s, slots=8 or latency=200ms", in_quotes(v)));
    }
  }
  if (what.slots > 0 && what.latency == 0)
    throw fatal(exit_usage, "slots: want latency=… beside it, as latency=200ms");
  if (what.slots > 0 && what.rate == 0) what.rate = what.slots / what.latency;
  if (what.rate == 0) throw fatal(exit_usage, "want rate=40/s, or slots=8 latency=200ms");
  auto const scope = scope_named(given);
  known.set(scope, what);
  fmt::print(
      "{}: {} by hand\n", printable(short_name(scope)),
      what.slots > 0 ? fmt::format("about {:.0f} at once", what.slots) : rate_in_words(what.rate));
  return exit_ok;
}

int why(memory const& known, std::string const& pattern) {
  bool any = false;
  for (auto const& [name, s] : known.all()) {
    if (!matches(pattern, name)) continue;
    any = true;
    auto const title = printable(short_name(name));
    if (s.by_hand)
      fmt::print("{}: set by hand {}\n", title, ago(s.at));
    else if (s.last_cut)
      fmt::print("{}: last cut {}, by an answer: {}\n", title, ago(s.last_cut->at),
                 printable(s.last_cut->by));
    else
      fmt::print("{}: no refusal made a run send less\n", title);
  }
  auto const living = ask_living_runs();
  for (auto const& [name, u] : living) {
    if (!matches(pattern, name) || known.all().contains(name)) continue;
    any = true;
    fmt::print("{}: in use for the first time; what is learned of it is kept when that ends\n",
               printable(short_name(name)));
  }
  if (!any) no_match(pattern, known, living);
  return exit_ok;
}

struct arguments {
  std::string what, scope, state;
  std::vector<std::string> values;
  bool json = false;

  int act() const {
    auto const want = [&](bool is, std::string_view usage) {
      if (!is) throw fatal(exit_usage, fmt::format("want headway limits {}", usage));
    };
    want(!json || what.empty(), "--json, without anything else");
    want(what != "forget" || (!scope.empty() && values.empty()), "forget SCOPE");
    want(what != "why" || (!scope.empty() && values.empty()), "why SCOPE");
    want(what != "set" || !values.empty(), "set URL rate=40/s");
    auto const path = state.empty() ? memory::default_path() : state;
    if (path.empty()) throw fatal(exit_usage, "want --state FILE, since HOME is not set");
    if (what == "forget" || what == "set") require_state(state);
    memory known(path);
    if (what == "forget") return forget(known, scope);
    if (what == "why") return why(known, scope);
    if (what == "set") return set(known, scope, values);
    return list(known, json);
  }
};

}  // namespace

void add_limits(CLI::App& program, action& chosen) {
  auto* const limits = program.add_subcommand(
      "limits",
      "Shows what runs have learned about servers, and forgets or sets it.\n\n"
      "  headway limits\n"
      "  headway limits forget 'api.example*'\n"
      "  headway limits set https://api.example rate=40/s\n"
      "  headway limits why api.example\n\n"
      "What is forgotten stays so: a run that lives now does not write it back.\n"
      "TRUST is how much of a limit the next run begins with: half of it after a week.\n"
      "HELD is for how long what living runs have waiting there waits yet.\n"
      "Exit codes: 0 done, 2 usage error or no such scope, 74 cannot write.");
  auto const a = std::make_shared<arguments>();
  limits->add_option("ACTION", a->what, "forget, set or why; without it all are listed")
      ->check(CLI::IsMember({"forget", "set", "why"}));
  limits->add_option("SCOPE", a->scope,
                     "Scope, or a pattern of several as api.example*; of set a URL");
  limits->add_option("VALUES", a->values, "Of set: rate=40/s, slots=8, latency=200ms");
  limits->add_option("--state", a->state,
                     "File of learned limits [XDG_STATE_HOME/headway/limits.json]");
  limits->add_flag("--json", a->json, "List them as JSON, one object a line");
  limits->callback([a, &chosen] { chosen = [a] { return a->act(); }; });
}

}  // namespace headway::app
