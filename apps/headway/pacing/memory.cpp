#include "pacing/memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/clock.hpp"
#include "base/fatal.hpp"
#include "base/json_text.hpp"
#include "os/file.hpp"
#include "os/replacement.hpp"
#include "pacing/laws.hpp"

namespace headway::app {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::hours quotas_age_max{24};

/// [limit, per_second, per_byte, constant, per_byte of the sized part, its constant]
std::optional<known_quota> read_quota(std::string_view name, simdjson::dom::element value) {
  simdjson::dom::array list;
  std::array<double, 6> n{};
  if (value.get(list) != simdjson::SUCCESS || list.size() != n.size()) return std::nullopt;
  for (std::size_t i = 0; i < n.size(); ++i)
    if (list.at(i).get(n[i]) != simdjson::SUCCESS || !(n[i] >= 0 && n[i] <= 1e12))
      return std::nullopt;
  return known_quota{.name = std::string(name),
                     .limit = n[0],
                     .per_second = n[1],
                     .whole = {n[2], n[3]},
                     .sized = {n[4], n[5]}};
}

std::string in_json(known_quota const& q) {
  std::string text;
  append_quoted(text, q.name);
  return text + fmt::format(": [{:.6g}, {:.6g}, {:.6g}, {:.6g}, {:.6g}, {:.6g}]", q.limit,
                            q.per_second, q.whole.per_byte, q.whole.constant, q.sized.per_byte,
                            q.sized.constant);
}

}  // namespace

shipped_law with_memory(shipped_law law, remembered const& r) {
  app::remember(law.law, r.what, r.age);
  return law;
}

std::string memory::default_path() {
  auto const from = [](char const* name) {
    auto const* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): at the start
    return std::string(value != nullptr ? value : "");
  };
  auto const state = from("XDG_STATE_HOME");
  auto const home = from("HOME");
  if (!state.empty()) return state + "/headway/limits.json";
  return home.empty() ? "" : home + "/.local/state/headway/limits.json";
}

memory::memory(std::string path) : path_(std::move(path)), known_(read()) {}

memory::entries memory::read() const {
  std::error_code none;
  if (path_.empty() || !fs::exists(path_, none)) return {};
  std::ifstream in(path_, std::ios::binary);
  std::string text(bytes_max + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || (!in && !in.eof()))
    throw fatal(exit_io, fmt::format("{}: {}", path_, std::strerror(errno)));
  text.resize(static_cast<std::size_t>(in.gcount()));
  auto const not_ours = [&] {
    return fatal(exit_usage, fmt::format("{} is not a file of learned limits; it is left as it is "
                                         "(--state names another, --cold does without)",
                                         path_));
  };
  if (text.size() > bytes_max) throw not_ours();
  simdjson::dom::parser parser;
  simdjson::dom::object all;
  simdjson::dom::object scopes;
  std::int64_t version = 0;
  if (parser.parse(text).get(all) != simdjson::SUCCESS ||
      all["headway_limits"].get(version) != simdjson::SUCCESS || version != 1 ||
      all["scopes"].get(scopes) != simdjson::SUCCESS)
    throw not_ours();
  entries found;
  for (auto const [scope, value] : scopes) {
    entry e;
    std::int64_t at = 0;
    if (value["rate"].get(e.what.rate) != simdjson::SUCCESS ||
        value["slots"].get(e.what.slots) != simdjson::SUCCESS ||
        value["latency"].get(e.what.latency) != simdjson::SUCCESS ||
        value["at"].get(at) != simdjson::SUCCESS || at < 0 || at > 1'000'000'000'000)
      throw not_ours();
    e.at = std::chrono::sys_seconds(std::chrono::seconds(at));
    if (simdjson::dom::object quotas; value["quotas"].get(quotas) == simdjson::SUCCESS) {
      if (value["quotas_at"].get(at) != simdjson::SUCCESS || at < 0 || at > 1'000'000'000'000 ||
          quotas.size() > quotas_max)
        throw not_ours();
      e.quotas_at = std::chrono::sys_seconds(std::chrono::seconds(at));
      for (auto const [name, numbers] : quotas) {
        auto q = read_quota(name, numbers);
        if (!q) throw not_ours();
        e.quotas.push_back(std::move(*q));
      }
    }
    found.emplace(scope, e);
  }
  return found;
}

std::optional<remembered> memory::recall(std::string const& scope) const {
  auto const found = known_.find(scope);
  if (found == known_.end() || found->second.at == std::chrono::sys_seconds{}) return std::nullopt;
  auto const age = wall_now() - found->second.at;
  return remembered{found->second.what, std::max(age, std::chrono::seconds(0))};  // a clock is set
}

void memory::learn(std::string const& scope, learned const& what) {
  auto& e = fresh_[scope];
  e.what = what;
  e.at = wall_now();
}

remembered_quotas memory::recall_quotas(std::string const& scope) const {
  auto const found = known_.find(scope);
  if (found == known_.end() || found->second.quotas.empty()) return {};
  auto const age = std::max(wall_now() - found->second.quotas_at, std::chrono::seconds(0));
  if (age > quotas_age_max) return {};
  return {found->second.quotas, age};
}

void memory::learn_quotas(std::string const& scope, std::vector<known_quota> quotas) {
  if (quotas.size() > quotas_max) quotas.resize(quotas_max);
  auto& e = fresh_[scope];
  e.quotas = std::move(quotas);
  e.quotas_at = wall_now();
}

void memory::keep() {
  if (path_.empty() || fresh_.empty()) return;
  std::error_code error;
  if (auto const folder = fs::path(path_).parent_path(); !folder.empty()) {
    fs::create_directories(folder, error);
    if (error) throw fatal(exit_io, fmt::format("{}: {}", folder.string(), error.message()));
  }
  auto const lock = file::open(path_ + ".lock", O_RDWR | O_CREAT);
  flock(lock.fd(), LOCK_EX);
  auto all = read();
  for (auto const& [scope, e] : fresh_) {
    auto& kept = all[scope];
    if (e.at != std::chrono::sys_seconds{}) kept.what = e.what, kept.at = e.at;
    if (!e.quotas.empty()) kept.quotas = e.quotas, kept.quotas_at = e.quotas_at;
  }
  while (all.size() > scopes_max)
    all.erase(std::ranges::min_element(all, {}, [](auto const& e) { return e.second.last(); }));
  std::string text = "{\"headway_limits\": 1, \"scopes\": {";
  for (auto const& [scope, e] : all) {
    text += text.back() == '{' ? "\n  " : ",\n  ";
    append_quoted(text, scope);
    fmt::format_to(std::back_inserter(text),
                   R"(: {{"rate": {:.6g}, "slots": {:.6g}, "latency": {:.6g}, "at": {})",
                   e.what.rate, e.what.slots, e.what.latency, e.at.time_since_epoch().count());
    if (!e.quotas.empty()) {
      std::vector<std::string> quotas;
      for (auto const& q : e.quotas) quotas.push_back(in_json(q));
      fmt::format_to(std::back_inserter(text), R"(, "quotas": {{{}}}, "quotas_at": {})",
                     fmt::join(quotas, ", "), e.quotas_at.time_since_epoch().count());
    }
    text += '}';
  }
  text += "\n}}\n";
  replacement whole(path_);
  whole.append(text);
  whole.sync();
  whole.put();
}

}  // namespace headway::app
