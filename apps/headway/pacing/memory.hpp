/// What runs have learned about servers, kept from one to the next.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

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

/// The law as it begins with this memory; itself where it cannot remember.
shipped_law with_memory(shipped_law, remembered const&);

/// A small file of JSON, one entry a scope: nothing that a request carries is in it.
///
/// Errors: fatal(exit_usage) where the file is something else, so that it is never overwritten;
/// fatal(exit_io) where it cannot be read or written. Two runs may keep theirs at the same time:
/// each replaces only its own scopes. Threads: distinct objects safe.
class memory {
 public:
  /// Remembers nothing, and keeps nothing.
  memory() = default;
  explicit memory(std::string path);

  /// XDG_STATE_HOME/headway/limits.json, else below HOME; "" where neither is set.
  static std::string default_path();

  std::optional<remembered> recall(std::string const& scope) const;
  void learn(std::string const& scope, learned const&);

  /// None that are older than a day: a limit that is not stated again must be found again.
  remembered_quotas recall_quotas(std::string const& scope) const;
  void learn_quotas(std::string const& scope, std::vector<known_quota>);

  /// Merges what was learned into the file: by a new one that takes its place, readable by its
  /// owner only.
  void keep();

 private:
  struct entry {
    learned what{};
    std::chrono::sys_seconds at{};  // the epoch: what was not learned
    std::vector<known_quota> quotas{};
    std::chrono::sys_seconds quotas_at{};

    std::chrono::sys_seconds last() const noexcept { return std::max(at, quotas_at); }
  };
  using entries = std::map<std::string, entry>;
  entries read() const;

  static constexpr std::size_t scopes_max = 1000;  // the oldest are forgotten
  static constexpr std::size_t quotas_max = 16;    // of a scope
  static constexpr std::size_t bytes_max = 1 << 20;

  std::string path_;
  entries known_;
  entries fresh_;
};

}  // namespace headway::app
