#include "provider/profile.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/fatal.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "provider/costs.hpp"
#include "provider/json_pointer.hpp"
#include "provider/judge.hpp"
#include "provider/profile_file.hpp"
#include "provider/remainder.hpp"
#include "shipped_profiles.hpp"

namespace headway::app {

namespace {

namespace dom = simdjson::dom;

constexpr std::size_t partition_max = 200;

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

}  // namespace

profile::profile(std::shared_ptr<profile_rules const> r) : rules_(std::move(r)) {}

std::string const& profile::name() const noexcept {
  return rules_->name;
}

profile profile::parse(std::string_view toml, std::string const& file) {
  return profile(read_profile(toml, file));
}

std::vector<std::string> profile::names() {
  std::vector<std::string> all;
  for (auto const& p : shipped_profiles) all.emplace_back(p.name);
  return all;
}

profile profile::named(std::string const& name) {
  for (auto const& p : shipped_profiles)
    if (p.name == name) return profile(read_profile(p.toml, name));
  if (name.find_first_of("./") == name.npos)
    throw fatal(exit_usage, fmt::format("--profile {}{}: known are {}, or a file", in_quotes(name),
                                        did_you_mean(name, names()), fmt::join(names(), ", ")));
  std::ifstream in(name, std::ios::binary);
  std::string const text(std::istreambuf_iterator<char>(in), {});
  if (!in) throw fatal(exit_usage, fmt::format("--profile {}: cannot be read", in_quotes(name)));
  return profile(read_profile(text, name));
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
  return app::judge(*rules_, a, request_body, now);
}

std::optional<judgement> profile::judge_head(answer_view const& a,
                                             std::chrono::sys_seconds now) const {
  return app::judge_head(*rules_, a, now);
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

bool profile::computes(std::string_view method, std::string_view url) const noexcept {
  if (method != "POST") return false;
  auto const path = url.substr(0, url.find_first_of("?#"));
  return std::ranges::any_of(rules_->computes,
                             [&](auto const& end) { return path.ends_with(end); });
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
  return app::reserved_by(request_body, rules_->costs);
}

}  // namespace headway::app
