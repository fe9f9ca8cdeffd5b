/// A connection to PostgreSQL: statements with timeouts, and notifications.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headway/export.hpp"
#include "headway/postgres/error.hpp"
#include "headway/time.hpp"

struct pg_result;  // libpq's

namespace headway::postgres {

/// Origin of a URL. The arguments of a process can be read by all users of its machine.
enum class source : std::uint8_t { arguments, environment };

/// A database: a URL that has been read and judged. Values; nothing is connected to.
///
/// All that libpq reads counts: `postgresql://` and `key=value`, PGHOST and the like, service
/// files, `~/.pgpass`. The server's certificate and name are verified (`sslmode=verify-full`)
/// unless it is on this machine or one of these says otherwise. Of several hosts the one that can
/// be written to is taken.
class HEADWAY_EXPORT endpoint {
 public:
  /// Reads a URL; throws `error` of kind `usage`, for a password in `source::arguments`, too.
  explicit endpoint(std::string url, source = source::environment);

  /// Returns the database as messages show it: `postgresql://headway@db:5432/work`.
  std::string const& name() const noexcept { return name_; }
  /// Returns the role that it is used as.
  std::string const& role() const noexcept { return role_; }
  /// Returns what users are told once, "" if there is nothing: that the server is not verified.
  std::string const& warning() const noexcept { return warning_; }

 private:
  friend class connection;
  std::string missing_file() const;  // a sentence; "" if none is

  std::string url_, name_, role_, database_, warning_;
  std::vector<std::pair<std::string, std::string>> files_;  // that the URL names
  std::vector<std::string> secrets_;
  bool verify_ = false, writable_ = false;  // what the URL leaves to us
};

/// Time and room that a server may take.
struct patience {
  std::chrono::milliseconds connect{5'000};     ///< until the first statement can be sent
  std::chrono::milliseconds statement{10'000};  ///< the server cancels it then
  std::size_t answer = std::size_t{64} << 20;   ///< bytes of an answer, over TCP
};

/// A value of a statement: null, a number, text, bytes, or an array of one of these. Views: what
/// they show must outlive the call.
class HEADWAY_EXPORT parameter {
 public:
  parameter(std::nullptr_t);                           ///< null
  parameter(bool);                                     ///< boolean
  parameter(int);                                      ///< integer
  parameter(std::int64_t);                             ///< bigint
  parameter(double);                                   ///< double precision
  parameter(std::string_view);                         ///< text, in UTF-8, without NUL
  parameter(std::string const&);                       ///< text
  parameter(char const*);                              ///< text
  parameter(std::span<std::byte const>);               ///< bytea
  parameter(std::vector<std::byte> const&);            ///< bytea
  parameter(std::span<std::int64_t const>);            ///< bigint[]
  parameter(std::span<std::string const>);             ///< text[]
  parameter(std::span<std::vector<std::byte> const>);  ///< bytea[]

 private:
  friend class connection;

  unsigned type_ = 0;                        // its OID; 0: the server infers it
  std::optional<std::string> owned_;         // in the server's binary form
  std::optional<std::string_view> shown_{};  // likewise, where it is there already
};

/// Rows that a statement returned. Columns are counted from 0.
class HEADWAY_EXPORT rows {
 public:
  /// Returns how many there are.
  int size() const noexcept;
  /// Returns whether the value is null; those below then return 0, "" and nothing.
  bool null(int row, int column) const;
  /// Returns a boolean, integer or bigint.
  std::int64_t number(int row, int column) const;
  /// Returns a double precision.
  double real(int row, int column) const;
  /// Returns a text, as long as these rows live.
  std::string_view text(int row, int column) const;
  /// Returns a bytea, as long as these rows live.
  std::span<std::byte const> bytes(int row, int column) const;

 private:
  friend class connection;

  struct clear {
    void operator()(pg_result*) const noexcept;
  };
  explicit rows(pg_result* result) : result_(result) {}

  std::unique_ptr<pg_result, clear> result_;
};

/// A word of another session, by NOTIFY.
struct notification {
  std::string channel;  ///< where
  std::string payload;  ///< what
};

/// One session of a server. One thread uses it; `wake` and the stop token are for all threads. It
/// is not made again when it is lost: make another.
///
/// Every call throws `error`. After one of kind `unavailable` or `unknown_fate` see `lost`.
class HEADWAY_EXPORT connection {
 public:
  /// Connects. `stop` ends any call, then and later: as `unavailable`, a running statement as of
  /// `unknown_fate`.
  explicit connection(endpoint const&, patience = {}, std::stop_token stop = {});
  connection(connection&&) noexcept;  ///< Leaves a connection that can only be destroyed.
  connection& operator=(connection&&) noexcept;  ///< Likewise; closes the one that was here.
  ~connection();

  /// Carries out one statement in a transaction of its own. It is prepared on its first use, so
  /// `sql` is one of few texts, and values are bound ($1, $2, …).
  rows execute(std::string_view sql, std::initializer_list<parameter> = {});
  /// Carries out statements without values in one transaction: all or none.
  void script(std::string const& sql);

  /// Hears what is notified on `channel`, but not where the session is `pooled`.
  void listen(std::string_view channel);
  /// Waits until something is notified, `wake` is called or `until`; returns all that was notified
  /// since the last call.
  std::vector<notification> wait(time_point until);
  /// Ends a wait; if there is none, the next one.
  void wake() noexcept;

  /// Returns whether the session has ended.
  bool lost() const noexcept;
  /// Returns whether a pooler is between: sessions are not ours alone, so they keep neither
  /// notifications nor advisory locks.
  bool pooled() const noexcept;

 private:
  struct session;
  std::unique_ptr<session> session_;
};

}  // namespace headway::postgres
