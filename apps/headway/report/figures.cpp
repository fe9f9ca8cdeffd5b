#include "report/figures.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/fatal.hpp"
#include "base/text.hpp"
#include "base/url.hpp"
#include "whatif/load.hpp"
#include "whatif/newest_limit.hpp"
#include "whatif/trace_reader.hpp"

namespace headway::app {
namespace {

constexpr std::size_t moments_max = 300;
constexpr std::size_t endings_max = 1000, costs_max = 50;
constexpr auto results_max = std::numeric_limits<std::int64_t>::max();

/// The value below which that share of `values` lies; they are put in another order.
double quantile(std::vector<float>& values, double share) {
  if (values.empty()) return 0;
  auto const at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return static_cast<double>(*at);
}

/// Moments of a run whose length is not known before its end: they grow as it does.
class timeline {
 public:
  moment& at(duration t) {
    while (t / each_ >= static_cast<std::int64_t>(moments_max)) halve();
    auto const index = static_cast<std::size_t>(std::max(t, duration(0)) / each_);
    if (index >= all_.size()) all_.resize(index + 1);
    return all_[index];
  }
  void answered(duration sent, double seconds) {
    latencies_.emplace_back(sent, static_cast<float>(seconds));
  }
  /// Adds the time from `begin` to `end`, moment by moment.
  void held(duration begin, duration end, std::string_view why) {
    at(end);
    for (auto t = begin; t < end;) {
      auto const next = std::min(end, (t / each_ + 1) * each_);
      at(t).held[why] += to_seconds(next - t);
      t = next;
    }
  }
  void finish(traced_figures& f) {
    std::vector<std::vector<float>> by_moment(all_.size());
    for (auto const& [t, seconds] : latencies_)
      by_moment[std::min(static_cast<std::size_t>(t / each_), all_.size() - 1)].push_back(seconds);
    for (std::size_t i = 0; i < all_.size(); ++i) {
      all_[i].p50 = quantile(by_moment[i], 0.5);
      all_[i].p99 = quantile(by_moment[i], 0.99);
    }
    f.moment = each_;
    f.moments = std::move(all_);
  }

 private:
  void halve() {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (i % 2 == 0) {
        all_[i / 2] = std::move(all_[i]);
        continue;
      }
      auto& m = all_[i / 2];
      auto const& later = all_[i];
      m.accepted += later.accepted;
      m.throttled += later.throttled;
      m.failed += later.failed;
      m.in_flight = std::max(m.in_flight, later.in_flight);
      if (later.limit > 0 || later.slots > 0) m.limit = later.limit, m.slots = later.slots;
      for (auto const& [why, seconds] : later.held) m.held[why] += seconds;
    }
    all_.resize((all_.size() + 1) / 2);
    each_ *= 2;
  }

  duration each_ = 10ms;
  std::vector<moment> all_{1};
  std::vector<std::pair<duration, float>> latencies_;
};

/// How fast quotas let a scope send, where they hold it often.
class quota_pace {
 public:
  void sent(time_point now, bool held) {
    ++sent_;
    if (!held) return;
    if (held_++ == 0) first_at_ = now, first_ = sent_;
    last_at_ = now, last_ = sent_;
  }
  double per_second() const {
    auto const n = last_ - first_;
    return n < 10 || 4 * held_ < sent_ ? 0
                                       : static_cast<double>(n) / to_seconds(last_at_ - first_at_);
  }

