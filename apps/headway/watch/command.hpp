/// What a living run is asked or told.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headway::app {

struct command {
  enum class verb : std::uint8_t {
    status,
    explain,
    pause,
    resume,
    stop,
    finish,
    rate,
    concurrency,
    leave,
    spend_max,
  };
  verb what = verb::status;
  std::string scope{};    ///< a pattern; "": all
  std::string value{};    ///< as a user types it
  std::int64_t line = 0;  ///< of explain

  /// Reads a line of JSON. Throws std::invalid_argument, whose text says what is wrong.
  static command parse(std::string_view json);
  /// Reads what a user types: "rate 20/s", "scope api* pause". Throws as parse() does.
  static command typed(std::string const* begin, std::string const* end);
  /// Returns the line that parse() reads.
  std::string json() const;
  /// Returns it as a user types it.
  std::string words() const;
};

}  // namespace headway::app
