#include "page/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <vector>

#include "base/fatal.hpp"
#include "base/json_text.hpp"
#include "base/web_page.hpp"
#include "headway/law/shipped.hpp"

namespace headway::app {

extern web_page const simulate_page;

namespace {

constexpr std::size_t points_max = 600;

void append(std::string& out, double value) {
  if (std::isfinite(value))
    fmt::format_to(std::back_inserter(out), "{:.6g}", value);
  else
    out += "null";
}

void append(std::string& out, std::int64_t value) {
  fmt::format_to(std::back_inserter(out), "{}", value);
}

void append(std::string& out, std::uint64_t value) {
  fmt::format_to(std::back_inserter(out), "\"{}\"", value);  // a JSON reader's numbers are doubles
}

/// "[…]" of `each(item)`.
template <class Items, class Each>
void append_list(std::string& out, Items const& items, Each each) {
  out += '[';
  for (auto const& item : items) {
    if (out.back() != '[') out += ',';
    append(out, each(item));
  }
  out += ']';
}

/// Seconds between the moments of all timelines; zero: there are none.
double step_of(comparison const& c) {
  double step = 0;
  auto const look = [&](comparison::row const& r) {
    if (r.runs.empty() || r.runs.front().timeline.size() < 2) return;
    auto const& line = r.runs.front().timeline;
    step = to_seconds(line[1].at - line[0].at);
  };
  for (auto const& r : c.rows) look(r);
  look(c.told);
  return step;
}

/// Points at the ends of `each` moments, a power of two, so that a short run keeps its detail
/// beside a long one, and still all points are on one grid. Rates are of the second before (or of
/// all moments since the last point): shorter ones would show flights, not rates.
void append_timeline(std::string& out, std::vector<sim::moment> const& line, double step) {
  std::size_t each = 1;
  while (line.size() > each * points_max) each *= 2;
  auto const over = std::max(each, static_cast<std::size_t>(std::lround(1 / step)));
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < line.size(); i += each)
    ends.push_back(std::min(line.size(), i + each));

