#include "provider/profile.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include <toml++/toml.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/fatal.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"
#include "headway/http/classify.hpp"
#include "provider/remainder.hpp"
#include "shipped_profiles.hpp"

namespace headway::app {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t body_looked_at = std::size_t{1} << 20;
constexpr std::size_t found_max = 100'000;  // values that a pointer reaches

constexpr std::array<std::pair<std::string_view, reaction>, 9> reactions = {{
    {"served", reaction::served},
    {"rate", reaction::rate},
    {"concurrency", reaction::concurrency},
    {"quota", reaction::quota},
    {"long-quota", reaction::long_quota},
    {"money", reaction::money},
    {"refused", reaction::refused},
    {"transient", reaction::transient},
    {"permanent", reaction::permanent},
}};

constexpr std::size_t partition_max = 200;

struct status_range {
  int from = 0, to = 0;
};

/// Every condition that is given must hold.
struct rule {
  std::vector<status_range> status{};
  std::string header{};   ///< in lower case
  std::string pointer{};  ///< into a JSON body; `*` stands for any element of an array
  std::string xml{};      ///< the text of an element
  std::vector<std::string> in{};
  std::vector<std::string> contains{};
  reaction means = reaction::rate;
  std::optional<duration> hold{};
  std::string hold_pointer{};
  std::string remainder{};   ///< pointer: of the answer's, what goes again …
  std::string into{};        ///< … as this member of the request's body
  std::string limit{};       ///< pointer: how many of a quota there are …
  std::string limit_name{};  ///< … and to the name that says of what, and in which time
  std::string collect{};     ///< member of the answer that adds up from its parts
  bool bulk = false;  ///< items of the answer whose status is in `in`: those operations again

