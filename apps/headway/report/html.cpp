#include "report/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "base/words.hpp"
#include "report/characters.hpp"

namespace headway::app {
namespace {

std::string text_of(std::string_view text) {
  return replaced(text, {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}});
}

std::string short_number(double v) {
  return v >= 1000 ? fmt::format("{:.0f}", v) : fmt::format("{:.3g}", v);
}

// ── plots ───────────────────────────────────────────────────────────────────────────────────

struct series {
  std::string name;
  std::string color;  ///< a class of the style sheet
  std::function<double(moment const&)> of;
  bool steps = false;  ///< a line that holds until the next value; 0: not known
};

/// Some moments, bars on top of each other, and lines over them.
struct chart {
  std::string_view title, unit;
  std::vector<series> bars{}, lines{};
  std::function<bool(moment const&)> band{};  ///< which moments are shaded
  std::string_view band_name{};
};

constexpr double width = 900, height = 210, bottom = 24;
constexpr double left = 100;  // six digits, as large as on a narrow screen

class drawing {
 public:
  drawing(traced_figures const& t, chart const& c) : of_(t), chart_(c) {
    for (auto const& m : t.moments) {
      double sum = 0;
      for (auto const& s : c.bars) sum += s.of(m);
      most_ = std::max(most_, sum);
      for (auto const& s : c.lines) most_ = std::max(most_, s.of(m));
    }
  }

  std::string svg() {
    if (most_ == 0) return "";
    out_ = fmt::format(
        "<figure><figcaption>{0}<span class=unit>{1}</span></figcaption>\n"
        "<svg viewBox=\"0 -18 {2} {3}\" role=img aria-label=\"{0}, {1}\">\n",
        text_of(chart_.title), text_of(chart_.unit), width, height + 18);
    bands();
    axes();
    bars();
    for (auto const& s : chart_.lines) line(s);
    if (banded_) key("band", chart_.band_name);
    return out_ + "</svg>\n<p class=key>" + keys_ + "</p></figure>\n";
  }

 private:
  double x(std::size_t i) const {
    return left + (width - left) * static_cast<double>(i) / static_cast<double>(of_.moments.size());
  }
  double y(double v) const { return (height - bottom) * (1 - v / (1.05 * most_)); }

  void key(std::string_view color, std::string_view name) {
    keys_ += fmt::format("<span><i class={}></i>{}</span> ", color, text_of(name));
  }

  /// Draws a series, and its key, unless there is nothing of it.
  void path(std::string_view kind, series const& s, std::string const& d) {
    if (d.empty()) return;
    out_ += fmt::format("<path class=\"{} {}\" d=\"{}\"/>\n", kind, s.color, d);
    key(s.color, s.name);
  }

  void axes() {
    for (double const part : {0.0, 0.5, 1.0})
      out_ += fmt::format(
          "<path class=grid d=\"M{} {:.1f}H{}\"/><text x={} y={:.1f} class=end>{}</text>\n", left,
          y(part * most_), width, left - 6, y(part * most_) + 4, short_number(part * most_));
    auto const whole = of_.moment * static_cast<std::int64_t>(of_.moments.size());
    auto const tick = [&](double at, std::string_view anchor, duration t) {
      out_ += fmt::format("<text x={:.1f} y={} class={}>{}</text>\n", at, height - 6, anchor,
                          in_words(t));
    };
    tick(left, "start", 0ns);
    tick((left + width) / 2, "middle", whole / 2);
    tick(width, "end", whole);
  }

  void bands() {
    if (!chart_.band) return;
    std::string d;
    for (std::size_t i = 0; i < of_.moments.size(); ++i)
      if (chart_.band(of_.moments[i]))
        d += fmt::format("M{:.1f} 0H{:.1f}V{}H{:.1f}Z", x(i), x(i + 1), height - bottom, x(i));
    banded_ = !d.empty();
    if (banded_) out_ += fmt::format("<path class=\"bar band\" d=\"{}\"/>\n", d);
  }

  void bars() {
    std::vector<double> base(of_.moments.size());
    for (auto const& s : chart_.bars) {
      std::string d;
      for (std::size_t i = 0; i < base.size(); ++i) {
        auto const v = s.of(of_.moments[i]);
        if (v <= 0) continue;
        d += fmt::format("M{:.1f} {:.1f}V{:.1f}H{:.1f}V{:.1f}Z", x(i), y(base[i]), y(base[i] + v),
                         x(i + 1), y(base[i]));
        base[i] += v;
      }
      path("bar", s, d);
    }
  }

