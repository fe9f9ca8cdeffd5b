#include "scenario/scenario_file.hpp"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

#include "base/fatal.hpp"
#include "headway/sim/simulation.hpp"
#include "scenario/grammar.hpp"

namespace headway::app {
namespace {

sim::mixture::part parse_latency(std::string_view text) {
  sim::mixture::part part;
  phrase w(text);
  w.with("weight", [&](auto v) { part.weight = parse_number(v, 1e-6, 1e6); });
  if (w.kind().name == "exponential") {
    part.of = sim::exponential{parse_time(w.kind().value)};
  } else if (w.kind().name == "lognormal") {
    sim::lognormal d{parse_time(w.kind().value)};
    w.with("cv", [&](auto v) { d.cv = parse_number(v, 0, 100); });
    part.of = d;
  } else {
    part.of = parse_spread(w.kind().name);
  }
  w.no_more();
  return part;
}

double per_second(std::string_view text) {
  auto const [units, period] = parse_rate(text);
  return units / to_seconds(period);
}

duration parse_offset(std::string_view text) {
  return text.starts_with('-') ? -parse_time(text.substr(1)) : parse_time(text);
}

// ── tables ────────────────────────────────────────────────────────────────────────────────────

/// A table that is read key by key and remembers which ones it was asked for.
class section {
 public:
  section(toml::table const& table, std::string const& file) : table_(table), file_(file) {}

  /// `use(node)` if the key is there; what it throws as invalid_argument is told with file and
  /// line.
  template <class Use>
  void node(std::string_view key, Use use) {
    known_.push_back(std::string(key));
    auto const* const n = table_.get(key);
    if (n == nullptr) return;
    try {
      use(*n);
    } catch (std::invalid_argument const& error) {
      throw fatal(exit_usage, fmt::format("{}: {} {}", place(*n), key, error.what()));
    }
  }

  /// … of a string, or of each string of an array.
  template <class Use>
  void text(std::string_view key, Use use) {
    node(key, [&](toml::node const& n) { use(text_of(n)); });
  }
  template <class Use>
  void texts(std::string_view key, Use use) {
    node(key, [&](toml::node const& n) {
      if (auto const* const several = n.as_array()) {
        if (several->empty()) wrong("has none; leave it out for that");
        for (auto const& one : *several) use(text_of(one));
      } else {
        use(text_of(n));
      }
    });
  }

  template <class T>
  void number(std::string_view key, T& into, double least, double most) {
    node(key, [&](toml::node const& n) {
      auto const value = n.value<double>();
      bool const whole = !std::is_integral_v<T> || n.is_integer();
      if (!value || !whole || !(*value >= least && *value <= most))
        wrong("'{}' is not a {}number from {} to {}", shown(n),
              std::is_integral_v<T> ? "whole " : "", least, most);
      into = static_cast<T>(*value);
    });
  }

  void flag(std::string_view key, bool& into) {
    node(key, [&](toml::node const& n) {
      if (!n.is_boolean()) wrong("'{}' is not true or false", shown(n));
      into = **n.as_boolean();
    });
  }

  template <class Use>
  void table(std::string_view key, Use use) {
    node(key, [&](toml::node const& n) {
      if (!n.is_table()) wrong("'{}' is not a table, such as {{ key = value }}", shown(n));
      section inner(*n.as_table(), file_);
      use(inner);
      inner.no_more();
    });
  }

  void no_more() const {
    for (auto const& [key, value] : table_)
      if (std::find(known_.begin(), known_.end(), key.str()) == known_.end())
        throw fatal(exit_usage, fmt::format("{}: '{}' is not a key here; known are {}",
                                            place(value), key.str(), fmt::join(known_, ", ")));
  }

  /// That `key` was given although `other` makes no sense of it.
  void not_with(std::string_view key, std::string_view other) const {
    if (auto const* const n = table_.get(key); n != nullptr && table_.contains(other))
      throw fatal(exit_usage, fmt::format("{}: {} does not go with {}", place(*n), key, other));
  }
  void only_with(std::string_view key, std::string_view other) const {
    if (auto const* const n = table_.get(key); n != nullptr && !table_.contains(other))
      throw fatal(exit_usage, fmt::format("{}: {} goes with {} only", place(*n), key, other));
  }