  bool partial() const noexcept { return bulk || !remainder.empty(); }
};

/// Where a provider says what a request costs. All that a list of pointers reaches is summed.
struct cost_rule {
  std::string quota{};
  std::vector<std::string> pointer{};  ///< into an answer: what it has cost
  std::vector<std::string> sized{};    ///< … of which the request's own size made up
  std::vector<std::string> reserve{};  ///< into a request: what it allows; the first that is there
  double per_byte = 0;
};

/// Where an answer's body says what remains of a quota that refills all the time.
struct quota_rule {
  std::string name{};
  std::string limit{};      ///< pointer to a number, as are …
  std::string remaining{};  ///< … what is left …
  std::string restore{};    ///< … and what comes back in a second
};

/// The text of a value that a rule looks at; a container that is not empty counts as its JSON.
std::optional<std::string> text_of(dom::element e) {
  if (std::string_view text; e.get(text) == simdjson::SUCCESS) return std::string(text);
  if (e.is_null()) return std::nullopt;
  if (dom::array a; e.get(a) == simdjson::SUCCESS && a.size() == 0) return std::nullopt;
  if (dom::object o; e.get(o) == simdjson::SUCCESS && o.size() == 0) return std::nullopt;
  return simdjson::minify(e);
}

/// All values that a pointer reaches; `*` reaches each element of an array, or member of an object.
void reach(dom::element from, std::string_view pointer, std::vector<dom::element>& found) {
  if (found.size() >= found_max) return;
  auto const star = pointer.find("/*");
  if (star == pointer.npos) {
    dom::element e;
    if (pointer.empty())
      found.push_back(from);
    else if (from.at_pointer(pointer).get(e) == simdjson::SUCCESS)
      found.push_back(e);
    return;
  }
  dom::element container = from;
  if (star > 0 && from.at_pointer(pointer.substr(0, star)).get(container) != simdjson::SUCCESS)
    return;
  auto const rest = pointer.substr(star + 2);
  if (dom::array a; container.get(a) == simdjson::SUCCESS) {
    for (auto const e : a) reach(e, rest, found);
  } else if (dom::object o; container.get(o) == simdjson::SUCCESS) {
    for (auto const member : o) reach(member.value, rest, found);
  }
}

/// Whether it is worth parsing `json` for what the pointer names.
bool may_have(std::string_view json, std::string_view pointer) {
  auto const name = pointer.substr(1, std::min(pointer.find('/', 1), pointer.size()) - 1);
  return json.find(name) != json.npos;
}

/// The sum of the numbers that the pointers reach; nullopt where there is none.
std::optional<double> sum_of(dom::element json, std::vector<std::string> const& pointers) {
  std::optional<double> sum;
  for (auto const& p : pointers) {
    std::vector<dom::element> found;
    reach(json, p, found);
    for (auto const e : found)
      if (double n = 0; e.get(n) == simdjson::SUCCESS && n >= 0 && n < 1e12)
        sum = sum.value_or(0) + n;
  }
  return sum;
}

/// How much of a path a pattern covers, whole segments only: 0 where it does not match.
std::size_t length_of_prefix(std::string_view path, std::string_view pattern) noexcept {
  std::size_t at = 0;
  while (!pattern.empty()) {
    auto const segment = pattern.substr(0, std::min(pattern.find('/', 1), pattern.size()));
    auto const here = path.substr(at, std::min(path.find('/', at + 1), path.size()) - at);
    if (segment == "/*" ? here.size() < 2 : here != segment) return 0;
    at += here.size();
    pattern.remove_prefix(segment.size());
  }
  return at;
}

/// The limit that a refusal names by these pointers, of which nothing is left: Google's quotaValue
/// and quotaId.
std::optional<http::quota> limit_in(dom::element json, rule const& r) {
  std::vector<dom::element> limits, names;
  reach(json, r.limit, limits);
  reach(json, r.limit_name, names);
  std::string_view name;
  if (limits.empty() || names.empty() || names.front().get(name) != simdjson::SUCCESS)
    return std::nullopt;
  auto const text = text_of(limits.front()).value_or("");
  double limit = 0;
  auto const* const last = text.data() + text.size();
  auto const period = http::period_in_name(name);
  if (std::from_chars(text.data(), last, limit).ptr != last || !(limit >= 1) || !period)
    return std::nullopt;
  auto const counted = lower(name);
  auto const has = [&](std::string_view part) { return counted.find(part) != counted.npos; };
  return http::quota{.name = !has("token")   ? "requests"
                             : has("input")  ? "input-tokens"
                             : has("output") ? "output-tokens"
                                             : "tokens",
                     .limit = limit,
                     .remaining = 0,
                     .reset = period,
                     .period = period};
}

std::optional<http::quota> quota_in(dom::element json, quota_rule const& rule) {
  auto const limit = sum_of(json, {rule.limit});
  auto const remaining = sum_of(json, {rule.remaining});
  auto const restore = sum_of(json, {rule.restore});
  if (!limit || !remaining || !restore || !(*limit >= 1) || !(*restore > 0)) return std::nullopt;
  auto const left = std::min(*remaining, *limit);
  return http::quota{.name = rule.name,
                     .limit = limit,
                     .remaining = left,
                     .reset = from_seconds((*limit - left) / *restore),
                     .period = from_seconds(*limit / *restore)};
}

/// What the events of a stream say it has cost. Each tells all so far, in itself or in the message
/// or response that it is about: the last one holds.
std::vector<settled_cost> costs_in_stream(std::string_view body,
                                          std::vector<cost_rule> const& rules) {
  std::vector<std::string const*> pointers;
  for (auto const& c : rules)
    for (auto const* list : {&c.pointer, &c.sized})
      for (auto const& p : *list) pointers.push_back(&p);
  std::vector<std::optional<double>> told(pointers.size());
  thread_local dom::parser parser;
  while (!body.empty()) {
    auto line = body.substr(0, std::min(body.find('\n'), body.size()));
    body.remove_prefix(std::min(line.size() + 1, body.size()));
    if (!line.starts_with("data:") || line.size() > body_looked_at) continue;
    line.remove_prefix(5);
    dom::element event;
    bool parsed = false;
    for (std::size_t i = 0; i < pointers.size(); ++i) {
      if (!may_have(line, *pointers[i])) continue;
      if (!std::exchange(parsed, true) &&
          parser.parse(simdjson::padded_string(line)).get(event) != simdjson::SUCCESS)
        break;
      for (auto const* const within : {"", "/message", "/response"})
        if (auto const units = sum_of(event, {within + *pointers[i]})) told[i] = units;
    }
  }
  std::vector<settled_cost> costs;
  std::size_t at = 0;
  auto const sum = [&](std::vector<std::string> const& list) {
    std::optional<double> all;
    for (std::size_t i = 0; i < list.size(); ++i, ++at)
      if (told[at]) all = all.value_or(0) + *told[at];
    return all;
  };
  for (auto const& c : rules) {
    auto const units = sum(c.pointer);
    auto const of_size = sum(c.sized);
    auto const known = [&](auto const& one) { return one.quota == c.quota; };
    if (units && std::ranges::none_of(costs, known)) costs.push_back({c.quota, *units, of_size});
  }
  return costs;
}

std::optional<std::string> xml_text(std::string_view body, std::string_view element) {
  auto const open = fmt::format("<{}>", element);
  auto const begin = body.find(open);
  if (begin == body.npos) return std::nullopt;
  auto const text = body.substr(begin + open.size());
  auto const end = text.find('<');
  if (end > 200) return std::nullopt;  // or there is none
  return std::string(text.substr(0, end));
}

/// The last event of a stream that tells an error: its data.
std::optional<std::string_view> error_in_stream(std::string_view body) {
  auto const at = body.rfind("event: error");
  if (at == body.npos || (at > 0 && body[at - 1] != '\n')) return std::nullopt;
  auto const data = body.find("data:", at);
  if (data == body.npos) return std::nullopt;
  auto const line = body.substr(data + 5);
  return line.substr(0, std::min(line.find('\n'), line.size()));
}

/// A protobuf Duration ("19s", "3.700s"), seconds as a number or text, or a text that names them.
std::optional<duration> hold_of(dom::element e) {
  if (double seconds = 0; e.get(seconds) == simdjson::SUCCESS)
    return http::parse_reset(fmt::format("{:.6f}", std::clamp(seconds, 0.0, 9e8)), {});
  std::string_view text;
  if (e.get(text) != simdjson::SUCCESS) return std::nullopt;
  return http::parse_reset(text, {});
}

}  // namespace

