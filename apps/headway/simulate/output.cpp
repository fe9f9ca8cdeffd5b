#include "simulate/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "base/json_text.hpp"

namespace headway::app {
namespace {

struct figure {
  std::string_view name;
  std::function<double(sim::figures const& run, sim::figures const& told)> of;
  bool golden = false;
};

std::vector<figure> const& all_figures() {
  using run = sim::figures const&;
  static std::vector<figure> const all{
      {"finished", [](run f, run) { return f.finished ? 1.0 : 0.0; }},
      {"requests", [](run f, run) { return static_cast<double>(f.requests); }},
      {"done", [](run f, run) { return static_cast<double>(f.done); }, true},
      {"given_up", [](run f, run) { return static_cast<double>(f.given_up); }},
      {"attempts", [](run f, run) { return static_cast<double>(f.attempts); }, true},
      {"poisoned_attempts", [](run f, run) { return static_cast<double>(f.poisoned_attempts); }},
      {"poisoned_most", [](run f, run) { return static_cast<double>(f.poisoned_most); }},
      {"throttled", [](run f, run) { return static_cast<double>(f.throttled); }, true},
      {"failed", [](run f, run) { return static_cast<double>(f.broken); }},
      {"worst_second", [](run f, run) { return static_cast<double>(f.worst_second); }, true},
      {"completion_s", [](run f, run) { return to_seconds(f.completion); }, true},
      {"times_told", [](run f, run told) { return times_told(f, told); }},
      {"attempts_per_request", [](run f, run) { return attempts_per_request(f); }},
      {"throttled_share", [](run f, run) { return throttled_share(f); }},
      {"p50_s", [](run f, run) { return to_seconds(f.p50); }},
      {"p99_s", [](run f, run) { return to_seconds(f.p99); }, true},
      {"server_p99_s", [](run f, run) { return to_seconds(f.server_p99); }, true},
      {"jain", [](run f, run) { return f.jain; }, true},
      {"jain_late", [](run f, run) { return f.jain_late; }},
      {"smallest_share", [](run f, run) { return f.smallest_share; }},
      {"background_share", [](run f, run) { return f.background_share; }, true},
      {"recovery_s", [](run f, run) { return to_seconds(f.recovery); }, true},
      {"events", [](run f, run) { return static_cast<double>(f.events); }},
  };
  return all;
}

/// The limit-known sender's run of the same seed; no run where that one was too long.
sim::figures const& told_of(comparison const& c, std::size_t seed) {
  static sim::figures const none;
  return seed < c.told.runs.size() ? c.told.runs[seed] : none;
}

/// Takes the first line off a text, and returns it without its end.
std::string_view take_line(std::string_view& text) {
  auto const first = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(first.size() + 1, text.size()));
  return first;
}

/// Nine digits are exact for nanoseconds of less than a second, and for all counts here.
std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{:.12g}", value) : "null";
}

std::string digest_of(sim::figures const& f) {
  return fmt::format("{:016x}", f.digest);
}

template <class Each>
std::string joined(std::size_t n, std::string_view between, Each each) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0) out += between;
    out += each(i);
  }
  return out;
}

std::string json_over_seeds(comparison const& c, comparison::row const& r, double spread_of::*of) {
  auto const& figures = all_figures();
  return joined(figures.size(), ", ", [&](std::size_t i) {
    std::vector<double> values;
    for (std::size_t seed = 0; seed < r.runs.size(); ++seed)
      values.push_back(figures[i].of(r.runs[seed], told_of(c, seed)));
    return fmt::format("\"{}\": {}", figures[i].name, number(spread(std::move(values)).*of));
  });
}

std::string json_run(comparison const& c, comparison::row const& r, std::size_t seed) {
  auto const& figures = all_figures();
  auto const& run = r.runs[seed];
  return fmt::format("{{\"seed\": {}, {}, \"digest\": \"{}\"}}", c.seeds[seed],
                     joined(figures.size(), ", ",
                            [&](std::size_t i) {
                              return fmt::format("\"{}\": {}", figures[i].name,
                                                 number(figures[i].of(run, told_of(c, seed))));
                            }),
                     digest_of(run));
}

std::string json_law(comparison const& c, comparison::row const& r) {
  if (r.runs.empty()) return fmt::format("{{\"law\": {}, \"runs\": []}}", json_string(r.law));
  return fmt::format(
      "{{\"law\": {}, \"median\": {{{}}}, \"p90\": {{{}}}, \"runs\": [\n      {}]}}",
      json_string(r.law), json_over_seeds(c, r, &spread_of::median),
      json_over_seeds(c, r, &spread_of::p90),
      joined(r.runs.size(), ",\n      ", [&](std::size_t seed) { return json_run(c, r, seed); }));
}

