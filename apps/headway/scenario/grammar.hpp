/// What a scenario and the options of `headway mock` say of a server, in one grammar.
///
///   time      50ms, 2s, 1.5min, 1h, 250us
///   count/per 50/s, 300/min, 5000/h, 10/250ms
///   limit     rate=N/PER[,burst=N]                     concurrent=N[,error-holds=TIME]
///             window=N/PER[,aligned]                   sliding=N/PER[,counts-rejects]
///             counter=N/PER[,counts-rejects][,aligned]
///             queue=N[,waiting=N][,shows=SYMPTOM]      ban=N/TIME[,for=TIME][,prolonged]
///             table=N/PER[,saved=TIME][,level=SHARE][,fastest=N/PER][,hot=SHARE][,hot-minutes=N]
///             slope=SHARE/TIME[,from=N/PER][,burst=N]  outage[,shows=SYMPTOM]   unlimited
///             shared=N[,at-work=N][,patience=TIME][,drops]
///   symptom   throttle, failure or silence
///   schedule  TIME:limit; TIME:limit; …
///
/// All throw std::invalid_argument, whose text says what is wrong and what is allowed.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantity.hpp"
#include "base/wrong.hpp"
#include "headway/sim/server.hpp"

namespace headway::app {

sim::limit parse_limit(std::string_view text);

/// Ascending.
std::vector<sim::step> parse_schedule(std::string_view text);

/// TIME:VALUE; TIME:VALUE; …, ascending; `example` is one of them.
std::vector<std::pair<time_point, std::string_view>> parse_steps(std::string_view text,
                                                                 std::string_view example);

/// `50ms`, or `20ms..80ms`.
sim::spread parse_spread(std::string_view text);

sim::symptom parse_symptom(std::string_view text);
double parse_number(std::string_view text, double least, double most);

/// kind[=value][,setting[=value]]…, whose settings are taken away one by one.
class phrase {
 public:
  struct word {
    std::string_view name, value{};
    bool has_value = false;
  };

  explicit phrase(std::string_view text);

  word const& kind() const noexcept { return kind_; }

  /// Hands the value of the setting to `use`, if it is there.
  template <class Use>
  phrase& with(std::string_view name, Use use) {
    if (auto const w = take(name); w.has_value) use(w.value);
    return *this;
  }
  /// Whether the setting is there, as it stands.
  bool flag(std::string_view name);

  /// Throws where a setting is left that nothing asked for.
  void no_more() const;

 private:
  word take(std::string_view name);

  word kind_;
  std::vector<word> settings_{};
  std::string known_;
};

}  // namespace headway::app