std::string_view to_string(reaction r) noexcept {
  return reactions[static_cast<std::size_t>(r)].first;
}

struct profile::rules {
  std::string name;
  std::vector<std::string> hosts;
  std::vector<rule> list;
  std::vector<cost_rule> costs;
  std::vector<quota_rule> quotas;
  std::vector<std::string> paths;   ///< prefixes; `*` is any segment
  std::vector<std::string> fields;  ///< pointers into a request
};

profile::profile(std::shared_ptr<rules const> r) : rules_(std::move(r)) {}

std::string const& profile::name() const noexcept {
  return rules_->name;
}

namespace {

/// Reads one profile, and says where it is wrong.
class profile_file {
 public:
  explicit profile_file(std::string const& file) : file_(file) {}

  template <class... Args>
  [[noreturn]] void wrong(toml::node const& where, fmt::format_string<Args...> text,
                          Args&&... args) const {
    throw fatal(exit_usage, fmt::format("{}:{}: {}", file_, where.source().begin.line,
                                        fmt::format(text, std::forward<Args>(args)...)));
  }

  std::string text(toml::node const& node, std::string_view key) const {
    auto const value = node.value<std::string>();
    if (!value || value->empty()) wrong(node, "'{}' must be text", key);
    return *value;
  }

  std::vector<std::string> texts(toml::node const& node, std::string_view key) const {
    auto const* list = node.as_array();
    if (list == nullptr || list->empty()) wrong(node, "'{}' must be a list of texts", key);
    std::vector<std::string> all;
    for (auto const& element : *list) all.push_back(text(element, key));
    return all;
  }

