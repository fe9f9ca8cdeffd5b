#include "exec/command_profile.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>
#include <toml++/toml.h>

#include <algorithm>
#include <boost/regex.hpp>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "base/fatal.hpp"
#include "base/nearest.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"
#include "headway/http/retry_after.hpp"
#include "provider/profile.hpp"
#include "provider/profile_reader.hpp"
#include "shipped_command_profiles.hpp"

namespace headway::app {
namespace {

constexpr std::size_t line_max = 4096;  // of an output's line, that an expression sees
constexpr std::size_t fields_max = 64;
constexpr int exit_tempfail = 75;

using expression = boost::regex;

expression compiled(std::string_view text, bool any_case = true) try {
  boost::regex::flag_type how = boost::regex::perl;
  if (any_case) how |= boost::regex::icase;
  return expression(text.begin(), text.end(), how);
} catch (std::runtime_error const& wrong) {
  std::string const why = wrong.what();
  throw std::invalid_argument("no regular expression: " + why.substr(0, why.find("  The error")));
}

/// The first line that it is found in, and what its first group has there. An expression that takes
/// too long on a line is not found in it.
struct found_text {
  std::string line, group;
};
std::optional<found_text> find(expression const& e, std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    auto const end = std::min(text.find('\n', at), text.size());
    auto const line = text.substr(at, std::min(end - at, line_max));
    at = end + 1;
    try {
      boost::cmatch m;
      if (boost::regex_search(line.data(), line.data() + line.size(), m, e))
        return found_text{std::string(line), m.size() > 1 ? m[1].str() : ""};
    } catch (std::runtime_error const&) {
    }
  }
  return std::nullopt;
}

struct command_rule {
  std::vector<std::pair<int, int>> exits{};
  std::optional<expression> output{}, error{}, either{};
  reaction means = reaction::rate;
  std::optional<duration> hold{};
  std::optional<expression> retry_after{};
};

/// Seconds, "19s", "1m30s", or the time of an epoch.
std::optional<duration> wait_of(std::string_view text, std::chrono::sys_seconds now) {
  constexpr double epoch = 1e9, longest = to_seconds(http::wait_max);
  double all = 0, number = 0;
  auto const* at = text.data();
  auto const* const last = at + text.size();
  if (at == last) return std::nullopt;
  while (at < last) {
    auto const [end, wrong] = std::from_chars(at, last, number);
    if (wrong != std::errc{} || number < 0) return std::nullopt;
    at = end;
    while (at < last && *at == ' ') ++at;
    if (at == last && number >= epoch) {
      number -= static_cast<double>(now.time_since_epoch().count());
      all = std::max(number, 0.0);
      break;
    }
    auto const* const word = at;
    while (at < last && ((*at | 0x20) >= 'a' && (*at | 0x20) <= 'z')) ++at;
    auto const unit = lower(std::string_view(word, static_cast<std::size_t>(at - word)));
    all += number * (unit.starts_with("ms") || unit.starts_with("mill") ? 0.001
                     : unit.starts_with('d')                            ? 86400
                     : unit.starts_with('h')                            ? 3600
                     : unit.starts_with('m')                            ? 60
                                                                        : 1);
    while (at < last && (*at == ' ' || *at == ',')) ++at;
  }
  return all <= longest ? std::optional(from_seconds(all)) : std::nullopt;
}

/// Lines that look like fields of an HTTP answer, as curl -i and gh api -i print them.
std::vector<http::field> fields_in(std::string_view text) {
  std::vector<http::field> found;
  for (std::size_t at = 0; at < text.size() && found.size() < fields_max;) {
    auto const end = std::min(text.find('\n', at), text.size());
    auto line = trimmed(text.substr(at, end - at), " \t\r<");  // curl -v has "< "
    at = end + 1;
    auto const colon = line.find(':');
    if (colon == line.npos || colon == 0 || line.size() > line_max) continue;
    auto const name = line.substr(0, colon);
    if (std::ranges::all_of(name, [](char c) { return is_alphanumeric(c) || c == '-'; }))
      found.push_back({name, trimmed(line.substr(colon + 1))});
  }
  return found;
}

profile const& http_rules() {
  static profile const generic = profile::named("generic");
  return generic;
}

/// What HTTP itself would say of outputs that speak of a limit.
void add_http_hints(judgement& told, command_answer const& a, std::chrono::sys_seconds now) {
  for (auto const text : {a.error, a.output}) {
    auto const fields = fields_in(text);
    auto const said = http_rules().judge(
        {.status = 429, .fields = fields, .type = "text/plain", .body = text}, {}, now);
    if (!told.hold) told.hold = said.hold;
    told.quotas.insert(told.quotas.end(), said.quotas.begin(), said.quotas.end());
    told.ignored += said.ignored;
    if (told.first_ignored.empty()) told.first_ignored = said.first_ignored;
  }
}

/// What HTTP itself says of the answer that a command has printed, where its error names a status
/// as those of libcurl's callers do: curl -f, --fail-with-body, git.
judgement of_printed_answer(command_answer const& a, std::chrono::sys_seconds now) {
  static expression const names_status = compiled(R"(returned error: (4\d\d)\b)");
  auto const named = find(names_status, a.error);
  if (!named) return {};
  constexpr std::string_view end = "\r\n\r\n";
  auto const head = a.output.starts_with("HTTP/") ? a.output.find(end) : a.output.npos;
  auto const fields = fields_in(head == a.output.npos ? "" : a.output.substr(0, head));
  auto const body = head == a.output.npos ? a.output : a.output.substr(head + end.size());
  return http_rules().judge(
      {.status = std::stoi(named->group), .fields = fields, .type = "text/plain", .body = body}, {},
      now);
}

/// A line of HEADWAY_FD: {"throttle":true,"retry_after":12,"cost":{"tokens":9}} or
/// {"status":429,"header":{"Retry-After":"12"}}.
struct hint {
  std::int64_t status = 0;
  std::vector<std::pair<std::string, std::string>> header{};
  bool throttled = false;
  std::optional<double> seconds{};
  std::vector<settled_cost> costs{};
  int ignored = 0;  // values that make no sense