bool ends(sim::scenario const& s) {
  return std::all_of(s.groups.begin(), s.groups.end(), [](sim::group const& g) {
    return g.background || std::holds_alternative<sim::batch>(g.work);
  });
}

/// Three digits, and more where that many are before the point.
std::string short_number(double value) {
  if (!std::isfinite(value)) return "∞";
  if (value >= 100) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}f}", value, value >= 10 ? 1 : 2);
}

std::string time(double seconds) {
  return seconds > 0 && seconds < 1 ? fmt::format("{:.0f} ms", seconds * 1000)
                                    : short_number(seconds) + " s";
}

std::string percent(double share) {
  return fmt::format("{:.{}f} %", share * 100, share < 0.1 ? 2 : 1);
}

/// Whether the law `fixed` is given something to keep to.
bool bounds(sim::scenario const& s) {
  return std::ranges::any_of(s.groups, [](sim::group const& g) {
    return g.rate_ceiling || g.in_flight_max < std::numeric_limits<int>::max();
  });
}

struct column {
  std::string head;
  std::function<std::string(comparison::row const&)> cell;
};

std::vector<column> columns_of(comparison const& c, bool digest) {
  using row = comparison::row const&;
  using run = sim::figures const&;
  std::vector<column> columns;
  auto const add = [&](std::string head, auto cell) { columns.push_back({std::move(head), cell}); };
  auto const of_duration = [](duration sim::figures::*d) {
    return [d](row r) { return time(spread(r, [d](run f) { return to_seconds(f.*d); }).median); };
  };

  if (ends(c.what))
    add("completion", [](row r) {
      bool const all = std::all_of(r.runs.begin(), r.runs.end(), [](run f) { return f.finished; });
      return (all ? "" : "> ") +
             time(spread(r, [](run f) { return to_seconds(f.completion); }).median);
    });
  else
    add("goodput", [](row r) {
      auto const rate = [](run f) {
        return static_cast<double>(f.done) / to_seconds(f.completion);
      };
      return short_number(spread(r, rate).median) + "/s";
    });
  if (!c.told.runs.empty()) {
    add("÷ told", [&c](row r) { return fmt::format("{:.3f}", times_told(c, r).median); });
    add("p90", [&c](row r) { return fmt::format("{:.3f}", times_told(c, r).p90); });
  }
  add("attempts/request",
      [](row r) { return fmt::format("{:.3f}", spread(r, attempts_per_request).median); });
  add("throttled", [](row r) { return percent(spread(r, throttled_share).median); });
  add("p90", [](row r) { return percent(spread(r, throttled_share).p90); });
  add("worst second", [](row r) {
    auto const worst = [](run f) { return static_cast<double>(f.worst_second); };
    return fmt::format("{:.0f}", spread(r, worst).median);
  });
  add("p50", of_duration(&sim::figures::p50));
  add("p99", of_duration(&sim::figures::p99));
  if (c.what.price > 0)
    add("money", [price = c.what.price](row r) {
      auto const of = [price](run f) { return price * static_cast<double>(f.attempts); };
      return fmt::format("{:.4g}", spread(r, of).median);
    });
  auto const count = [](std::int64_t sim::figures::*n) {
    return [n](row r) {
      auto const of = [n](run f) { return static_cast<double>(f.*n); };
      return fmt::format("{:.0f}", spread(r, of).median);
    };
  };
  auto const any = [&](std::int64_t sim::figures::*n) {
    return std::ranges::any_of(c.rows, [n](row r) {
      return std::ranges::any_of(r.runs, [n](run f) { return f.*n > 0; });
    });
  };
  if (any(&sim::figures::given_up)) add("given up", count(&sim::figures::given_up));
  if (any(&sim::figures::poisoned_attempts)) {
    add("attempts at poisoned", count(&sim::figures::poisoned_attempts));
    add("most at one", count(&sim::figures::poisoned_most));
  }
  auto const& limits = c.what.server.limits;
  if (std::any_of(limits.begin(), limits.end(),
                  [](auto const& l) { return std::holds_alternative<sim::queue>(l); }))
    add("server's p99", of_duration(&sim::figures::server_p99));
  int measured = 0;
  bool background = false;
  for (auto const& g : c.what.groups) (g.background ? background = true : measured += g.clients);
  if (measured > 1)
    add("Jain", [](row r) {
      return fmt::format("{:.3f}", spread(r, [](run f) { return f.jain; }).median);
    });
  if (background)
    add("background",
        [](row r) { return percent(spread(r, [](run f) { return f.background_share; }).median); });
  if (c.what.recovery_from > 0ns) add("recovery", of_duration(&sim::figures::recovery));
  if (digest)
    add("digest", [](row r) {
      std::uint64_t all = 0;
      for (auto const& f : r.runs) all = mix(all ^ f.digest);
      return fmt::format("{:016x}", all);
    });
  return columns;
}

}  // namespace