 private:
  std::int64_t sent_ = 0, held_ = 0, first_ = 0, last_ = 0;
  time_point first_at_{}, last_at_{};
};

struct traced_scope {
  std::size_t index = 0;  // of scope_figures
  std::unordered_map<ticket, time_point> flying{};
  std::string_view held{};  // "": nothing waits
  time_point since{};
  quota_pace quotas{};
};

/// The governor calls each ceiling of its user a quota.
std::string_view words_of(traced_call const& c) {
  if (c.why == reason::none) return "";
  return c.what == traced_call::kind::wakeup && c.why == reason::quota ? "own ceiling"
                                                                       : to_string(c.why);
}

double per_second(std::optional<gcra> const& ceiling) {
  return ceiling ? 1 / to_seconds(ceiling->interval) : 0;
}

/// A result, until the next one is read.
struct read_result {
  std::int64_t line = 0, status = 0, attempts = 0, throttled = 0;
  std::string_view outcome{}, url{}, reason{}, id{}, text{};
  double waited = 0, latency = 0;  // milliseconds
};

/// A file of results, which can be read twice: of a pipe it is a copy.
class results_file {
 public:
  explicit results_file(std::string path)
      : path_(std::move(path)), file_(std::fopen(path_.c_str(), "rb"), &std::fclose) {
    if (!file_) cannot_read(std::strerror(errno));
    if (std::fseek(file_.get(), 0, SEEK_SET) == 0) return;
    handle copy(std::tmpfile(), &std::fclose);
    std::array<char, 64 * 1024> block{};
    for (std::size_t n = 1; copy && n > 0;) {
      n = std::fread(block.data(), 1, block.size(), file_.get());
      if (std::fwrite(block.data(), 1, n, copy.get()) != n) copy.reset();
    }
    if (std::ferror(file_.get()) != 0) cannot_read(std::strerror(errno));
    if (!copy || std::fflush(copy.get()) != 0)
      throw fatal(exit_io, fmt::format("cannot keep a copy of {}", path_));
    file_ = std::move(copy);
  }

  /// Calls `use(number, result)` with the first `most` results, in their order; returns how many
  /// there are.
  template <class Use>
  std::int64_t each(std::int64_t most, Use use) {
    std::rewind(file_.get());
    std::int64_t number = 0;
    for (std::string text; number < most && next(text);) {
      ++number;
      use(number, read(text, number));
    }
    return number;
  }

 private:
  using handle = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

  [[noreturn]] void cannot_read(std::string_view why) const {
    throw fatal(exit_usage, fmt::format("cannot read {}: {}", path_, why));
  }

  bool next(std::string& text) {
    auto const n = ::getline(&line_.text, &line_.room, file_.get());
    if (n < 0 && std::ferror(file_.get()) != 0) cannot_read("no file of results");
    if (n >= 0) text.assign(line_.text, static_cast<std::size_t>(n));
    return n >= 0;
  }

  read_result read(std::string const& text, std::int64_t number) {
    read_result r{.text = text};
    simdjson::dom::object o;
    auto const is = [](auto error) { return error == simdjson::SUCCESS; };
    if (!is(json_.parse(text).get(o)) || !is(o["outcome"].get(r.outcome)) ||
        !is(o["url"].get(r.url)) || !is(o["line"].get(r.line)) ||
        !is(o["attempts"].get(r.attempts)))
      throw fatal(exit_usage, fmt::format("{}:{}: not a result of headway run", path_, number));
    if (!is(o["id"].get(r.id))) r.id = "";
    if (!is(o["status"].get(r.status))) r.status = 0;
    if (!is(o["throttled"].get(r.throttled))) r.throttled = 0;
    if (!is(o["waited_ms"].get(r.waited))) r.waited = 0;
    if (!is(o["latency_ms"].get(r.latency))) r.latency = 0;
    if (!is(o["reason"].get(r.reason))) r.reason = "";
    return r;
  }

  struct buffer {  // of getline(3)
    buffer() = default;
    buffer(buffer const&) = delete;
    buffer& operator=(buffer const&) = delete;
    ~buffer() { std::free(text); }
    char* text = nullptr;
    std::size_t room = 0;
  };

