#include "pacing/memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <simdjson.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/clock.hpp"
#include "base/fatal.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "base/url.hpp"
#include "os/file.hpp"
#include "os/file_identity.hpp"
#include "os/replacement.hpp"
#include "pacing/laws.hpp"

namespace headway::app {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::hours quotas_age_max{24};
constexpr std::chrono::hours forgotten_age_max{30 * 24};  // no run lives longer
constexpr std::size_t cut_columns_max = 200;
constexpr std::size_t pattern_bytes_max = 2048, forgotten_bytes_max = 400 << 10;
constexpr std::int64_t seconds_max = 1'000'000'000'000;

/// A pattern for this scope and no other.
std::string literally(std::string_view scope) {
  std::string pattern;
  for (char const c : scope) {
    if (std::string_view("*?[\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

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

std::string in_json(known_scope const& e) {
  auto text =
      fmt::format(R"({{"rate": {:.6g}, "slots": {:.6g}, "latency": {:.6g}, "at": {})", e.what.rate,
                  e.what.slots, e.what.latency, e.at.time_since_epoch().count());
  if (e.by_hand) text += R"(, "by_hand": true)";
  if (e.last_cut)
    text += fmt::format(R"(, "cut": {{"at": {}, "by": {}}})",
                        e.last_cut->at.time_since_epoch().count(), json_string(e.last_cut->by));
  if (!e.quotas.empty()) {
    std::vector<std::string> quotas;
    for (auto const& q : e.quotas) quotas.push_back(in_json(q));
    text += fmt::format(R"(, "quotas": {{{}}}, "quotas_at": {})", fmt::join(quotas, ", "),
                        e.quotas_at.time_since_epoch().count());
  }
  return text + '}';
}

/// "{"a": 1, "b": 2}", a line each.
template <class Map, class F>
std::string object_of(Map const& all, F value) {
  std::string text = "{";
  for (auto const& [name, what] : all) {
    text += text.back() == '{' ? "\n  " : ",\n  ";
    text += json_string(name) + ": " + value(what);
  }
  return text + "\n}";
}

}  // namespace

bool matches(std::string const& pattern, std::string const& scope) {
  return fnmatch(pattern.c_str(), scope.c_str(), 0) == 0 ||
         fnmatch(pattern.c_str(), short_name(scope).c_str(), 0) == 0;
}

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

memory::memory(std::string const& path)
    : path_(followed(path)), since_(wall_time_of()), kept_(read()) {}

memory::content memory::read() const {
  if (path_.empty()) return {};
  int const opened = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  auto const failed = [&] {
    return fatal(exit_io, fmt::format("{}: {}", path_, std::strerror(errno)));
  };
  if (opened < 0 && (errno == ENOENT || errno == ENOTDIR)) return {};
  if (opened < 0) throw failed();
  file const in(opened, path_);
  auto const not_ours = [&] {
    return fatal(exit_usage, fmt::format("{} is not a file of learned limits; it is left as it is "
                                         "(--state names another, --cold does without)",
                                         path_));
  };
  if (!in.regular()) throw not_ours();  // a pipe, a device, a folder
  std::string text(bytes_max + 1, '\0');
  std::size_t size = 0;
  for (ssize_t n = 1; n != 0 && size < text.size();) {
    n = ::read(in.fd(), text.data() + size, text.size() - size);
    if (n < 0 && errno != EINTR) throw failed();
    if (n > 0) size += static_cast<std::size_t>(n);
  }
  text.resize(size);
  if (text.size() > bytes_max) throw not_ours();
  simdjson::dom::parser parser;
  simdjson::dom::object all;
  simdjson::dom::object scopes;
  std::int64_t version = 0;
  if (parser.parse(text).get(all) != simdjson::SUCCESS ||
      all["headway_limits"].get(version) != simdjson::SUCCESS || version != 1 ||
      all["scopes"].get(scopes) != simdjson::SUCCESS)
    throw not_ours();
  content found;
  for (auto const [scope, value] : scopes) {
    known_scope e;
    std::int64_t at = 0;
    if (value["rate"].get(e.what.rate) != simdjson::SUCCESS ||
        value["slots"].get(e.what.slots) != simdjson::SUCCESS ||
        value["latency"].get(e.what.latency) != simdjson::SUCCESS ||
        value["at"].get(at) != simdjson::SUCCESS || at < 0 || at > seconds_max)
      throw not_ours();
    e.at = std::chrono::sys_seconds(std::chrono::seconds(at));
    if (value["by_hand"].get(e.by_hand) != simdjson::SUCCESS) e.by_hand = false;
    if (simdjson::dom::element last; value["cut"].get(last) == simdjson::SUCCESS) {
      std::string_view by;
      if (last["at"].get(at) != simdjson::SUCCESS || at < 0 || at > 1000 * seconds_max ||
          last["by"].get(by) != simdjson::SUCCESS)
        throw not_ours();
      e.last_cut = cut{wall_time(std::chrono::milliseconds(at)), std::string(by)};
    }
    if (simdjson::dom::object quotas; value["quotas"].get(quotas) == simdjson::SUCCESS) {
      if (value["quotas_at"].get(at) != simdjson::SUCCESS || at < 0 || at > seconds_max ||
          quotas.size() > quotas_max)
        throw not_ours();
      e.quotas_at = std::chrono::sys_seconds(std::chrono::seconds(at));
      for (auto const [name, numbers] : quotas) {
        auto q = read_quota(name, numbers);
        if (!q) throw not_ours();
        e.quotas.push_back(std::move(*q));
      }
    }
    found.scopes.emplace(scope, e);
  }
  if (simdjson::dom::object forgotten; all["forgotten"].get(forgotten) == simdjson::SUCCESS)
    for (auto const [pattern, value] : forgotten) {
      std::int64_t at = 0;
      if (value.get(at) != simdjson::SUCCESS || at < 0 || at > 1000 * seconds_max) throw not_ours();
      found.forgotten.emplace(pattern, wall_time(std::chrono::milliseconds(at)));
    }
  return found;
}

std::optional<remembered> memory::recall(std::string const& scope) const {
  auto const found = kept_.scopes.find(scope);
  if (found == kept_.scopes.end() || found->second.at == std::chrono::sys_seconds{})
    return std::nullopt;
  auto const age = wall_now() - found->second.at;
  return remembered{found->second.what, std::max(age, std::chrono::seconds(0))};  // a clock is set
}

void memory::learn(std::string const& scope, learned const& what) {
  auto& e = fresh_[scope].what;
  e.what = what;
  e.at = wall_now();
}

remembered_quotas memory::recall_quotas(std::string const& scope) const {
  auto const found = kept_.scopes.find(scope);
  if (found == kept_.scopes.end() || found->second.quotas.empty()) return {};
  auto const age = std::max(wall_now() - found->second.quotas_at, std::chrono::seconds(0));
  if (age > quotas_age_max) return {};
  return {found->second.quotas, age};
}

void memory::learn_quotas(std::string const& scope, std::vector<known_quota> quotas) {
  if (quotas.size() > quotas_max) quotas.resize(quotas_max);
  auto& e = fresh_[scope].what;
  e.quotas = std::move(quotas);
  e.quotas_at = wall_now();
}

void memory::learn_cut(std::string const& scope, cut last) {
  last.by = cut_to(cut_columns_max, in_utf8(last.by));
  fresh_[scope].what.last_cut = std::move(last);
}

void memory::forget_oldest(content& all, std::size_t left) {
  while (all.scopes.size() > left)
    all.scopes.erase(
        std::ranges::min_element(all.scopes, {}, [](auto const& e) { return e.second.last(); }));
}

/// What is in the file goes through `f` into a new one that takes its place.
template <class F>
void memory::change(F f) {
  std::error_code error;
  if (auto const folder = fs::path(path_).parent_path(); !folder.empty()) {
    fs::create_directories(folder, error);
    if (error) throw fatal(exit_io, fmt::format("{}: {}", folder.string(), error.message()));
  }
  auto const lock = file::open(path_ + ".lock", O_RDWR | O_CREAT);
  flock(lock.fd(), LOCK_EX);
  auto all = read();
  f(all);
  auto const scopes_in_json = [&] {
    return R"({"headway_limits": 1, "scopes": )" +
           object_of(all.scopes, [](known_scope const& e) { return in_json(e); });
  };
  forget_oldest(all, scopes_max);
  auto text = scopes_in_json();
  for (; text.size() > bytes_max - forgotten_bytes_max && !all.scopes.empty();
       text = scopes_in_json())
    forget_oldest(all, all.scopes.size() - all.scopes.size() / 10 - 1);
  if (!all.forgotten.empty())
    text += ", \"forgotten\": " + object_of(all.forgotten, [](wall_time at) {
              return std::to_string(at.time_since_epoch().count());
            });
  replacement whole(path_);
  whole.append(text + "}\n");
  whole.sync();
  whole.put();
  whole.sync_name();
}

void memory::keep() {
  if (fresh_.empty()) return;
  auto const merge = [&](content& all) {
    auto const forgotten = [&](std::string const& scope, bool doubted) {
      return std::ranges::any_of(all.forgotten, [&](auto const& f) {
        return (doubted || f.second >= since_) && matches(f.first, scope);
      });
    };
    for (auto const& [scope, n] : fresh_) {
      if (forgotten(scope, n.doubted)) continue;
      auto const& e = n.what;
      if (e.last() == std::chrono::sys_seconds{}) continue;
      auto& kept = all.scopes[scope];
      if (e.at != std::chrono::sys_seconds{})
        kept.what = e.what, kept.at = e.at, kept.by_hand = false;
      if (e.last_cut) kept.last_cut = e.last_cut;
      if (!e.quotas.empty()) kept.quotas = e.quotas, kept.quotas_at = e.quotas_at;
    }
  };
  if (!path_.empty()) return change(merge);
  merge(kept_);
  forget_oldest(kept_, scopes_max);
}

void memory::drop(content& all, std::string const& pattern) const {
  auto const now = wall_time_of();
  if (pattern.size() > pattern_bytes_max)
    throw fatal(exit_usage,
                fmt::format("{}: want at most {} bytes", in_quotes(pattern), pattern_bytes_max));
  std::erase_if(all.scopes, [&](auto const& e) { return matches(pattern, e.first); });
  std::erase_if(all.forgotten, [&](auto const& f) { return now - f.second > forgotten_age_max; });
  all.forgotten[pattern] = now;
  if (all.forgotten.size() > forgotten_max)
    all.forgotten.erase(
        std::ranges::min_element(all.forgotten, {}, [](auto const& f) { return f.second; }));
}

std::vector<std::string> memory::forget(std::string const& pattern) {
  std::vector<std::string> gone;
  change([&](content& all) {
    kept_ = all;
    for (auto const& [scope, e] : all.scopes)
      if (matches(pattern, scope)) gone.push_back(scope);
    drop(all, pattern);
  });
  return gone;
}

void memory::set(std::string const& scope, learned const& what) {
  change([&](content& all) {
    drop(all, literally(scope));
    all.scopes[scope] = {.what = what, .at = wall_now(), .by_hand = true};
  });
}

}  // namespace headway::app