  /// The tables of an array of them; `otherwise` is the error.
  std::vector<toml::table const*> tables(toml::node const& node, std::string_view otherwise) const {
    auto const* list = node.as_array();
    if (list == nullptr) wrong(node, "{}", otherwise);
    std::vector<toml::table const*> found;
    for (auto const& element : *list) {
      if (!element.is_table()) wrong(element, "{}", otherwise);
      found.push_back(element.as_table());
    }
    return found;
  }

  status_range status(toml::node const& node) const {
    status_range range;
    if (auto const one = node.value<std::int64_t>(); one && node.is_integer()) {
      range.from = range.to = static_cast<int>(std::clamp<std::int64_t>(*one, 0, 1000));
    } else if (auto const words = node.value<std::string>(); words && words->size() == 7) {
      auto const number = [&](std::size_t at) {
        int n = 0;
        for (char const c : words->substr(at, 3)) n = c < '0' || c > '9' ? 1000 : n * 10 + c - '0';
        return n;
      };
      if ((*words)[3] == '-') range = {number(0), number(4)};
    }
    if (range.from < 100 || range.to > 599 || range.from > range.to)
      wrong(node, "'status' must be like 429 or \"500-599\", from 100 to 599");
    return range;
  }

  rule read_rule(toml::table const& table) const {
    rule r;
    bool means = false;
    for (auto const& [key, node] : table) {
      auto const k = key.str();
      if (k == "status") {
        if (auto const* list = node.as_array())
          for (auto const& element : *list) r.status.push_back(status(element));
        else
          r.status.push_back(status(node));
      } else if (k == "header") {
        r.header = lower(text(node, k));
      } else if (k == "pointer") {
        r.pointer = pointer(node, k);
      } else if (k == "xml") {
        r.xml = text(node, k);
      } else if (k == "in") {
        r.in = texts(node, k);
      } else if (k == "contains") {
        r.contains = texts(node, k);
      } else if (k == "means") {
        auto const name = text(node, k);
        auto const* const found = std::ranges::find(
            reactions, name, [](auto const& pair) { return std::string(pair.first); });
        if (found == reactions.end()) {
          std::vector<std::string_view> known;
          for (auto const& pair : reactions) known.push_back(pair.first);
          wrong(node, "'means' is '{}'; known are {}", name, fmt::join(known, ", "));
        }
        r.means = found->second;
        means = true;
      } else if (k == "hold") {
        try {
          r.hold = parse_patience(text(node, k));
        } catch (std::invalid_argument const& e) {
          wrong(node, "'hold': {}", e.what());
        }
      } else if (k == "hold-pointer") {
        r.hold_pointer = pointer(node, k);
      } else if (k == "remainder") {
        r.remainder = pointer(node, k);
      } else if (k == "into") {
        r.into = text(node, k);
      } else if (k == "limit") {
        r.limit = pointer(node, k);
      } else if (k == "limit-name") {
        r.limit_name = pointer(node, k);
      } else if (k == "collect") {
        r.collect = text(node, k);
      } else if (k == "bulk") {
        auto const is = node.value<bool>();
        if (!node.is_boolean()) wrong(node, "'bulk' must be true or false");
        r.bulk = *is;
      } else {
        wrong(node,
              "'{}' is not a key of a rule; known are status, header, pointer, xml, in, contains, "
              "means, hold, hold-pointer, remainder, into, collect, bulk, limit, limit-name",
              k);
      }
    }
    if (!means) wrong(table, "a rule needs 'means'");
    if (r.remainder.empty() != r.into.empty()) wrong(table, "'remainder' and 'into' go together");
    if (r.limit.empty() != r.limit_name.empty())
      wrong(table, "'limit' and 'limit-name' go together");
    if (!r.collect.empty() && r.remainder.empty()) wrong(table, "'collect' needs 'remainder'");
    if (r.bulk && (r.pointer != "/items/*/*/status" || r.in.empty() || !r.remainder.empty()))
      wrong(table, "'bulk' needs pointer = \"/items/*/*/status\" and 'in', and no 'remainder'");
    if (r.pointer.empty() && r.xml.empty() && r.header.empty() && !r.in.empty())
      wrong(table, "'in' needs pointer, xml or header, whose text it is");
    return r;
  }