  std::string path_;
  handle file_;
  buffer line_{};
  simdjson::dom::parser json_;
};

/// Ids, as numbers. A whole number below small_max is itself, any other text a hash above them.
constexpr std::uint64_t small_max = std::uint64_t{1} << 26;

std::uint64_t key_of(read_result const& r) {
  if (r.id.empty()) return static_cast<std::uint64_t>(r.line);
  std::uint64_t number = 0;
  auto const* const end = r.id.data() + r.id.size();
  auto const [at, error] = std::from_chars(r.id.data(), end, number);
  if (error == std::errc() && at == end && number < small_max &&
      (r.id.size() == 1 || r.id[0] != '0'))
    return number;
  return std::hash<std::string_view>{}(r.id) | small_max;
}

/// Which ids there are: a bit for a small number, eight bytes for any other id.
class id_set {
 public:
  void add(std::uint64_t key) {
    if (key >= small_max) return others_.push_back(key);
    if (key >= small_.size()) small_.resize(key + 1);
    if (small_[key]) again_.push_back(key);
    small_[key] = true;
  }
  /// Returns those that were added more than once, ascending. It is called once.
  std::vector<std::uint64_t> repeated() && {
    std::ranges::sort(others_);
    for (auto at = others_.begin(); (at = std::adjacent_find(at, others_.end())) != others_.end();
         ++at)
      again_.push_back(*at);
    std::ranges::sort(again_);
    again_.erase(std::unique(again_.begin(), again_.end()), again_.end());
    return std::move(again_);
  }

 private:
  std::vector<bool> small_;
  std::vector<std::uint64_t> others_, again_;
};

/// Results of ids that have several: which of them do not count.
class repeats {
 public:
  explicit repeats(std::vector<std::uint64_t> ids) : ids_(std::move(ids)) {}

  /// Takes the next result, in their order.
  void add(std::int64_t number, read_result const& r) {
    auto const key = key_of(r);
    if (!std::ranges::binary_search(ids_, key)) return;
    constexpr std::hash<std::string_view> hash;
    if (!texts_.insert(hash(r.text)).second) {
      ++copies;
      return leave_out(number);
    }
    latest const now{number, r.outcome == "success", hash(r.url)};
    auto const [at, first] = known_.try_emplace(key, now);
    if (first) return;
    auto const before = std::exchange(at->second, now);
    if (before.success) {
      ++after_success;
      return;
    }
    if (before.url != now.url) ++elsewhere;
    leave_out(before.number);
  }
  bool counts(std::int64_t number) const {
    return !std::cmp_less(number, out_.size()) || !out_[static_cast<std::size_t>(number)];
  }

  std::int64_t copies = 0, after_success = 0, elsewhere = 0;  // as result_figures has them

 private:
  void leave_out(std::int64_t number) {
    auto const at = static_cast<std::size_t>(number);
    if (at >= out_.size()) out_.resize(at + 1);
    out_[at] = true;
  }

  struct latest {
    std::int64_t number;
    bool success;
    std::size_t url;
  };
  std::vector<std::uint64_t> const ids_;
  std::unordered_map<std::uint64_t, latest> known_;
  std::unordered_set<std::size_t> texts_;
  std::vector<bool> out_;  // by number
};

/// The figures of results, one after the other.
class result_count {
 public:
  void add(read_result const& r) {
    auto const host = short_name(destination_of(std::string(r.url)).origin);
    auto key = std::tuple(host, std::string(r.outcome), static_cast<int>(r.status));
    if (all_.endings.size() >= endings_max && !all_.endings.contains(key))
      std::get<0>(key) = "other hosts";
    auto& e = all_.endings[std::move(key)];
    if (e.count++ == 0 || r.line < e.example_line) {
      e.example_line = r.line;
      e.example_id = r.id;
      e.reason = r.reason;
    }
    ++(r.outcome == "success" ? all_.success : r.outcome == "failed" ? all_.failed : all_.unknown);
    all_.attempts += r.attempts;
    all_.throttled += r.throttled;
    all_.waited += r.waited / 1e3;
    all_.max = std::max(all_.max, r.latency / 1e3);
    latencies_.push_back(static_cast<float>(r.latency / 1e3));
  }
  result_figures figures() && {
    all_.p50 = quantile(latencies_, 0.5);
    all_.p99 = quantile(latencies_, 0.99);
    return std::move(all_);
  }

 private:
  result_figures all_{};
  std::vector<float> latencies_;
};

}  // namespace

