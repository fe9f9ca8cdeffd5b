/// Failures of a database.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "headway/export.hpp"

namespace headway::postgres {

/// Meaning of a failure for the statement, and for the next attempt.
enum class failure : std::uint8_t {
  usage,         ///< nothing was done, and nothing will be until a person changes something
  unavailable,   ///< nothing was done; the same may work later
  unknown_fate,  ///< the connection was lost while a statement ran: it may have been carried out
  refused,       ///< nothing was done: the server rejects this statement (`sqlstate`)
};

/// One sentence: the database, what is wrong, and what to do. It never contains a password.
class HEADWAY_EXPORT error : public std::runtime_error {
 public:
  /// Makes an error that says `what`.
  error(failure, std::string sqlstate, std::string const& what);
  error(error const&) = default;  ///< Copies it, as a throw may.
  ~error() override;

  failure kind;          ///< what it means
  std::string sqlstate;  ///< five characters of the server; "" if it said none
};

/// A failure as the database told it, judged.
struct judgement {
  failure kind = failure::refused;  ///< what it means
  std::string sqlstate{};           ///< as in `error`
  std::string sentence{};           ///< what is wrong, and what to do
};

/// Returns what libpq's text about a failed connection means: of any locale, and verbose
/// (`PQERRORS_VERBOSE`), so that it has the server's SQLSTATE.
HEADWAY_EXPORT judgement judge_connection(std::string_view text, std::string_view role,
                                          std::string_view database);

/// Returns what the failure of a statement means while its connection goes on.
HEADWAY_EXPORT judgement judge_statement(std::string_view sqlstate, std::string_view message,
                                         std::string_view role);

}  // namespace headway::postgres
