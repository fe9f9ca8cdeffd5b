#include "headway/text/law.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace headway {
namespace {

constexpr duration time_max = 24h;
constexpr double rate_max = 1e6;
constexpr double many = 1e6;
constexpr int never_reset = std::numeric_limits<int>::max();

[[noreturn]] void wrong(std::string const& what) {
  throw std::invalid_argument(what);
}

std::string quoted(std::string_view text) {
  constexpr std::size_t enough = 60;
  return "'" + std::string(text.substr(0, enough)) + (text.size() > enough ? "…'" : "'");
}

/// A number as a person writes it: no zeros at its end.
std::string shown(double value) {
  std::array<char, 32> text{};
  auto const end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

/// The number that `text` begins with; what follows it is left there. Negative: there is none.
double take_number(std::string_view& text) {
  double value = -1;
  auto const [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || !(value >= 0)) return -1;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

double nanoseconds_of(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, double>, 7> units = {{{"ns", 1},
                                                                         {"us", 1e3},
                                                                         {"ms", 1e6},
                                                                         {"s", 1e9},
                                                                         {"min", 6e10},
                                                                         {"h", 3.6e12},
                                                                         {"d", 8.64e13}}};
  auto const found = std::ranges::find(units, unit, &std::pair<std::string_view, double>::first);
  return found == units.end() ? 0 : found->second;
}

/// What stands between the parentheses after a name, setting by setting.
class settings {
 public:
  settings(std::string_view of, std::string_view inner) : of_(of) {
    while (!inner.empty()) {
      auto const comma = std::min(inner.find(','), inner.size());
      auto const word = inner.substr(0, comma);
      inner.remove_prefix(std::min(comma + 1, inner.size()));
      if (word.empty()) wrong(std::string(of) + " has an empty setting");
      auto const equals = std::min(word.find('='), word.size());
      auto const name = word.substr(0, equals);
      if (std::ranges::find(words_, name, &word_t::name) != words_.end())
        wrong(std::string(name) + " is given twice");
      words_.push_back(
          {name, word.substr(std::min(equals + 1, word.size())), equals < word.size()});
    }
  }

  /// Whether the word is there, as it stands.
  bool flag(std::string_view name) {
    auto const found = take(name);
    if (found && found->has_value) wrong(std::string(name) + " takes no value");
    return found.has_value();
  }

  void number(std::string_view name, double& into, double least, double most) {
    value(name, [&](std::string_view text) {
      auto rest = text;
      auto const n = take_number(rest);
      if (!rest.empty() || n < least || n > most)
        out_of_range(name, text, "a number", shown(least), shown(most));
      into = n;
    });
  }

  void whole(std::string_view name, int& into, int least) {
    value(name, [&](std::string_view text) {
      int n = 0;
      auto const end = text.data() + text.size();
      auto const [stop, error] = std::from_chars(text.data(), end, n);
      if (error != std::errc{} || stop != end || n < least || n > static_cast<int>(many))
        out_of_range(name, text, "a whole number", std::to_string(least), "1000000");
      into = n;
    });
  }

  void share(std::string_view name, double& into, double most) {
    value(name, [&](std::string_view text) {
      auto rest = text;
      auto const n = take_number(rest);
      if (rest != "%" || n < 0 || n > most)
        out_of_range(name, text, "a share", "0%", shown(most) + "%");
      into = n / 100;
    });
  }

  void time(std::string_view name, duration& into, duration least = 1us) {
    value(name, [&](std::string_view text) {
      auto rest = text;
      auto const n = take_number(rest);
      auto const ns = n * nanoseconds_of(rest);
      if (!(n >= 0) || nanoseconds_of(rest) == 0 || ns < static_cast<double>(least.count()) ||
          ns > static_cast<double>(time_max.count()))
        out_of_range(name, text, "a time", least == 0ns ? "0s" : "1us", "24h");
      into = from_nanoseconds(ns + 0.5);
    });
  }

  /// Units, and the time that they are for. True if it is there.
  bool rate(std::string_view name, std::pair<double, duration>& into) {
    return value(name, [&](std::string_view text) {
      auto rest = text;
      auto const units = take_number(rest);
      auto const slash = rest.starts_with('/');
      if (slash) rest.remove_prefix(1);
      auto const count = rest;
      auto const times = count.empty() || nanoseconds_of(count) > 0 ? 1 : take_number(rest);
      auto const period = from_nanoseconds(times * nanoseconds_of(rest));
      if (units < 0 || !slash || period <= 0ns || !(units / to_seconds(period) <= rate_max) ||
          units / to_seconds(period) * 86400 < 1)
        out_of_range(name, text, "a count per time", "1/d", "1000000/s");
      into = {units, period};
    });
  }
  void rate(std::string_view name, double& per_second) {
    std::pair<double, duration> r;
    if (rate(name, r)) per_second = r.first / to_seconds(r.second);
  }

  /// Throws where a setting is left that nothing asked for.
  void no_more() const {
    if (words_.empty()) return;
    auto const had = known_.empty() ? std::string("it has none") : "it has " + known_;
    wrong(quoted(words_.front().name) + " is not a setting of " + std::string(of_) + "; " + had);
  }

 private:
  struct word_t {
    std::string_view name, value;
    bool has_value = false;
  };

  std::optional<word_t> take(std::string_view name) {
    known_.append(known_.empty() ? "" : ", ").append(name);
    auto const found = std::ranges::find(words_, name, &word_t::name);
    if (found == words_.end()) return std::nullopt;
    auto const word = *found;
    words_.erase(found);
    return word;
  }

  template <class Use>
  bool value(std::string_view name, Use use) {
    auto const word = take(name);
    if (word) use(word->value);
    return word.has_value();
  }

  [[noreturn]] static void out_of_range(std::string_view name, std::string_view value,
                                        std::string_view kind, std::string const& least,
                                        std::string const& most) {
    wrong(std::string(name) + " " + quoted(value) + " is not " + std::string(kind) + " from " +
          least + " to " + most);
  }

  std::string_view of_;
  std::vector<word_t> words_;
  std::string known_;
};

void check_order(std::string_view least, duration a, std::string_view most, duration b) {
  if (a > b) wrong(std::string(least) + " is above " + std::string(most));
}

template <class B>
B based(settings& in) {
  B b;
  in.time("base", b.base);
  in.time("cap", b.cap);
  check_order("base", b.base, "cap", b.cap);
  return b;
}

void set_exponential(exponential_backoff& b, settings& in) {
  in.time("first", b.initial);
  in.number("multiplier", b.multiplier, 1, 100);
  in.time("cap", b.cap);
  check_order("first", b.initial, "cap", b.cap);
}

void set_spread(proportional_jitter<exponential_backoff>& b, settings& in) {
  set_exponential(b.inner, in);
  in.number("randomization", b.randomization_factor, 0, 1);
  in.time("max-randomization", b.max_randomization, 0ns);
}

any_backoff read_backoff(settings& in) {
  if (in.flag("full")) return {based<full_jitter>(in)};
  if (in.flag("equal")) return {based<equal_jitter>(in)};
  if (in.flag("decorrelated")) return {based<decorrelated_jitter>(in)};
  if (in.flag("exponential")) {
    proportional_jitter<exponential_backoff> b{.randomization_factor = 0};
    set_spread(b, in);
    return b.randomization_factor == 0 ? any_backoff{b.inner} : any_backoff{b};
  }
  if (in.flag("linear")) {
    linear_backoff b;
    in.time("interval", b.interval);
    in.time("cap", b.cap);
    check_order("interval", b.interval, "cap", b.cap);
    return {b};
  }
  if (in.flag("constant")) {
    constant_backoff b;
    in.time("wait", b.wait, 0ns);
    return {b};
  }
  wrong("backoff begins with full, equal, decorrelated, exponential, linear or constant");
}

template <class Window>
void set_window(Window& w, settings& in) {
  in.number("cut", w.beta, 0.01, 0.99);
  in.number("cwnd", w.cwnd, 1, many);
  in.number("ssthresh", w.ssthresh, 1, many);
}

/// Reads the settings of each law.
struct setter {
  settings& in;
  shipped_law& of;

  any_law operator()(seek l) const {
    in.rate("start", l.level);
    in.share("leave", l.leave, 95);
    return {l};
  }
  any_law operator()(paced<hesitant, reno> l) const {
    set_window(l.win, in);
    return {l};
  }
  any_law operator()(paced<hesitant, tahoe> l) const {
    set_window(l.win, in);
    l.win.initial = l.win.cwnd;
    return {l};
  }
  any_law operator()(paced<adaptive_rate, fixed_window> l) const {
    in.rate("start", l.pace.rate);
    in.number("cut", l.pace.factor, 0.01, 0.99);
    in.rate("rise", l.pace.increment);
    in.rate("least", l.pace.floor);
    in.rate("most", l.pace.ceiling);
    if (l.pace.floor > l.pace.ceiling) wrong("least is above most");
    in.whole("quiet", of.quiet_successes, 1);
    if (in.flag("no-backoff")) of.throttled = after_throttle::stand_in_line;
    return {l};
  }
  any_law operator()(paced<gcra, fixed_window> l) const { return {l}; }
  any_law operator()(paced<unpaced, fixed_window> l) const {
    if (of.name == "exponential") {
      set_spread(std::get<proportional_jitter<exponential_backoff>>(of.backoff.choice), in);
      return {l};
    }
    int burst = 1;
    std::pair<double, duration> rate;
    in.number("concurrency", l.win.permits, 1, many);
    auto const paces = in.rate("rate", rate);
    in.whole("burst", burst, 1);
    if (paces)
      return {paced<gcra, fixed_window>{.pace = gcra::per(rate.first, rate.second, burst),
                                        .win = l.win}};
    if (burst > 1) wrong("burst goes with rate only");
    return {l};
  }
  any_law operator()(auto_sleeper l) const {
    in.time("initial", l.initial_interval);
    in.time("max", l.max_interval);
    in.time("max-randomization", l.max_randomization, 0ns);
    in.number("up", l.up_multiplier, 1, 100);
    in.number("down", l.down_multiplier, 0.01, 1);
    in.number("randomization", l.randomization_factor, 0, 1);
    in.whole("threshold", l.down_multiplier_threshold, 1);
    check_order("initial", l.initial_interval, "max", l.max_interval);
    return {l};
  }
};

struct part {
  std::string_view name, inner;
};

/// NAME or NAME(…).
part cut(std::string_view text) {
  auto const open = text.find('(');
  if (open == text.npos) return {text, {}};
  if (!text.ends_with(')')) wrong(quoted(text) + " does not end with ')'");
  auto const inner = text.substr(open + 1, text.size() - open - 2);
  if (inner.find_first_of("()") != inner.npos)
    wrong(quoted(text) + " has parentheses within parentheses");
  return {text.substr(0, open), inner};
}

shipped_law backoff_alone(part const& p) {
  auto l = *shipped_law_named("exponential");
  settings in(p.name, p.inner);
  l.what = "no pace at all: every request retries after its own backoff";
  l.backoff = read_backoff(in);
  auto const never = in.flag("never");
  auto reset = 0;
  in.whole("reset", reset, 1);
  in.no_more();
  if (never && reset > 0) wrong("never does not go with reset");
  if (never || reset > 0) {
    l.throttled = after_throttle::share_level;
    l.quiet_successes = never ? never_reset : reset;
  }
  return l;
}

std::string known_laws() {
  std::string names;
  for (auto const& l : shipped_laws()) names += l.name + ", ";
  return names + "backoff(…)";
}

}  // namespace

shipped_law parse_law(std::string_view text) {
  std::string whole;
  std::ranges::copy_if(text, std::back_inserter(whole), [](char c) { return c != ' '; });
  auto const plus = whole.find('+');
  auto const first = cut(std::string_view(whole).substr(0, plus));
  shipped_law l;
  if (first.name == "backoff") {
    if (plus != whole.npos) wrong("backoff stands alone, or last: LAW+backoff(…)");
    l = backoff_alone(first);
  } else {
    auto const* const shipped = shipped_law_named(first.name);
    if (shipped == nullptr)
      wrong(quoted(first.name) + " is not a law; it is one of " + known_laws());
    l = *shipped;
    settings in(first.name, first.inner);
    l.law = std::visit(setter{in, l}, shipped->law.choice);
    in.no_more();
  }
  l.name = whole;
  if (plus == whole.npos) return l;
  auto const second = cut(std::string_view(whole).substr(plus + 1));
  if (second.name != "backoff") wrong(quoted(second.name) + " is not backoff(…)");
  settings in(second.name, second.inner);
  l.backoff = read_backoff(in);
  in.no_more();
  return l;
}

}  // namespace headway