traced_figures figures_of_trace(std::string const& path) {
  trace_reader reader(path);
  traced_figures f;
  f.law = reader.head().law.name;
  auto const began = reader.head().began;
  timeline line;
  std::unordered_map<int, traced_scope> scopes;
  std::map<std::string, std::size_t> known;
  int flying = 0;
  while (auto const call = reader.next()) {
    auto const& c = *call;
    using kind = traced_call::kind;
    if (c.what == kind::scope) {
      auto const [at, first] = known.try_emplace(c.name, f.scopes.size());
      if (first)
        f.scopes.push_back(
            {.name = c.name, .ceiling = per_second(reader.head().settings.rate_ceiling)});
      scopes[c.scope] = {.index = at->second};
      continue;
    }
    auto const t = c.at - began;
    f.took = std::max(f.took, t);
    if (c.what == kind::ctl) {
      f.changed.emplace_back(t, c.words);
      continue;
    }
    if (c.what == kind::cost) {
      auto const full = f.costs.size() >= costs_max && !f.costs.contains(c.name);
      auto& cost = f.costs[full ? "others" : c.name];
      ++cost.answers;
      cost.expected += c.expected, cost.told += c.told;
      continue;
    }
    auto& s = scopes.at(c.scope);
    auto& total = f.scopes[s.index];
    if (!s.held.empty() && c.at > s.since) {
      line.held(s.since - began, t, s.held);
      f.held[s.held] += to_seconds(c.at - s.since);
    }
    s.since = c.at;
    if (c.what == kind::wakeup || c.what == kind::held) s.held = words_of(c);
    if (c.what == kind::limit) total.ceiling = per_second(c.rate);
    if (c.what == kind::start) {
      s.flying[c.id] = c.at;
      s.quotas.sent(c.at, c.quota_until.has_value());
      total.kept_to = s.quotas.per_second();
      auto& m = line.at(t);
      m.in_flight = std::max(m.in_flight, ++flying);
    }
    auto const sent = s.flying.find(c.id);
    if ((c.what == kind::finish || c.what == kind::cancel) && sent != s.flying.end()) {
      auto const begin = sent->second - began;
      if (c.what == kind::finish) {
        auto& m = line.at(begin);
        ++f.attempts, ++total.attempts;
        if (c.result.what == outcome::success) ++m.accepted;
        if (c.result.what == outcome::throttle) ++m.throttled, ++f.throttled, ++total.throttled;
        if (c.result.what == outcome::failure) ++m.failed, ++f.failed, ++total.failed;
        line.answered(begin, to_seconds(c.at - sent->second));
        f.requests += c.ended ? 1 : 0;
      }
      s.flying.erase(sent);
      --flying;
    }
    if (c.belief) {
      total.limit = c.belief->rate, total.slots = c.belief->slots;
      auto& m = line.at(t);
      m.limit = total.limit, m.slots = total.slots;
    }
  }
  line.finish(f);
  std::ranges::stable_sort(f.scopes, std::greater{}, &scope_figures::attempts);
  return f;
}

void find_limit(traced_figures& f, recording const& r) {
  auto const s = std::ranges::find(f.scopes, r.scope, &scope_figures::name);
  if (s == f.scopes.end() || s->throttled == 0) return;
  auto const at = load_of_refusals(r);
  if (auto const met = newest_limit(r, s->limit, at)) {
    s->met = true;
    s->limit = met->rate, s->slots = static_cast<double>(met->slots);
    return;
  }
  s->by_chance = refused_by_chance(r, at);
  if (s->by_chance) s->limit = s->slots = 0;
}

result_figures figures_of_results(std::string const& path) {
  results_file results(path);
  result_count all;
  id_set ids;
  auto const many = results.each(results_max, [&](std::int64_t, read_result const& r) {
    ids.add(key_of(r));
    all.add(r);
  });
  auto again = std::move(ids).repeated();
  if (again.empty()) return std::move(all).figures();
  repeats of(std::move(again));
  results.each(many, [&](std::int64_t number, read_result const& r) { of.add(number, r); });
  result_count last;
  results.each(many, [&](std::int64_t number, read_result const& r) {
    if (of.counts(number)) last.add(r);
  });
  auto figures = std::move(last).figures();
  figures.copies = of.copies;
  figures.after_success = of.after_success;
  figures.elsewhere = of.elsewhere;
  return figures;
}

}  // namespace headway::app
