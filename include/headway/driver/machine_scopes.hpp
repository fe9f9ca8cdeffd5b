#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "headway/driver/machine_governor.hpp"

namespace headway {

/// Makes each scope of a driver one limit for all processes of this user on this machine: those of
/// the same `key` and scope share it.
///
///   headway::basic_throttled api(headway::machine_scopes{"https://s3.example"});
///   api.scope("bucket")->call(f, classify);
///
/// A scope that cannot be shared goes on alone. Each one that is kept costs a descriptor
/// and 70 KiB in `folder`. Threads: operator() is as safe as `alone`.
struct machine_scopes {
  std::string key;               ///< whose scopes they are: host, account
  governor_settings settings{};  ///< of each scope, in each process
  seek law{};                    ///< what the first to join a scope begins with
  std::string folder = machine_pace::default_folder();  ///< where they meet
  /// Told which scope goes on alone, and why. Must not call the driver.
  std::function<void(std::string_view scope, std::runtime_error const& why)> alone{};

  /// What `scope` begins with; "" is who calls without one, and the same as machine_governor(key).
  machine_governor operator()(std::string_view scope) const try {
    auto whole = key;
    if (!scope.empty()) whole.append("\n").append(scope);
    return machine_governor(whole, settings, law, folder);
  } catch (std::runtime_error const& why) {
    if (alone) alone(scope, why);
    return machine_governor::alone(settings, law);
  }
};

}  // namespace headway