  bool has(std::string_view key) const { return table_.contains(key); }
  std::string const& file() const { return file_; }

 private:
  static std::string shown(toml::node const& n) {
    if (n.is_string()) return **n.as_string();
    std::ostringstream out;
    n.visit([&](auto const& value) { out << value; });
    return std::move(out).str();
  }

  static std::string_view text_of(toml::node const& n) {
    if (!n.is_string()) wrong("{} is not text: it takes quotes", shown(n));
    return std::string_view(**n.as_string());
  }

  std::string place(toml::node const& n) const {
    if (n.source().begin.line == 0) return file_ + ": --sweep";  // put in by hand
    return fmt::format("{}:{}", file_, n.source().begin.line);
  }

  toml::table const& table_;
  std::string const& file_;
  std::vector<std::string> known_;
};

// ── the scenario ──────────────────────────────────────────────────────────────────────────────

auto time_into(duration& d) {
  return [&d](std::string_view text) { d = parse_time(text); };
}
/// A span in which something happens: of no time at all it says nothing.
auto span_into(duration& d) {
  return [&d](std::string_view text) { d = parse_bound(text); };
}
auto share_into(double& d) {
  return [&d](std::string_view text) { d = parse_share(text); };
}

bool sets_ceilings(sim::group const& g) {
  return g.rate_ceiling || g.in_flight_max != sim::group{}.in_flight_max;
}

/// `room`: for requests that are there from the start.
sim::group read_group(section& in, std::int64_t& room) {
  sim::group g;
  in.text("name", [&](auto v) { g.name = v; });
  in.text("law", [&](auto v) { g.law = sim::contender_of(v).name; });
  in.number("count", g.clients, 1, 1e6);
  in.text("connect", [&](auto v) { g.connect = parse_spread(v); });
  in.text("rate", [&](auto v) { g.rate_ceiling = parse_ceiling(v); });
  in.number("concurrency", g.in_flight_max, 1, 1e6);
  in.text("joins", time_into(g.joins));
  in.text("stagger", time_into(g.stagger));
  in.text("leaves", [&](auto v) {
    g.leaves = parse_bound(v);
    if (g.leaves <= g.joins) wrong("'{}' is not later than joins", v);
  });
  in.number("cost", g.cost_mean, 1, 1e6);
  in.number("cost-cv", g.cost_cv, 0, 100);
  in.flag("cost-known", g.cost_known);
  in.number("sdk-retries", g.sdk_retries, 0, 255);
  in.text("suspended-at", time_into(g.suspended_at));
  in.text("suspended-for", span_into(g.suspended_for));
  in.text("suspended-each", [&](auto v) {
    g.suspended_each = parse_time(v);
    if (g.suspended_each <= g.suspended_for) wrong("'{}' is not longer than suspended-for", v);
  });
  in.flag("background", g.background);

  constexpr double most = 1e9;
  if (in.has("workers")) {
    sim::closed_loop work;
    in.number("workers", work.workers, 1, 1e6);
    in.text("think", time_into(work.think));
    in.number("requests", work.requests, 1, most);
    in.number("poisoned", g.poisoned, 0, static_cast<double>(work.requests));
    g.work = work;
  } else if (in.has("arrivals") && !in.has("requests")) {
    sim::open_arrivals work;
    bool evenly = false;
    in.text("arrivals", [&](auto v) { work.rate = per_second(v); });
    in.flag("evenly", evenly);
    in.text("on", span_into(work.on));
    in.text("off", span_into(work.off));
    in.only_with("on", "off");
    in.only_with("off", "on");
    work.poisson = !evenly;
    g.work = work;
  } else {
    sim::batch work;
    in.number("requests", work.requests, 1, most);
    in.number("poisoned", g.poisoned, 0, static_cast<double>(work.requests));
    in.text("arrivals", [&](auto v) { work.rate = per_second(v); });
    if (!in.has("arrivals"))
      in.node(in.has("requests") ? "requests" : "count", [&](toml::node const&) {
        if (work.requests > room / g.clients)
          wrong("is {} for each of {} clients; want at most {} in all, a tenth of --events-max",
                work.requests, g.clients, room);
        room -= work.requests * g.clients;
      });
    g.work = work;
  }
  in.text("poisoned-at", [&](auto v) {
    if (v == "random")
      g.poisoned_at = sim::placing::random;
    else if (v == "start")
      g.poisoned_at = sim::placing::start;
    else if (v == "middle")
      g.poisoned_at = sim::placing::middle;
    else if (v != "spread")
      wrong("'{}' is not spread, random, start or middle", v);
  });
  in.only_with("poisoned", "requests");
  in.text("poisoned-shows", [&](auto v) { g.poisoned_shows = parse_symptom(v); });
  in.only_with("poisoned-at", "poisoned");
  in.only_with("poisoned-shows", "poisoned");
  in.not_with("arrivals", "workers");
  in.only_with("think", "workers");
  in.only_with("suspended-at", "suspended-for");
  in.only_with("suspended-each", "suspended-for");
  for (std::string_view const key : {"on", "off", "evenly"}) {
    in.only_with(key, "arrivals");
    in.not_with(key, "requests");
  }
  return g;
}

void read_server(section& in, sim::scenario& s) {
  auto& server = s.server;
  in.texts("limit", [&](auto v) { server.limits.push_back(parse_limit(v)); });
  in.text("schedule", [&](auto v) { server.schedule = parse_schedule(v); });
  in.table("drift", [&](section& drift) {
    auto& d = server.drifts;
    drift.text("every", span_into(d.every));
    drift.number("step", d.step, 0, 1);
    drift.number("min", d.min, 0.001, 1);
    drift.number("max", d.max, 1, 1000);
    drift.number("seed", d.seed, 0, 1e9);
  });
  in.text("refusal", [&](auto v) { server.refusal = parse_symptom(v); });
  sim::mixture latency;
  in.texts("latency", [&](auto v) { latency.parts.push_back(parse_latency(v)); });
  if (latency.parts.size() == 1)
    server.latency = std::visit([](auto d) { return sim::distribution(d); }, latency.parts[0].of);
  else if (!latency.parts.empty())
    server.latency = latency;
  in.text("head", [&](auto v) {
    server.head = std::visit([](auto d) { return sim::distribution(d); }, parse_latency(v).of);
  });
  in.text("slowdowns", [&](auto v) {
    for (auto const& [at, factor] : parse_steps(v, "20s:10"))
      server.slowdowns.push_back({at, parse_number(factor, 0, 1e6)});
  });
  in.text("error-latency", time_into(server.error_latency));
  in.text("failures", share_into(server.failures));
  in.node("hints", [&](toml::node const& n) {
    auto const tell = [&](std::string_view what) {
      if (what == "retry-after")
        s.hints = sim::telling::retry_after;
      else if (what == "remaining")
        s.hints = sim::telling::remaining;
      else
        wrong("'{}' is not retry-after or remaining", what);
    };
    if (n.is_string()) return tell(**n.as_string());
    s.hints = sim::telling::retry_after;
    in.table("hints", [&](section& fault) {
      fault.text("tell", tell);
      fault.number("factor", server.hints.factor, 0, 1000);
      fault.text("offset", [&](auto v) { server.hints.offset = parse_offset(v); });
    });
  });
  if (auto const* const what = sim::contradiction(server))
    in.node(in.has("limit") ? "limit" : "schedule", [&](toml::node const&) { wrong("{}", what); });
}

sim::scenario read(section& in, std::string const& file, std::int64_t requests_max) {
  sim::scenario s;
  s.name = std::filesystem::path(file).stem().string();
  in.text("about", [&](auto v) { s.about = v; });
  read_server(in, s);

  in.text("connect", time_into(s.net.connect));
  in.text("jitter", time_into(s.net.jitter));
  in.text("wakes-late", time_into(s.net.wakes_late));
  in.text("lost", share_into(s.net.lost));
  in.text("timeout", [&](auto v) { s.net.timeout = parse_bound(v); });
  in.text("misread", share_into(s.net.misread));

  in.node("clients", [&](toml::node const& n) {
    s.groups.clear();
    auto room = requests_max;
    auto const add = [&](toml::node const& one) {
      if (!one.is_table()) wrong("is not a table, such as {{ requests = 1000 }}, or several");
      section group(*one.as_table(), in.file());
      s.groups.push_back(read_group(group, room));
      group.no_more();
    };
    if (auto const* const several = n.as_array())
      for (auto const& one : *several) add(one);
    else
      add(n);
    if (std::all_of(s.groups.begin(), s.groups.end(), [](auto& g) { return g.background; }))
      wrong("are all background: there are none to measure");
  });

  in.table("fleet", [&](section& fleet) {
    s.fleet.emplace();
    fleet.number("members", s.fleet->members, 1, 10'000);
    fleet.text("round-trip", time_into(s.fleet->round_trip));
    fleet.text("lost", share_into(s.fleet->lost));
    if (std::any_of(s.groups.begin(), s.groups.end(), sets_ceilings))
      wrong("does not go with rate or concurrency of clients");
  });
  in.number("price", s.price, 0, 1e6);
  in.table("contest", [&](section& contest) {
    sim::optimistic_lock lock;
    contest.number("writers", lock.clients, 1, 1e5);
    contest.text("delay", time_into(lock.delay_mean));
    contest.text("deviation", time_into(lock.delay_deviation));
    s.contest = lock;
  });
  if (s.contest)
    for (std::string_view const key : {"limit", "schedule", "clients"}) in.not_with(key, "contest");

  in.text("lasts", span_into(s.lasts));
  in.text("first-alone", time_into(s.first_alone));
  in.number("attempts-max", s.attempts_max, 1, 1e6);
  in.text("retry-budget", [&](auto v) { s.budget = parse_budget(v); });
  in.text("recovery-from", time_into(s.recovery_from));
  s.told = obvious_truth(s);
  in.table("told", [&](section& told) {
    told.text("rate", [&](auto v) { s.told.rate = per_second(v); });
    told.number("window", s.told.window, 0, 1e6);
  });
  in.no_more();
  return s;
}

/// Puts a value where the key's path leads; a list's first element where no number says which.
void put(toml::table& root, setting const& s) {
  toml::node* at = &root;
  std::string_view path = s.key;
  auto const last = path.rfind('.');
  auto const key = last == path.npos ? path : path.substr(last + 1);
  path = last == path.npos ? "" : path.substr(0, last);
  while (!path.empty() || at->is_array()) {
    if (auto* const list = at->as_array()) {
      std::size_t index = 0;
      auto const [stop, error] = std::from_chars(path.data(), path.data() + path.size(), index);
      if (error == std::errc{})
        path.remove_prefix(
            std::min<std::size_t>(static_cast<std::size_t>(stop - path.data()) + 1, path.size()));
      at = list->get(index);
    } else {
      auto const part = path.substr(0, path.find('.'));
      path.remove_prefix(std::min(part.size() + 1, path.size()));
      auto* const table = at->as_table();
      if (table != nullptr && !table->contains(part)) table->insert(part, toml::table{});
      at = table == nullptr ? nullptr : table->get(part);
    }
    if (at == nullptr)
      throw fatal(exit_usage, fmt::format("--sweep {}: there is no such table", s.key));
  }
  auto* const table = at->as_table();
  if (table == nullptr)
    throw fatal(exit_usage, fmt::format("--sweep {}: there is no such table", s.key));
  // A number or true as such, anything else as text.
  try {
    auto const value = toml::parse(fmt::format("value = {}", s.value));
    value.get("value")->visit([&](auto const& v) {
      if constexpr (toml::is_number<decltype(v)> || toml::is_boolean<decltype(v)>)
        table->insert_or_assign(key, *v);
      else
        table->insert_or_assign(key, s.value);
    });
  } catch (toml::parse_error const&) {
    table->insert_or_assign(key, s.value);
  }
}

double mean_of(sim::distribution const& d) {
  constexpr int draws = 1000;
  double sum = 0;
  for (int i = 0; i < draws; ++i)
    sum += to_seconds(d.draw(static_cast<fraction>((i + 0.5) / draws * 0x1p64)));
  return sum / draws;
}

}  // namespace

sim::truth obvious_truth(sim::scenario const& s) {
  double const latency = mean_of(s.server.latency);
  // Where service varies, slots are free a little later than they should be.
  bool const steady = s.server.latency.draw(0) == s.server.latency.draw(~fraction{});
  double cost = 1, clients = 0, way = 0;
  for (auto const& g : s.groups) {
    if (g.background) continue;
    if (!g.cost_known) cost = std::max(cost, g.cost_mean);
    clients += g.clients;
    auto const connect = g.connect.value_or(sim::spread{s.net.connect});
    way += g.clients * to_seconds(connect.min + connect.max) / 2;
  }
  way /= clients;
  auto const slots = [&](std::int64_t n) -> sim::truth {
    if (latency <= 0) return {};
    auto const busy = static_cast<double>(n);
    return {(steady ? 0.995 : 0.98) * busy / latency, busy * (way + latency) / latency};
  };
  auto const of = [&]<class Limit>(Limit const& l) -> sim::truth {
    if constexpr (std::is_same_v<Limit, sim::token_bucket>) {
      // Without burst, a request a moment too early is refused: what jitter may bring forward is
      // added to the interval.
      auto const early = l.burst > 1 ? 0ns : s.net.jitter + s.net.wakes_late;
      return {1 / to_seconds(l.interval + early) / cost, 0};
    } else if constexpr (std::is_same_v<Limit, sim::fixed_window>) {
      return {static_cast<double>(l.count) / to_seconds(l.period) / cost, 0};
    } else if constexpr (std::is_same_v<Limit, sim::sliding_window> ||
                         std::is_same_v<Limit, sim::window_counter>) {
      auto const count = static_cast<double>(std::max<std::int64_t>(1, l.count - 1));
      return {count / to_seconds(l.period) / cost, 0};
    } else if constexpr (std::is_same_v<Limit, sim::table_capacity>) {
      return {1 / to_seconds(l.fastest) / cost, 0};
    } else if constexpr (std::is_same_v<Limit, sim::concurrency>) {
      return slots(l.max_busy);
    } else if constexpr (std::is_same_v<Limit, sim::queue>) {
      return slots(l.servers);
    } else if constexpr (std::is_same_v<Limit, sim::shared>) {
      // Where the work varies, twice as many keep all of them busy, and none is refused for it.
      auto t = slots(l.processors);
      if (!steady) t.window = std::min(2 * t.window, static_cast<double>(l.at_work_max));
      return t;
    } else {
      return {};
    }
  };

  sim::truth highest;
  for (auto const& step : s.server.schedule) {
    auto const t = std::visit(of, step.becomes);
    highest = {std::max(highest.rate, t.rate), std::max(highest.window, t.window)};
  }
  auto const tighter = [](double a, double b) { return a > 0 && (a < b || b == 0) ? a : b; };
  sim::truth t = highest;
  for (auto const& limit : s.server.limits) {
    auto const one = std::visit(of, limit);
    t = {tighter(one.rate, t.rate), tighter(one.window, t.window)};
  }
  t = {t.rate / clients, t.window / clients};
  if (t.window < 1) t.window = 0;  // the pace does it
  return t;
}

sim::scenario parse_scenario(std::string_view text, std::string const& file,
                             std::vector<setting> const& instead, std::int64_t requests_max) {
  toml::table root;
  try {
    root = toml::parse(text, file);
  } catch (toml::parse_error const& error) {
    throw fatal(exit_usage,
                fmt::format("{}:{}: {}", file, error.source().begin.line, error.description()));
  }
  for (auto const& s : instead) put(root, s);
  section in(root, file);
  return read(in, file, requests_max);
}

sim::scenario read_scenario(std::string const& file, std::vector<setting> const& instead,
                            std::int64_t requests_max) {
  std::ifstream in(file, std::ios::binary);
  std::string const text(std::istreambuf_iterator<char>(in), {});
  if (!in.good() && !in.eof()) throw fatal(exit_usage, file + " cannot be read");
  return parse_scenario(text, file, instead, requests_max);
}

}  // namespace headway::app