  void read_scope(toml::node const& scope, std::vector<std::string>& paths,
                  std::vector<std::string>& fields) const {
    if (!scope.is_table()) wrong(scope, "'scope' must be written [scope]");
    for (auto const& [key, node] : *scope.as_table()) {
      auto const k = key.str();
      if (k == "path")
        paths = pointers(node, k);
      else if (k == "pointer")
        fields = pointers(node, k);
      else
        wrong(node, "'{}' is not a key of a scope; known are path, pointer", k);
    }
  }

  quota_rule read_quota(toml::table const& table) const {
    quota_rule q;
    for (auto const& [key, node] : table) {
      auto const k = key.str();
      if (k == "name")
        q.name = text(node, k);
      else if (k == "limit")
        q.limit = pointer(node, k);
      else if (k == "remaining")
        q.remaining = pointer(node, k);
      else if (k == "restore")
        q.restore = pointer(node, k);
      else
        wrong(node, "'{}' is not a key of a quota; known are name, limit, remaining, restore", k);
    }
    if (q.name.empty() || q.limit.empty() || q.remaining.empty() || q.restore.empty())
      wrong(table, "a quota needs 'name', 'limit', 'remaining' and 'restore'");
    return q;
  }

  cost_rule read_cost(toml::table const& table) const {
    cost_rule c;
    for (auto const& [key, node] : table) {
      auto const k = key.str();
      if (k == "quota") {
        c.quota = text(node, k);
      } else if (k == "pointer") {
        c.pointer = pointers(node, k);
      } else if (k == "sized") {
        c.sized = pointers(node, k);
      } else if (k == "reserve") {
        c.reserve = pointers(node, k);
      } else if (k == "per-byte") {
        auto const number = node.value<double>();
        if (!number || !(*number > 0 && *number <= 1e6))
          wrong(node, "'per-byte' must be a number above 0 and up to 1000000");
        c.per_byte = *number;
      } else {
        wrong(node,
              "'{}' is not a key of a cost; known are quota, pointer, sized, reserve, per-byte", k);
      }
    }
    if (c.quota.empty() || c.pointer.empty()) wrong(table, "a cost needs 'quota' and 'pointer'");
    return c;
  }

 private:
  std::vector<std::string> pointers(toml::node const& node, std::string_view key) const {
    std::vector<std::string> all;
    if (auto const* list = node.as_array())
      for (auto const& element : *list) all.push_back(pointer(element, key));
    else
      all.push_back(pointer(node, key));
    return all;
  }

  std::string pointer(toml::node const& node, std::string_view key) const {
    auto p = text(node, key);
    if (p.front() != '/') wrong(node, "'{}' must begin with / (RFC 6901)", key);
    return p;
  }

  std::string const& file_;
};

}  // namespace