std::string as_table(comparison const& c, bool digest) {
  auto const columns = columns_of(c, digest);
  std::vector<std::vector<std::string>> lines{{"law"}};
  for (auto const& column : columns) lines[0].push_back(column.head);
  std::string too_long;
  for (auto const& r : c.rows) {
    if (r.runs.empty()) {
      too_long += (too_long.empty() ? "" : ", ") + r.law;
      continue;
    }
    lines.push_back({r.law});
    for (auto const& column : columns) lines.back().push_back(column.cell(r));
  }
  std::vector<std::size_t> widths(lines[0].size());
  auto const width = [](std::string_view text) {  // every character here is one column wide
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xc0) != 0x80; }));
  };
  for (auto const& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width(line[i]));

  auto out = fmt::format("{}: {}\n", c.title, c.what.about);
  for (auto const& line : lines) {
    out += line[0] + std::string(widths[0] - width(line[0]), ' ');
    for (std::size_t i = 1; i < line.size(); ++i)
      out += "  " + std::string(widths[i] - width(line[i]), ' ') + line[i];
    out += '\n';
  }
  if (!too_long.empty()) out += "not measured, too many events: " + too_long + '\n';
  if (std::ranges::any_of(c.rows, [](auto const& r) { return r.law == "fixed"; }) &&
      !bounds(c.what))
    out +=
        "fixed has no rate here, and only backs off, as exponential does: want "
        "'fixed(rate=50/s)', or a rate of clients\n";
  return out;
}

std::string as_json(std::vector<comparison> const& all) {
  return "{\"scenarios\": [\n" +
         joined(all.size(), ",\n",
                [&](std::size_t i) {
                  auto const& c = all[i];
                  return fmt::format(
                      "  {{\"scenario\": {}, \"title\": {}, \"about\": {}, \"laws\": [\n    {}]}}",
                      json_string(c.what.name), json_string(c.title), json_string(c.what.about),
                      joined(c.rows.size(), ",\n    ",
                             [&](std::size_t row) { return json_law(c, c.rows[row]); }));
                }) +
         "\n]}\n";
}

std::string as_csv(std::vector<comparison> const& all) {
  auto const& figures = all_figures();
  std::string out = "scenario,title,law,seed";
  for (auto const& f : figures) out += fmt::format(",{}", f.name);
  out += ",digest\n";
  auto const field = [](std::string text) {
    if (text.find_first_of(",\"") == text.npos) return text;
    for (auto at = text.find('"'); at != text.npos; at = text.find('"', at + 2))
      text.insert(at, 1, '"');
    return '"' + text + '"';
  };
  for (auto const& c : all)
    for (auto const& r : c.rows)
      for (std::size_t seed = 0; seed < r.runs.size(); ++seed) {
        out += fmt::format("{},{},{},{}", field(c.what.name), field(c.title), r.law, c.seeds[seed]);
        for (auto const& f : figures) {
          auto const value = f.of(r.runs[seed], told_of(c, seed));
          out += std::isfinite(value) ? ',' + number(value) : ",";
        }
        out += ',' + digest_of(r.runs[seed]) + '\n';
      }
  return out;
}

std::string as_golden(comparison const& c) {
  auto const law = [&](std::size_t row) {
    auto const& r = c.rows[row];
    if (r.runs.empty()) return fmt::format("{}: null", json_string(r.law));
    std::string figures;
    for (auto const& f : all_figures())
      if (f.golden)
        figures += fmt::format("\"{}\": [{}], ", f.name, joined(r.runs.size(), ", ", [&](auto i) {
                                 return number(f.of(r.runs[i], told_of(c, i)));
                               }));
    return fmt::format(
        "{}: {{{}\"digest\": [{}]}}", json_string(r.law), figures,
        joined(r.runs.size(), ", ", [&](auto i) { return json_string(digest_of(r.runs[i])); }));
  };
  return "{\n" + joined(c.rows.size(), ",\n", law) + "\n}\n";
}

std::string first_seeds(std::string_view was, std::string_view is, std::size_t seeds) {
  std::string out;
  while (!was.empty()) {
    auto const before = take_line(was);
    auto const now = take_line(is);
    std::size_t values = 0;
    bool list = false;
    for (auto const c : before.find(": null") == before.npos ? before : now) {
      if (c == '[' || c == ']') list = c == '[';
      values = list ? values + (c == ',' ? 1 : 0) : 0;
      if (values < seeds) out += c;
    }
    out += '\n';
  }
  return out;
}

std::string difference(std::string_view was, std::string_view is) {
  std::string out;
  while (!was.empty() || !is.empty()) {
    auto const before = take_line(was);
    auto const now = take_line(is);
    if (before == now) continue;
    if (!before.empty()) out += fmt::format("- {}\n", before);
    if (!now.empty()) out += fmt::format("+ {}\n", now);
  }
  return out;
}

}  // namespace headway::app