  explicit hint(simdjson::ondemand::object line) {
    for (auto field : line) {
      auto const key = std::string_view(field.unescaped_key());
      auto value = simdjson::ondemand::value(field.value());
      if (key == "status") {
        if (value.get(status) || status < 100 || status > 599) status = 0;
      } else if (key == "header") {
        each(value, [&](std::string_view name, simdjson::ondemand::value v) {
          if (std::string_view text; header.size() < fields_max && !v.get(text))
            header.emplace_back(name, text);
        });
      } else if (key == "throttle") {
        if (value.get(throttled)) throttled = false;
      } else if (key == "retry_after") {
        if (double n = 0; !value.get(n) && n >= 0 && n <= to_seconds(http::wait_max))
          seconds = n;
        else
          ++ignored;
      } else if (key == "cost") {
        each(value, [&](std::string_view name, simdjson::ondemand::value v) {
          if (double units = 0; !v.get(units) && units >= 0 && units <= 1e15)
            costs.push_back({.quota = std::string(name), .units = units});
          else
            ++ignored;
        });
      }
    }
  }

 private:
  template <class F>
  static void each(simdjson::ondemand::value value, F f) {
    simdjson::ondemand::object fields;
    if (value.get(fields)) return;
    for (auto field : fields) {
      auto const name = std::string_view(field.unescaped_key());
      f(name, simdjson::ondemand::value(field.value()));
    }
  }
};

/// Reads what a command wrote to HEADWAY_FD. Lines that are no hints are passed over; values are
/// read one by one, so that one beyond any number spoils no other.
std::optional<judgement> of_hints(std::string_view text, std::chrono::sys_seconds now) {
  std::optional<judgement> told;
  std::vector<settled_cost> costs;
  int ignored = 0;
  simdjson::ondemand::parser parser;
  for (std::size_t at = 0; at < text.size();) {
    auto const end = std::min(text.find('\n', at), text.size());
    simdjson::padded_string const line(text.substr(at, end - at));
    at = end + 1;
    try {
      auto document = parser.iterate(line);
      hint const said(document.get_object());
      if (said.status != 0) {
        std::vector<http::field> fields;
        for (auto const& [name, value] : said.header) fields.push_back({name, value});
        told = http_rules().judge({.status = static_cast<int>(said.status), .fields = fields}, {},
                                  now);
        told->code = fmt::format("status {}", said.status);
      }
      if (said.throttled) told = judgement{.what = reaction::rate, .code = "it says so"};
      if (told && throttles(told->what) && said.seconds) told->hold = from_seconds(*said.seconds);
      costs.insert(costs.end(), said.costs.begin(), said.costs.end());
      ignored += said.ignored;
    } catch (simdjson::simdjson_error const&) {
    }
  }
  if (!told && costs.empty()) return std::nullopt;
  if (!told) told.emplace();
  told->costs = std::move(costs);
  told->ignored += ignored;
  return told;
}

}  // namespace

struct command_profile::rules {
  std::string name;
  std::vector<std::string> programs{};
  bool local = false;
  std::vector<std::pair<std::string, std::string>> environment{};
  std::vector<std::string> scope{};
  std::vector<expression> safe{};
  std::vector<command_rule> list{};
};