profile profile::parse(std::string_view toml_text, std::string const& file) {
  auto r = std::make_shared<rules>();
  r->name = file;
  try {
    auto const all = toml::parse(toml_text, file);
    profile_file const reader(file);
    for (auto const& [key, node] : all) {
      if (key == "about") {
        reader.text(node, "about");
      } else if (key == "hosts") {
        r->hosts = reader.texts(node, "hosts");
      } else if (key == "rule") {
        for (auto const* table : reader.tables(node, "'rule' must be written [[rule]]"))
          r->list.push_back(reader.read_rule(*table));
      } else if (key == "quota") {
        for (auto const* table : reader.tables(node, "'quota' must be written [[quota]]"))
          r->quotas.push_back(reader.read_quota(*table));
      } else if (key == "scope") {
        reader.read_scope(node, r->paths, r->fields);
      } else if (key == "cost" && node.is_table()) {
        r->costs.push_back(reader.read_cost(*node.as_table()));
      } else if (key == "cost") {
        for (auto const* table : reader.tables(node, "'cost' must be written [cost] or [[cost]]"))
          r->costs.push_back(reader.read_cost(*table));
      } else {
        reader.wrong(node,
                     "'{}' is not a key here; known are about, hosts, scope, rule, quota, cost",
                     std::string_view(key.str()));
      }
    }
  } catch (toml::parse_error const& e) {
    throw fatal(exit_usage, fmt::format("{}:{}: {}", file, e.source().begin.line, e.description()));
  }
  return profile(std::move(r));
}

std::vector<std::string> profile::names() {
  std::vector<std::string> all;
  for (auto const& p : shipped_profiles) all.emplace_back(p.name);
  return all;
}

profile profile::named(std::string const& name) {
  for (auto const& p : shipped_profiles)
    if (p.name == name) return parse(p.toml, name);
  if (name.find_first_of("./") == name.npos)
    throw fatal(exit_usage, fmt::format("--profile {}: known are {}, or a file", in_quotes(name),
                                        fmt::join(names(), ", ")));
  std::ifstream in(name, std::ios::binary);
  std::string const text(std::istreambuf_iterator<char>(in), {});
  if (!in) throw fatal(exit_usage, fmt::format("--profile {}: cannot be read", in_quotes(name)));
  return parse(text, name);
}

profile const& profile::of_host(std::string_view host) {
  static auto const all = [] {
    std::vector<profile> list;
    for (auto const& p : shipped_profiles) list.push_back(named(std::string(p.name)));
    return list;
  }();
  auto const matches = [&](std::string_view pattern) {
    if (!pattern.starts_with("*")) return equal_ignoring_case(host, pattern);
    pattern.remove_prefix(1);
    return host.size() > pattern.size() &&
           equal_ignoring_case(host.substr(host.size() - pattern.size()), pattern);
  };
  auto const* best = &*std::ranges::find(all, std::string("generic"), &profile::name);
  std::size_t longest = 0;
  for (auto const& p : all)
    for (auto const& pattern : p.rules_->hosts)
      if (pattern.size() > longest && matches(pattern)) {
        best = &p;
        longest = pattern.size();
      }
  return *best;
}

