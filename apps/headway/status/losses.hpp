/// What was lost: how many requests, of which host, by what, with an example each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/outcomes.hpp"

namespace headway::app {

struct loss {
  final_outcome how = final_outcome::failed;
  std::string_view host{};
  std::int64_t line = 0;
  std::string_view reason{};  ///< "status 400: invalid_value"; "connection refused; gave up …"
  std::string_view said{};    ///< by the server, in its own words
};

/// Threads: one.
class losses {
 public:
  static constexpr std::size_t kinds_max = 1000;  ///< what is of one kind more is only counted
  static constexpr std::size_t shown_max = 5;     ///< kinds of a host, and hosts

  void add(loss const&);
  /// Returns lines: `failed: 25 × status 400 (line 13: "price must be >= 0"), 5 × status 500 (line
  /// 9)`, for each host where there are several. "" where nothing was lost.
  std::string words() const;

 private:
  struct kind {
    std::int64_t count = 0;
    std::string name{}, example{};
  };
  // By outcome and host, then by name without numbers, which differ from one to the next; codes
  // stay.
  std::map<std::pair<final_outcome, std::string>, std::map<std::string, kind, std::less<>>> all_{};
  std::size_t kinds_ = 0;
  std::int64_t others_ = 0;
};

}  // namespace headway::app