namespace {

class reader : public profile_reader {
 public:
  using profile_reader::profile_reader;
  expression pattern(toml::node const& node, std::string_view key, bool any_case = true) const try {
    return compiled(text(node, key), any_case);
  } catch (std::invalid_argument const& e) {
    wrong(node, "'{}' is {}", key, e.what());
  }
  std::pair<int, int> exit(toml::node const& node) const {
    auto const one = node.value<std::int64_t>();
    if (!node.is_integer() || *one < 1 || *one > 255)
      wrong(node, "'exit' must be a list of numbers from 1 to 255");
    return {static_cast<int>(*one), static_cast<int>(*one)};
  }
  command_rule rule(toml::table const& table) const {
    command_rule r;
    bool means = false;
    for (auto const& [key, node] : table) {
      auto const k = key.str();
      if (k == "exit") {
        auto const* const list = node.as_array();
        if (list == nullptr || list->empty())
          wrong(node, "'exit' must be a list of numbers from 1 to 255");
        for (auto const& element : *list) r.exits.push_back(exit(element));
      } else if (k == "stdout") {
        r.output = pattern(node, k);
      } else if (k == "stderr") {
        r.error = pattern(node, k);
      } else if (k == "output") {
        r.either = pattern(node, k);
      } else if (k == "retry-after") {
        r.retry_after = pattern(node, k);
      } else if (k == "means") {
        auto const found = reaction_named(text(node, k));
        if (!found) wrong(node, "'means' is '{}'; known are {}", text(node, k), reaction_names());
        r.means = *found;
        means = true;
      } else if (k == "hold") {
        try {
          r.hold = parse_patience(text(node, k));
        } catch (std::invalid_argument const& e) {
          wrong(node, "'hold': {}", e.what());
        }
      } else if (k == "known") {
        auto const how = text(node, k);
        if (how != "run" && how != "read" && how != "said")
          wrong(node, "'known' is '{}'; want run, read or said", how);
      } else {
        wrong(node,
              "'{}' is not a key of a rule; known are exit, stdout, stderr, output, means, hold, "
              "retry-after, known",
              k);
      }
    }
    if (!means) wrong(table, "a rule needs 'means'");
    if (r.exits.empty() && !r.output && !r.error && !r.either)
      wrong(table, "a rule needs exit, stdout, stderr or output");
    return r;
  }
};

bool holds(command_rule const& r, command_answer const& a) {
  auto const in = [&](auto const& range) {
    return a.exit >= range.first && a.exit <= range.second;
  };
  if (!r.exits.empty() && std::ranges::none_of(r.exits, in)) return false;
  if (r.output && !find(*r.output, a.output)) return false;
  if (r.error && !find(*r.error, a.error)) return false;
  return !r.either || find(*r.either, a.error) || find(*r.either, a.output);
}

std::string_view last_line(std::string_view text) {
  text = trimmed(text, " \t\r\n");
  return text.substr(text.rfind('\n') + 1).substr(0, 200);
}

/// "SIGKILL".
std::string name_of(int signal) {
#ifdef __GLIBC__
  if (auto const* const name = sigabbrev_np(signal)) return fmt::format("SIG{}", name);
#endif
  return fmt::format("signal {}", signal);
}

}  // namespace

command_profile::command_profile(std::shared_ptr<rules const> r) : rules_(std::move(r)) {}

command_profile command_profile::parse(std::string_view toml_text, std::string const& file) {
  auto r = std::make_shared<rules>();
  r->name = file;
  try {
    auto const all = toml::parse(toml_text, file);
    reader const in(file);
    for (auto const& [key, node] : all) {
      auto const k = key.str();
      if (k == "about") {
        in.text(node, k);
      } else if (k == "programs") {
        r->programs = in.texts(node, k);
      } else if (k == "scope") {
        r->scope = in.texts(node, k);
      } else if (k == "local") {
        if (!node.is_boolean()) in.wrong(node, "'local' must be true or false");
        r->local = *node.value<bool>();
      } else if (k == "safe") {
        auto const* const list = node.as_array();
        if (list == nullptr) in.wrong(node, "'safe' must be a list of texts");
        for (auto const& element : *list) r->safe.push_back(in.pattern(element, k, false));
      } else if (k == "environment") {
        auto const* const table = node.as_table();
        if (table == nullptr) in.wrong(node, "'environment' must be like {{ NAME = \"value\" }}");
        for (auto const& [name, value] : *table)
          r->environment.emplace_back(name.str(), in.text(value, name.str()));
      } else if (k == "rule") {
        auto const* const list = node.as_array();
        if (list == nullptr) in.wrong(node, "'rule' must be written [[rule]]");
        for (auto const& element : *list) {
          if (!element.is_table()) in.wrong(element, "'rule' must be written [[rule]]");
          r->list.push_back(in.rule(*element.as_table()));
        }
      } else {
        in.wrong(node,
                 "'{}' is not a key here; known are about, programs, scope, local, safe, "
                 "environment, rule",
                 k);
      }
    }
  } catch (toml::parse_error const& e) {
    throw fatal(exit_usage, fmt::format("{}:{}: {}", file, e.source().begin.line, e.description()));
  }
  return command_profile(std::move(r));
}