judgement profile::judge(answer_view const& a, std::string_view request_body,
                         std::chrono::sys_seconds now) const {
  judgement j;
  auto told = http::advice_of(a.fields, now);
  j.ignored = told.ignored;
  j.quotas = std::move(told.quotas);

  auto const good = a.status >= 200 && a.status <= 299;
  // What a partial success leaves undone is never overlooked, however long its answer is.
  auto const whole = good && std::ranges::any_of(rules_->list, [&](rule const& r) {
                       return r.partial() && may_have(a.body, r.pointer);
                     });
  auto body = whole ? a.body : a.body.substr(0, body_looked_at);
  auto const streamed =
      good && a.type.starts_with("text/event-stream") ? error_in_stream(body) : std::nullopt;
  if (streamed) body = *streamed;

  thread_local dom::parser parser;
  dom::element json;
  bool parsed = false, is_json = false;
  auto const in_json = [&] {
    if (!std::exchange(parsed, true)) {
      auto const first = body.find_first_not_of(" \t\r\n");
      is_json = (whole || a.body.size() <= body_looked_at) && first != body.npos &&
                (body[first] == '{' || body[first] == '[') &&
                parser.parse(simdjson::padded_string(body)).get(json) == simdjson::SUCCESS;
    }
    return is_json;
  };

  auto const listed = [](rule const& r, std::string_view text) {
    if (!r.in.empty() && std::ranges::none_of(r.in, [&](auto const& one) { return one == text; }))
      return false;
    return r.contains.empty() || std::ranges::any_of(r.contains, [&](auto const& part) {
             return text.find(part) != text.npos;
           });
  };
  auto const matches = [&](rule const& r) -> bool {
    if (r.status.empty() ? good && !streamed
                         : std::ranges::none_of(r.status, [&](status_range const& s) {
                             return a.status >= s.from && a.status <= s.to;
                           }))
      return false;
    if (!r.header.empty()) {
      auto const value = http::value_of(a.fields, r.header);
      if (!value) return false;
      if (r.pointer.empty() && r.xml.empty()) {
        if (!listed(r, *value)) return false;
        j.code = std::string(value->substr(0, 100));
        return true;
      }
    }
    if (!r.pointer.empty()) {
      if (!in_json()) return false;
      std::vector<dom::element> found;
      reach(json, r.pointer, found);
      for (auto const e : found) {
        auto text = text_of(e);
        if (!text) continue;
        // AWS: "com.amazonaws.dynamodb.v20120810#ThrottlingException"
        auto const plain =
            text->find('#') == text->npos ? *text : text->substr(text->find('#') + 1);
        if (!listed(r, *text) && !listed(r, plain)) continue;
        j.code = plain.substr(0, 100);
        return true;
      }
      return false;
    }
    if (!r.xml.empty()) {
      auto const text = xml_text(body, r.xml);
      if (!text || !listed(r, *text)) return false;
      j.code = *text;
      return true;
    }
    return r.header.empty() ? listed(r, body) : true;
  };

  rule const* by = nullptr;
  for (auto const& r : rules_->list)
    if (matches(r)) {
      by = &r;
      break;
    }
  if (by == nullptr) j.code.clear();

  if (by != nullptr) {
    j.what = by->means;
    if (!by->hold_pointer.empty() && in_json()) {
      std::vector<dom::element> found;
      reach(json, by->hold_pointer, found);
      for (auto const e : found) j.hold = std::max(j.hold, hold_of(e));
    }
    if (by->hold) j.hold = std::max(j.hold.value_or(0s), *by->hold);
  } else if (streamed) {
    j.what = reaction::transient;
  } else {
    switch (http::classify(a.status)) {
      case outcome::throttle:
        j.what = reaction::rate;
        break;
      case outcome::failure:
        // 529 is what Anthropic, Notion and others say when they are overloaded.
        j.what = a.status == 529 ? reaction::concurrency : reaction::transient;
        break;
      default:
        j.what = good ? reaction::served : reaction::permanent;
    }
    if (told.should_retry && !good && !throttles(j.what))
      j.what = *told.should_retry ? reaction::transient : reaction::permanent;
    // A failure that says when to come back is a server that wants to be left alone.
    if (told.retry_after && a.status >= 500) j.what = reaction::rate;
  }
  if (told.should_retry == false && j.what == reaction::transient) j.what = reaction::permanent;

  if (!good || streamed || by != nullptr) {
    if (told.retry_after) j.hold = told.retry_after;
    if (throttles(j.what)) {
      if (!j.hold) j.hold = http::time_in_text(body);
      auto limit = http::quota_in_text(body);
      if (by != nullptr && !by->limit.empty() && in_json()) limit = limit_in(json, *by);
      // What fields say is more exact.
      if (limit &&
          std::ranges::none_of(j.quotas, [&](auto const& q) { return q.name == limit->name; }))
        j.quotas.push_back(std::move(*limit));
      if (http::never_fits(body.substr(0, 4096))) j.what = reaction::permanent;
    }
  }
  for (auto const& q : rules_->quotas)
    if (may_have(body, q.limit) && in_json())
      if (auto told_here = quota_in(json, q)) j.quotas.push_back(std::move(*told_here));
  if (good && !streamed && a.type.starts_with("text/event-stream"))
    j.costs = costs_in_stream(a.body, rules_->costs);
  else if (good && !streamed)
    for (auto const& c : rules_->costs) {
      if (std::ranges::any_of(j.costs, [&](auto const& known) { return known.quota == c.quota; }))
        continue;
      if (!may_have(body, c.pointer.front()) || !in_json()) continue;
      if (auto const units = sum_of(json, c.pointer))
        j.costs.push_back({c.quota, *units, sum_of(json, c.sized)});
    }
  if (by != nullptr && by->partial() && in_json()) {
    std::optional<remainder> again;
    dom::element rest;
    if (by->bulk)
      again = refused_operations(request_body, body, by->in);
    else if (json.at_pointer(by->remainder).get(rest) == simdjson::SUCCESS)
      again = with_member(request_body, by->into, simdjson::minify(rest));
    if (again && again->share <= 0.75) j.what = reaction::served;
    if (again) j.remainder = std::move(again->body);
    if (by->bulk && !again) j.what = reaction::permanent;  // the rest would be done twice
  }
  return j;
}

