#include "report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "base/url.hpp"
#include "base/words.hpp"

namespace headway::app {
namespace {

using row = std::vector<std::string>;
struct table {
  std::string title{};
  std::vector<row> rows{};  ///< the first has the heads
};

std::string seconds(double s) {
  return s == 0 ? "–" : in_words(from_seconds(s));
}

std::string share(std::int64_t part, std::int64_t all) {
  return fmt::format("{:.1f} %",
                     all > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(all) : 0);
}

std::string limit_of(scope_figures const& s) {
  if (s.slots > 0) return fmt::format("{:.0f} at once", s.slots);
  return s.limit > 0 ? rate_in_words(s.limit) : "not met";
}

/// The run in a few sentences.
std::vector<std::string> sentences(reported const& r) {
  std::vector<std::string> all;
  if (auto const& t = r.trace) {
    all.push_back(fmt::format(
        "{} requests ended in {}: {} attempts, {} throttled ({}), {} failed. The law was {}.",
        t->requests, in_words(t->took), t->attempts, t->throttled, share(t->throttled, t->attempts),
        t->failed, t->law));
    if (!t->scopes.empty()) {
      auto const& most = t->scopes.front();
      all.push_back(most.limit > 0 || most.slots > 0
                        ? fmt::format("The limit of {} was about {}.",
                                      printable(short_name(most.name)), limit_of(most))
                        : fmt::format("No limit of {} was met.", printable(short_name(most.name))));
    }
  }
  if (auto const& f = r.results) {
    all.push_back(
        fmt::format("{} succeeded, {} failed, {} unknown, with {} attempts, {} of them throttled.",
                    f->success, f->failed, f->unknown, f->attempts, f->throttled));
    all.push_back(
        fmt::format("Requests waited for {} on average. The last attempt took {} in the median, {} "
                    "at p99, {} at most.",
                    seconds(f->waited / static_cast<double>(std::max<std::int64_t>(
                                            1, f->success + f->failed + f->unknown))),
                    seconds(f->p50), seconds(f->p99), seconds(f->max)));
  }
  return all;
}

std::vector<table> tables(reported const& r) {
  std::vector<table> all;
  if (auto const& t = r.trace) {
    double sum = 0;
    for (auto const& [why, s] : t->held) sum += s;
    std::vector<std::pair<double, reason>> order;
    for (auto const& [why, s] : t->held) order.emplace_back(s, why);
    std::ranges::sort(order, std::greater{});
    table held{.title = "Why it waited", .rows = {{"Reason", "Time", "Share"}}};
    for (auto const& [s, why] : order)
      held.rows.push_back({std::string(to_string(why)), in_words(from_seconds(s)),
                           fmt::format("{:.0f} %", 100 * s / sum)});
    if (held.rows.size() > 1) all.push_back(std::move(held));
    table scopes{.title = "Scopes",
                 .rows = {{"Scope", "Attempts", "Throttled", "Failed", "The limit was"}}};
    for (std::size_t i = 0; i < std::min<std::size_t>(t->scopes.size(), 50); ++i) {
      auto const& s = t->scopes[i];
      scopes.rows.push_back({printable(short_name(s.name)), std::to_string(s.attempts),
                             fmt::format("{} ({})", s.throttled, share(s.throttled, s.attempts)),
                             std::to_string(s.failed), limit_of(s)});
    }
    all.push_back(std::move(scopes));
    table changed{.title = "Changed by headway ctl", .rows = {{"After", "Change"}}};
    for (auto const& [at, words] : t->changed)
      if (changed.rows.size() <= 50) changed.rows.push_back({in_words(at), printable(words)});
    if (changed.rows.size() > 1) all.push_back(std::move(changed));
  }
  if (auto const& f = r.results) {
    std::vector<std::pair<std::int64_t, row>> order;
    for (auto const& [key, e] : f->endings) {
      auto const& [host, outcome, status] = key;
      order.emplace_back(e.count,
                         row{printable(host), outcome, status > 0 ? std::to_string(status) : "–",
                             std::to_string(e.count), cut_to(40, printable(e.example_id)),
                             cut_to(120, printable(e.reason))});
    }
    std::ranges::stable_sort(order, std::greater{}, [](auto const& o) { return o.first; });
    if (order.size() > 50) order.resize(50);
    table endings{.title = "How requests ended",
                  .rows = {{"Host", "Outcome", "Status", "Requests", "Example", "Its reason"}}};
    for (auto& [count, cells] : order) endings.rows.push_back(std::move(cells));
    all.push_back(std::move(endings));
  }
  return all;
}

std::string replaced(std::string_view text,
                     std::initializer_list<std::pair<char, std::string_view>> with) {
  std::string out;
  for (char const c : text) {
    auto const found = std::ranges::find(with, c, &std::pair<char, std::string_view>::first);
    found == with.end() ? out += c : out += found->second;
  }
  return out;
}

std::string html(std::string_view text) {
  return replaced(text, {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}});
}

// ── plots ───────────────────────────────────────────────────────────────────────────────────

struct series {
  std::string name;
  std::string color;  ///< a class of the style sheet
  std::function<double(moment const&)> of;
  bool steps = false;  ///< a line that holds until the next value; 0: not known
};

/// Bars on top of each other, and lines over them.
std::string plot(std::string_view title, std::string_view unit, traced_figures const& t,
                 std::vector<series> const& bars, std::vector<series> const& lines) {
  constexpr double width = 900, height = 200, left = 56, bottom = 24;
  auto const n = static_cast<double>(t.moments.size());
  double most = 0;
  for (auto const& m : t.moments) {
    double sum = 0;
    for (auto const& s : bars) sum += s.of(m);
    most = std::max(most, sum);
    for (auto const& s : lines) most = std::max(most, s.of(m));
  }
  if (most == 0) return "";
  auto const x = [&](double i) { return left + (width - left) * i / n; };
  auto const y = [&](double v) { return (height - bottom) * (1 - v / (1.05 * most)); };
  auto out = fmt::format(
      "<figure><figcaption>{}<span class=unit> {}</span></figcaption>\n"
      "<svg viewBox=\"0 0 {} {}\" role=img aria-label=\"{}\">\n",
      html(title), html(unit), width, height, html(title));
  for (double const part : {0.0, 0.5, 1.0})
    out += fmt::format(
        "<path class=grid d=\"M{} {:.1f}H{}\"/><text x={} y={:.1f} class=end>{:.3g}</text>\n", left,
        y(part * most), width, left - 6, y(part * most) + 4, part * most);
  auto const whole = to_seconds(t.moment) * n;
  for (double const part : {0.0, 0.5, 1.0})
    out += fmt::format("<text x={:.1f} y={} class={}>{:.3g} s</text>\n", x(part * n), height - 6,
                       part == 0   ? "start"
                       : part == 1 ? "end"
                                   : "middle",
                       part * whole);
  std::vector<double> base(t.moments.size());
  for (auto const& s : bars) {
    std::string d;
    for (std::size_t i = 0; i < t.moments.size(); ++i) {
      auto const v = s.of(t.moments[i]);
      if (v <= 0) continue;
      auto const at = static_cast<double>(i);
      d += fmt::format("M{:.1f} {:.1f}V{:.1f}H{:.1f}V{:.1f}Z", x(at), y(base[i]), y(base[i] + v),
                       x(at + 1), y(base[i]));
      base[i] += v;
    }
    out += fmt::format("<path class=\"bar {}\" d=\"{}\"/>\n", s.color, d);
  }
  for (auto const& s : lines) {
    std::string d;
    double last = 0;
    for (std::size_t i = 0; i < t.moments.size(); ++i) {
      auto v = s.of(t.moments[i]);
      if (v == 0 && s.steps) v = last;
      if (v > 0)
        d += fmt::format("{}{:.1f} {:.1f}{}", last > 0 ? "L" : "M", x(static_cast<double>(i)), y(v),
                         s.steps ? fmt::format("H{:.1f}", x(static_cast<double>(i) + 1)) : "");
      last = v;
    }
    out += fmt::format("<path class=\"line {}\" d=\"{}\"/>\n", s.color, d);
  }
  out += "</svg>\n<p class=key>";
  for (auto const* all : {&bars, &lines})
    for (auto const& s : *all)
      out += fmt::format("<span><i class=\"{}\"></i>{}</span> ", s.color, html(s.name));
  return out + "</p></figure>\n";
}

std::string plots(traced_figures const& t) {
  auto const per_second = [&](std::int64_t moment::*count) {
    return [&t, count](moment const& m) {
      return static_cast<double>(m.*count) / to_seconds(t.moment);
    };
  };
  auto text = plot("Attempts and the believed limit", "a second", t,
                   {{"accepted", "a", per_second(&moment::accepted)},
                    {"throttled", "b", per_second(&moment::throttled)},
                    {"failed", "c", per_second(&moment::failed)}},
                   {{"believed limit", "d", [](moment const& m) { return m.limit; }, true}});
  text += plot("In flight and the believed slots", "requests", t,
               {{"in flight, at most", "a", [](moment const& m) { return double(m.in_flight); }}},
               {{"believed slots", "d", [](moment const& m) { return m.slots; }, true}});
  std::vector<series> why;
  constexpr std::array<std::string_view, 5> colors = {"a", "d", "b", "c", "e"};
  std::vector<std::pair<double, reason>> order;
  for (auto const& [r, s] : t.held) order.emplace_back(s, r);
  std::ranges::sort(order, std::greater{});
  if (order.size() > colors.size()) order.resize(colors.size());
  for (auto const& [s, r] : order)
    why.push_back(
        {std::string(to_string(r)), std::string(colors[why.size()]), [&t, r = r](moment const& m) {
           auto const found = m.held.find(r);
           return found == m.held.end() ? 0.0 : found->second / to_seconds(t.moment);
         }});
  text += plot("Why it waited", "scopes that waited", t, why, {});
  return text + plot("Latency", "seconds", t, {},
                     {{"p50", "a", [](moment const& m) { return m.p50; }},
                      {"p99", "b", [](moment const& m) { return m.p99; }}});
}

constexpr std::string_view style =
    R"(:root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--soft:#667;--grid:#8883;
--a:#2f6fba;--b:#d9822b;--c:#c23b3b;--d:#1d8a5b;--e:#8660b5}
@media(prefers-color-scheme:dark){:root{--ink:#e4e6ea;--paper:#15181c;--soft:#9aa4b0;--a:#6ba6e8;--b:#f0a75a;--c:#ee7676;--d:#58c795;--e:#b79ae0}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:960px;margin:2em auto;padding:0 1em}
h1{font-size:1.4em;overflow-wrap:anywhere}h2{font-size:1.1em;margin-top:2em}
figure{margin:1.5em 0}figcaption{font-weight:600}.unit,.key{color:var(--soft);font-weight:400;font-size:.9em;margin:0}
svg{width:100%;height:auto;display:block}svg text{fill:var(--soft);font-size:12px}.start{text-anchor:start}.middle{text-anchor:middle}.end{text-anchor:end}
.grid{stroke:var(--grid);fill:none}.line{fill:none;stroke-width:2}
.key span{margin-right:1em;white-space:nowrap}.key i{display:inline-block;width:.8em;height:.8em;margin-right:.3em}
.bar.a{fill:var(--a)}.bar.b{fill:var(--b)}.bar.c{fill:var(--c)}.bar.d{fill:var(--d)}.bar.e{fill:var(--e)}
.line.a{stroke:var(--a)}.line.b{stroke:var(--b)}.line.c{stroke:var(--c)}.line.d{stroke:var(--d)}
i.a{background:var(--a)}i.b{background:var(--b)}i.c{background:var(--c)}i.d{background:var(--d)}i.e{background:var(--e)}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.9em}th,td{text-align:left;padding:.25em .8em .25em 0;border-bottom:1px solid var(--grid);vertical-align:top})";

}  // namespace