std::vector<std::string> command_profile::names() {
  std::vector<std::string> all;
  for (auto const& p : shipped_command_profiles) all.emplace_back(p.name);
  return all;
}

command_profile command_profile::named(std::string const& name) {
  for (auto const& p : shipped_command_profiles)
    if (p.name == name) return parse(p.toml, name);
  if (name.find_first_of("./") == name.npos)
    throw fatal(
        exit_usage,
        fmt::format("there is no profile of commands {}; known are {}, or a file: ./{}.toml{}",
                    in_quotes(name), fmt::join(names(), ", "), printable(name),
                    did_you_mean(name, names())));
  std::ifstream in(name, std::ios::binary);
  std::stringstream text;
  if (!(text << in.rdbuf())) throw fatal(exit_usage, fmt::format("cannot read {}", name));
  return parse(text.str(), name);
}

command_profile command_profile::of_program(std::string_view base_name) {
  static std::vector<command_profile> const all = [] {
    std::vector<command_profile> parsed;
    for (auto const& p : shipped_command_profiles)
      parsed.push_back(parse(p.toml, std::string(p.name)));
    return parsed;
  }();
  for (auto const& p : all)
    if (std::ranges::find(p.rules_->programs, base_name) != p.rules_->programs.end()) return p;
  return named("generic");
}

std::string const& command_profile::name() const noexcept {
  return rules_->name;
}
bool command_profile::local() const noexcept {
  return rules_->local;
}
std::vector<std::pair<std::string, std::string>> const& command_profile::environment()
    const noexcept {
  return rules_->environment;
}
std::vector<std::string> const& command_profile::scope() const noexcept {
  return rules_->scope;
}

bool command_profile::safe(std::string_view words) const {
  return std::ranges::any_of(rules_->safe,
                             [&](auto const& e) { return find(e, words).has_value(); });
}

void command_profile::check(std::string_view text) {
  compiled(text);
}

judgement command_profile::judge(command_answer const& a, throttle_options const& options,
                                 std::chrono::sys_seconds now) const {
  auto const tail = [](std::string_view text) {
    return text.substr(text.size() - std::min(text.size(), command_answer::looked_at));
  };
  command_answer const seen{a.exit, a.signal, tail(a.output), tail(a.error), a.hints};
  auto hinted = of_hints(a.hints, now);
  if (hinted && hinted->what != reaction::served) return *hinted;
  judgement told;
  if (hinted) told.costs = std::move(hinted->costs);
  auto const add_hold = [&](std::optional<expression> const& retry_after) {
    if (!retry_after) return;
    for (auto const text : {seen.error, seen.output})
      if (auto const at = find(*retry_after, text))
        if (auto const wait = wait_of(at->group, now)) {
          told.hold = wait;
          return;
        }
  };
  auto const says = [&]() -> std::string {
    auto const line = last_line(seen.error.empty() ? seen.output : seen.error);
    auto const end =
        a.signal == 0 ? fmt::format("exit {}", a.exit) : "killed by " + name_of(a.signal);
    return fmt::format("{}{}{}", end, line.empty() ? "" : ": ", line);
  };
  if (!options.text.empty() && (a.exit != 0 || options.anyway)) {
    auto const e = compiled(options.text);
    auto at = find(e, seen.error);
    if (!at) at = find(e, seen.output);
    if (at) {
      told.what = reaction::rate;
      told.code = at->line;
      add_http_hints(told, seen, now);
      return told;
    }
  }
  if (a.exit == 0 && !options.anyway) return told;
  if (a.exit == exit_tempfail || std::ranges::find(options.exits, a.exit) != options.exits.end()) {
    told.what = reaction::rate;
    told.code = says();
    add_http_hints(told, seen, now);
    return told;
  }
  for (auto const& r : rules_->list)
    if (holds(r, seen)) {
      told.what = r.means;
      told.code = says();
      add_hold(r.retry_after);
      if (throttles(r.means)) add_http_hints(told, seen, now);
      if (r.hold) told.hold = std::max(told.hold.value_or(0s), *r.hold);
      return told;
    }
  if (a.exit == 0) return told;
  if (auto said = of_printed_answer(seen, now); throttles(said.what)) {
    said.code = says();
    said.costs = std::move(told.costs);
    return said;
  }
  told.what = reaction::permanent;
  told.code = says();
  return told;
}

}  // namespace headway::app