  auto const rate = [&](char const* name, std::int32_t sim::moment::*count) {
    std::vector<std::int64_t> until{0};
    for (auto const& m : line) until.push_back(until.back() + m.*count);
    fmt::format_to(std::back_inserter(out), "\"{}\":", name);
    append_list(out, ends, [&](std::size_t end) {
      auto const begin = end - std::min(end, over);
      return static_cast<double>(until[end] - until[begin]) / (step * static_cast<double>(over));
    });
    out += ',';
  };
  fmt::format_to(std::back_inserter(out), "{{\"each\":{},\"moments\":{},", each, line.size());
  rate("attempts", &sim::moment::attempts);
  rate("accepted", &sim::moment::accepted);
  rate("throttled", &sim::moment::throttled);
  rate("failed", &sim::moment::broken);
  // A law that knows no window allows as many as there are.
  constexpr double unbounded = 1e6;
  out += "\"window\":";
  append_list(out, ends, [&](std::size_t end) {
    auto const window = line[end - 1].window;
    return window < unbounded ? window : INFINITY;
  });
  out += ",\"in_flight\":";
  append_list(out, ends, [&](std::size_t end) { return std::int64_t{line[end - 1].in_flight}; });
  out += ",\"ssthresh\":";
  append_list(out, ends, [&](std::size_t end) {
    auto const ssthresh = line[end - 1].ssthresh;
    return ssthresh > 0 ? ssthresh : INFINITY;
  });
  out += '}';
}

/// Delays in milliseconds, in the order of the answers, and which of them refused: 1, or 0.
void append_points(std::string& out, std::vector<sim::point> const& points) {
  out += ",\"delays\":";
  append_list(out, points, [](auto const& p) { return to_seconds(p.delay) * 1e3; });
  out += ",\"served\":";
  append_list(out, points, [](auto const& p) { return std::int64_t{p.served}; });
}

void append_law(std::string& out, comparison const& c, comparison::row const& r, double step) {
  out += "{\"law\":";
  append_quoted(out, r.law);
  out += ",\"figures\":{";
  auto const figure = [&](char const* name, auto of) {
    std::vector<double> values;
    for (std::size_t i = 0; i < r.runs.size(); ++i) values.push_back(of(i));
    auto const over = spread(values);
    fmt::format_to(std::back_inserter(out), "{}\"{}\":{{\"median\":", out.back() == '{' ? "" : ",",
                   name);
    append(out, over.median);
    out += ",\"p90\":";
    append(out, over.p90);
    out += ",\"runs\":";
    append_list(out, values, [](double v) { return v; });
    out += '}';
  };
  if (!r.runs.empty()) {
    auto const& runs = r.runs;
    if (!c.told.runs.empty())
      figure("times_told", [&](auto i) { return times_told(runs[i], c.told.runs[i]); });
    figure("completion", [&](auto i) { return to_seconds(runs[i].completion); });
    figure("attempts", [&](auto i) { return static_cast<double>(runs[i].attempts); });
    if (c.what.price > 0)
      figure("money", [&](auto i) { return c.what.price * static_cast<double>(runs[i].attempts); });
    figure("attempts_per_request", [&](auto i) { return attempts_per_request(runs[i]); });
    figure("throttled_share", [&](auto i) { return 100 * throttled_share(runs[i]); });
    figure("worst_second", [&](auto i) { return static_cast<double>(runs[i].worst_second); });
    figure("p50", [&](auto i) { return to_seconds(runs[i].p50); });
    figure("p99", [&](auto i) { return to_seconds(runs[i].p99); });
    figure("jain", [&](auto i) { return runs[i].jain; });
    if (c.what.recovery_from > 0ns)
      figure("recovery", [&](auto i) { return to_seconds(runs[i].recovery); });
  }
  out += "},\"finished\":";
  append(out,
         std::count_if(r.runs.begin(), r.runs.end(), [](auto const& f) { return f.finished; }));
  if (!r.runs.empty() && step > 0) {
    out += ",\"line\":";
    append_timeline(out, r.runs.front().timeline, step);
    append_points(out, r.runs.front().points);
  }
  out += '}';
}

void append_comparison(std::string& out, comparison const& c) {
  auto const step = step_of(c);
  out += "{\"title\":";
  append_quoted(out, c.title);
  out += ",\"name\":";
  append_quoted(out, c.what.name);
  out += ",\"sweep\":[";
  for (auto const& [key, value] : c.sweep) {
    out += out.back() == '[' ? "{\"key\":" : ",{\"key\":";
    append_quoted(out, key);
    out += ",\"value\":";
    append_quoted(out, value);
    out += '}';
  }
  out += "],\"about\":";
  append_quoted(out, c.what.about);
  out += ",\"seeds\":";
  append_list(out, c.seeds, [](std::uint64_t seed) { return seed; });
  out += ",\"step\":";
  append(out, step);
  out += ",\"told\":";
  append_quoted(out, c.told.law);
  out += ",\"laws\":[";
  for (auto const& r : c.rows) {
    if (r.law == c.told.law) continue;
    append_law(out, c, r, step);
    out += ',';
  }
  append_law(out, c, c.told, step);
  out += "]}";
}

}  // namespace

void require_report() {
  if (!simulate_page.built())
    throw fatal(exit_usage,
                "--report: this build has no report page; build with npm and -DHEADWAY_WEB=ON");
}

std::string report_page(std::span<comparison const> comparisons, std::string_view command) {
  require_report();
  std::string data = "{\"command\":";
  append_quoted(data, command);
  data += ",\"default_law\":";
  append_quoted(data, shipped_laws().front().name);
  data += ",\"scenarios\":[";
  for (auto const& c : comparisons) {
    if (data.back() != '[') data += ',';
    append_comparison(data, c);
  }
  data += "]}";
  return simulate_page.around(data);
}

}  // namespace headway::app