std::string in_markdown(reported const& r) {
  auto const cell = [](std::string_view text) {
    return replaced(text, {{'|', "\\|"}, {'<', "&lt;"}, {'\n', " "}, {'`', "'"}});
  };
  auto out = fmt::format("## {}\n\n", cell(r.title));
  for (auto const& s : sentences(r)) out += cell(s) + "\n";
  for (auto const& t : tables(r)) {
    out += fmt::format("\n**{}**\n\n", t.title);
    for (std::size_t i = 0; i < t.rows.size(); ++i) {
      out += "|";
      for (auto const& c : t.rows[i]) out += fmt::format(" {} |", cell(c));
      out += "\n";
      if (i > 0) continue;
      out += "|";
      for (std::size_t k = 0; k < t.rows[0].size(); ++k) out += "---|";
      out += "\n";
    }
  }
  return out;
}

std::string in_html(reported const& r) {
  auto out = fmt::format(
      "<!doctype html>\n<html lang=en>\n<meta charset=utf-8>\n"
      "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n"
      "<meta name=viewport "
      "content=\"width=device-width\">\n<title>{0}</title>\n<style>{1}</style>\n<h1>{0}</h1>\n",
      html(r.title), style);
  for (auto const& s : sentences(r)) out += fmt::format("<p>{}</p>\n", html(s));
  if (r.trace) out += plots(*r.trace);
  for (auto const& t : tables(r)) {
    out += fmt::format(
        "<h2>{0}</h2>\n<div class=wide tabindex=0 role=region aria-label=\"{0}\"><table>\n",
        html(t.title));
    for (std::size_t i = 0; i < t.rows.size(); ++i) {
      out += "<tr>";
      for (auto const& c : t.rows[i])
        out += fmt::format("<{0}>{1}</{0}>", i == 0 ? "th" : "td", html(c));
      out += "\n";
    }
    out += "</table></div>\n";
  }
  return out;
}

}  // namespace headway::app
