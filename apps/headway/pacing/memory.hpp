/// What runs have learned about servers, kept from one to the next.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "headway/law/shipped.hpp"
#include "provider/quota_units.hpp"

namespace headway::app {

struct remembered {
  learned what{};
  duration age{};
  friend bool operator==(remembered const&, remembered const&) = default;
};

struct remembered_quotas {
  std::vector<known_quota> what{};
  duration age{};
};

/// The refusal that made a law send less.
struct cut {
  wall_time at{};
  std::string by{};  ///< the answer, in words
};

/// All that is kept of a scope.
struct known_scope {
  learned what{};
  std::chrono::sys_seconds at{};  ///< the epoch: what was not learned
  bool by_hand = false;           ///< a user said so
  std::optional<cut> last_cut{};
  std::vector<known_quota> quotas{};
  std::chrono::sys_seconds quotas_at{};

  std::chrono::sys_seconds last() const noexcept { return std::max(at, quotas_at); }
};

/// Returns whether `pattern`, as shells have them, is of a scope, by its whole name or its short
/// one.
bool matches(std::string const& pattern, std::string const& scope);

/// The law as it begins with this memory; itself where it cannot remember.
shipped_law with_memory(shipped_law, remembered const&);

/// A small file of JSON, one entry a scope: nothing that a request carries is in it.
///
/// Errors: fatal(exit_usage) where the file is something else, so that it is never overwritten;
/// fatal(exit_io) where it cannot be read or written. Two runs may keep theirs at the same time:
/// each replaces only its own scopes, and none that was forgotten since it had begun to learn it.
/// Threads: distinct objects safe.
class memory {
 public:
  /// Has no file: what it keeps lasts as long as it does.
  memory() = default;
  /// Of the file at `path`, or that it leads to. Errors: fatal where that is none of ours.
  explicit memory(std::string const& path);

  /// XDG_STATE_HOME/headway/limits.json, else below HOME; "" where neither is set.
  static std::string default_path();

  /// All that is kept, by scope.
  std::map<std::string, known_scope> const& all() const noexcept { return kept_.scopes; }

  std::optional<remembered> recall(std::string const& scope) const;
  void learn(std::string const& scope, learned const&);
  void learn_cut(std::string const& scope, cut);

  /// None that are older than a day: a limit that is not stated again must be found again.
  remembered_quotas recall_quotas(std::string const& scope) const;
  void learn_quotas(std::string const& scope, std::vector<known_quota>);

  /// What was learned of it since began before this memory was read, in another run perhaps: it
  /// is not kept if that scope was ever forgotten.
  void doubt(std::string const& scope) { fresh_[scope].doubted = true; }

  /// Merges what was learned into the file: by a new one that takes its place, readable by its
  /// owner only.
  void keep();

  /// Forgets all scopes that match, for good: also what a run that lives has learned of them until
  /// now. Returns those that were there, whose limits this memory still has.
  std::vector<std::string> forget(std::string const& pattern);
  /// Keeps what a user says of a scope, in place of all that was learned of it until now.
  void set(std::string const& scope, learned const&);

 private:
  struct content {
    std::map<std::string, known_scope> scopes{};
    std::map<std::string, wall_time> forgotten{};  // when, by pattern
  };
  struct news {
    known_scope what{};
    bool doubted = false;
  };
  content read() const;
  template <class F>
  void change(F f);
  static void forget_oldest(content&, std::size_t left);
  void drop(content&, std::string const& pattern) const;

  static constexpr std::size_t scopes_max = 1000;  // the oldest are forgotten
  static constexpr std::size_t quotas_max = 16;    // of a scope
  static constexpr std::size_t forgotten_max = 100;
  static constexpr std::size_t bytes_max = 1 << 20;

  std::string path_;
  wall_time since_{};  // it was read
  content kept_;
  std::map<std::string, news> fresh_;
};

}  // namespace headway::app