  void line(series const& s) {
    std::string d;
    double last = 0;
    for (std::size_t i = 0; i < of_.moments.size(); ++i) {
      auto v = s.of(of_.moments[i]);
      if (v == 0 && s.steps) v = last;
      if (v > 0)
        d += fmt::format("{}{:.1f} {:.1f}{}", last > 0 ? "L" : "M", x(i), y(v),
                         s.steps ? fmt::format("H{:.1f}", x(i + 1)) : "");
      last = v;
    }
    path("line", s, d);
  }

  traced_figures const& of_;
  chart const& chart_;
  double most_ = 0;
  bool banded_ = false;
  std::string out_{}, keys_{};
};

std::vector<chart> charts_of(traced_figures const& t) {
  auto const per_second = [&t](std::int64_t moment::*count) {
    return [count, each = to_seconds(t.moment)](moment const& m) {
      return static_cast<double>(m.*count) / each;
    };
  };
  auto const held_for = [&t](std::string_view why) {
    return [why, each = to_seconds(t.moment)](moment const& m) {
      auto const found = m.held.find(why);
      return found == m.held.end() ? 0.0 : found->second / each;
    };
  };
  chart attempts{.title = "Attempts and the believed limit",
                 .unit = "a second",
                 .bars = {{"accepted", "a", per_second(&moment::accepted)},
                          {"throttled", "b", per_second(&moment::throttled)},
                          {"failed", "c", per_second(&moment::failed)}},
                 .lines = {{"believed limit", "f", [](moment const& m) { return m.limit; }, true}},
                 .band = [held = held_for(to_string(reason::server_hint))](
                             moment const& m) { return held(m) > 0.5; },
                 .band_name = "the server asked to wait"};
  chart flight{
      .title = "In flight and the believed slots",
      .unit = "requests",
      .bars = {{"in flight, at most", "a", [](moment const& m) { return double(m.in_flight); }}},
      .lines = {{"believed slots", "f", [](moment const& m) { return m.slots; }, true}}};
  chart waits{.title = "Why it waited", .unit = "scopes that waited"};
  constexpr std::array<std::string_view, 5> colors = {"a", "d", "b", "c", "e"};
  std::vector<std::pair<double, std::string_view>> order;
  for (auto const& [why, s] : t.held) order.emplace_back(s, why);
  std::ranges::sort(order, std::greater{});
  for (auto const& [s, why] : order)
    if (auto const n = waits.bars.size(); n < colors.size())
      waits.bars.push_back({std::string(why), std::string(colors[n]), held_for(why)});
  chart latency{.title = "Latency",
                .unit = "ms, from a send to its answer",
                .lines = {{"p50", "a", [](moment const& m) { return 1e3 * m.p50; }},
                          {"p99", "b", [](moment const& m) { return 1e3 * m.p99; }}}};
  return {attempts, flight, waits, latency};
}

// ── tables ──────────────────────────────────────────────────────────────────────────────────

std::string table_of(std::string_view title, std::vector<report_section::row> const& rows) {
  auto out =
      fmt::format("<div class=wide tabindex=0 role=region aria-label=\"{}\"><table>\n<thead><tr>",
                  text_of(title));
  for (auto const& c : rows.front()) out += fmt::format("<th scope=col>{}</th>", text_of(c));
  out += "</tr></thead>\n<tbody>\n";
  for (std::size_t i = 1; i < rows.size(); ++i) {
    out += "<tr>";
    for (auto const& c : rows[i]) out += fmt::format("<td>{}</td>", text_of(c));
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

/// What the plots show, where it cannot be seen.
std::string numbers_of(traced_figures const& t) {
  std::vector<report_section::row> rows = {{"From", "Accepted", "Throttled", "Failed", "In flight",
                                            "Believed limit", "Believed slots", "p50, ms",
                                            "p99, ms"}};
  auto const known = [](double v) { return v > 0 ? short_number(v) : std::string("–"); };
  for (std::size_t i = 0; i < t.moments.size(); ++i) {
    auto const& m = t.moments[i];
    if (m.accepted + m.throttled + m.failed == 0) continue;
    rows.push_back({fmt::format("{:.2f} s", to_seconds(t.moment * static_cast<std::int64_t>(i))),
                    std::to_string(m.accepted), std::to_string(m.throttled),
                    std::to_string(m.failed), std::to_string(m.in_flight), known(m.limit),
                    known(m.slots), known(1e3 * m.p50), known(1e3 * m.p99)});
  }
  return fmt::format("<details><summary>The plots as numbers, by {}</summary>\n{}</details>\n",
                     short_in_words(t.moment), table_of("The plots as numbers", rows));
}

constexpr std::string_view style =
    R"(:root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--quiet:#57606a;--line:#d8dee4;--shade:#f3f5f7;--accent:#0550ae;
--a:#004e7b;--b:#ae9202;--c:#811000;--d:#1da694;--e:#8b4bfa}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8ea;--paper:#14171a;--quiet:#9aa4ae;--line:#343b42;--shade:#1e2327;--accent:#79b8ff;
--a:#055df0;--b:#ebb60e;--c:#ad6719;--d:#07d7ff;--e:#a375a4}}
*{box-sizing:border-box}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:64rem;margin:0 auto;padding:1.5rem 1rem 4rem}
h1{font-size:1.5rem;margin:0 0 .5rem;overflow-wrap:anywhere}
h2{font-size:1.125rem;margin:2.5rem 0 .5rem;padding-top:1rem;border-top:1px solid var(--line)}
p{margin:.25rem 0;overflow-wrap:anywhere}.lead{font-size:1.125rem}.note,.unit,.key{color:var(--quiet);font-size:.875rem}
figure{margin:2rem 0 0}figcaption{font-weight:600}.unit{font-weight:400;margin-left:.5em}
svg{width:100%;height:auto;display:block}svg text{fill:var(--quiet);font-size:12px;font-variant-numeric:tabular-nums}
.start{text-anchor:start}.middle{text-anchor:middle}.end{text-anchor:end}
.grid{stroke:var(--line);fill:none}.line{fill:none;stroke-width:2}
.key{margin:.25rem 0 0 2.5rem}.key span{margin-right:1.25em;white-space:nowrap}
.key i{display:inline-block;width:.75rem;height:.75rem;border-radius:2px;margin-right:.375rem}
.bar.a{fill:var(--a)}.bar.b{fill:var(--b)}.bar.c{fill:var(--c)}.bar.d{fill:var(--d)}.bar.e{fill:var(--e)}.bar.band{fill:var(--line)}
.line.a{stroke:var(--a)}.line.b{stroke:var(--b)}.line.f{stroke:var(--ink)}
i.a{background:var(--a)}i.b{background:var(--b)}i.c{background:var(--c)}i.d{background:var(--d)}i.e{background:var(--e)}i.f{background:var(--ink)}i.band{background:var(--line)}
details{margin-top:1.5rem}summary{cursor:pointer;width:max-content;max-width:100%}
.wide{overflow:auto;max-height:28rem;margin:.5rem 0;border:1px solid var(--line);border-radius:4px}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
table{border-collapse:separate;border-spacing:0;font-size:.875rem;font-variant-numeric:tabular-nums;min-width:100%}
th,td{text-align:left;padding:.25rem .75rem;vertical-align:top;white-space:nowrap}td:last-child{white-space:normal;overflow-wrap:anywhere;min-width:6rem}
thead th{position:sticky;top:0;background:var(--shade);font-weight:600;border-bottom:1px solid var(--line)}
tbody tr:nth-child(even)>*{background:var(--shade)}
@media(max-width:30rem){body{padding-inline:.75rem}svg text{font-size:24px}.key{margin-left:0}}
@media print{.wide{max-height:none}})";

}  // namespace

std::string in_html(reported const& r) {
  auto const content = content_of(r);
  auto out = fmt::format(
      "<!doctype html>\n<html lang=en>\n<meta charset=utf-8>\n"
      "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n<meta name=viewport content=\"width=device-width\">\n"
      "<title>{0}</title>\n<style>{1}</style>\n<h1>{0}</h1>\n",
      text_of(content.title), style);
  for (auto const& s : content.summary)
    out += fmt::format("<p{}>{}</p>\n", &s == &content.summary.front() ? " class=lead" : "",
                       text_of(s));
  if (r.trace) {
    for (auto const& c : charts_of(*r.trace)) out += drawing(*r.trace, c).svg();
    out += numbers_of(*r.trace);
  }
  for (auto const& s : content.sections) {
    out += fmt::format("<h2>{}</h2>\n", text_of(s.title));
    if (!s.rows.empty()) out += table_of(s.title, s.rows);
    for (auto const& note : s.notes) out += fmt::format("<p class=note>{}</p>\n", text_of(note));
  }
  return out;
}

}  // namespace headway::app
