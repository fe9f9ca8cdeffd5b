#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "headway/driver/machine_governor.hpp"

namespace headway {

/// Makes each scope of a driver one limit for all processes of this user on this machine that have
/// the same `key` and scope.
///
///   headway::basic_throttled api(headway::machine_scopes{"https://s3.example"});
///   api.scope("bucket")->call(f, classify);
///
/// A scope that cannot be shared goes on alone. Each scope kept costs a descriptor and 70 KiB in
/// `folder`. Threads: operator() is as safe as `alone`.
struct machine_scopes {
  std::string key;                                      ///< of all scopes: host, account
  governor_settings settings{};                         ///< of each scope, in each process
  seek law{};                                           ///< of the first process that joins a scope
  std::string folder = machine_pace::default_folder();  ///< of the shared files
  /// A hook for each scope that goes on alone. Must not call the driver.
  std::function<void(std::string_view scope, std::runtime_error const& why)> alone{};

  /// Returns the governor of `scope`; "", for calls without one, is machine_governor(key).
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
