#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "headway/driver/machine_pace.hpp"
#include "headway/driver/pace_governor.hpp"

namespace headway {

/// The default governor for a driver, with one limit for all processes of this user on this machine
/// that have the same key. No daemon; any of them may be killed at any instant.
///
///   headway::blocking::shared_governor api(headway::machine_governor("https://api.example"));
///
/// While a request waits, wakeup() is at most 100 ms away, 5 ms if the others hold all permits.
/// Threads: as governor. After a fork(2) each side is a member of its own, if no request waited or
/// flew then.
class machine_governor : public pace_governor {
 public:
  /// Joins the processes that have `key` and `folder`. The first to join begins with `law`. Throws
  /// std::runtime_error, as machine_pace does; alone() is then the way to go on.
  explicit machine_governor(std::string_view key, governor_settings const& settings = {},
                            seek const& law = {},
                            std::string const& folder = machine_pace::default_folder())
      : machine_governor(
            std::make_shared<machine_pace>(folder, key, any_law{law}, settings.hint_max),
            settings) {}
  /// Returns a governor that shares nothing.
  static machine_governor alone(governor_settings const& settings = {}, seek const& law = {}) {
    return machine_governor(std::make_shared<machine_pace>(any_law{law}), settings);
  }

  /// Returns whether it shares its limit.
  bool shared() const noexcept { return machine_->shared(); }

 private:
  machine_governor(std::shared_ptr<machine_pace> machine, governor_settings const& settings)
      : pace_governor(machine, settings), machine_(std::move(machine)) {}

  std::shared_ptr<machine_pace> machine_;
};

}  // namespace headway