std::string profile::partition_of(std::string_view url, std::string_view request_body) const {
  std::string within;
  if (!rules_->paths.empty()) {
    auto path = url.substr(std::min(url.find("://") + 3, url.size()));
    path.remove_prefix(std::min(path.find('/'), path.size()));
    path = path.substr(0, path.find_first_of("?#"));
    for (auto const& pattern : rules_->paths)
      if (auto const length = length_of_prefix(path, pattern); length > 0) {
        within = path.substr(0, std::min(length, partition_max));
        break;
      }
  }
  thread_local dom::parser parser;
  dom::element json;
  bool parsed = false;
  for (auto const& pointer : rules_->fields) {
    if (request_body.size() > body_looked_at || !may_have(request_body, pointer)) continue;
    if (!std::exchange(parsed, true) &&
        parser.parse(simdjson::padded_string(request_body)).get(json) != simdjson::SUCCESS)
      break;
    std::string_view value;
    if (json.at_pointer(pointer).get(value) != simdjson::SUCCESS) continue;
    if (!within.empty()) within += ' ';
    within += value.substr(0, partition_max);
  }
  within.resize(std::min(within.size(), partition_max));
  std::ranges::replace(within, '\n', ' ');
  return within;
}

std::string profile::joined(std::string_view earlier, std::string_view later) const {
  for (auto const& r : rules_->list) {
    if (r.bulk) return with_items(earlier, later, r.in);
    if (!r.collect.empty()) return with_lists(earlier, later, r.collect);
  }
  return std::string(later);
}

std::vector<quota_units> profile::costs_of_a_byte() const {
  std::vector<quota_units> all;
  for (auto const& c : rules_->costs)
    if (c.per_byte > 0) all.push_back({c.quota, c.per_byte});
  return all;
}

std::vector<quota_units> profile::reserved_by(std::string_view request_body) const {
  std::vector<quota_units> all;
  if (request_body.size() > body_looked_at) return all;
  thread_local dom::parser parser;
  dom::element json;
  bool parsed = false;
  for (auto const& c : rules_->costs)
    for (auto const& pointer : c.reserve) {
      if (!may_have(request_body, pointer)) continue;
      if (!std::exchange(parsed, true) &&
          parser.parse(simdjson::padded_string(request_body)).get(json) != simdjson::SUCCESS)
        return all;
      auto const units = sum_of(json, {pointer});
      if (!units) continue;
      auto const known = [&](auto const& one) { return one.quota == c.quota; };
      if (std::ranges::none_of(all, known)) all.push_back({c.quota, *units});
      break;
    }
  return all;
}

}  // namespace headway::app
