#pragma once

#include <cstdint>
#include <memory>

#include "headway/export.hpp"
#include "headway/shared/common_pace.hpp"

namespace headway {

/// Store of what the members of a pace have in common: the last value that one of them published,
/// whole or not at all, and the seats that they hold while they live.
class HEADWAY_EXPORT page {
 public:
  page() = default;
  page(page const&) = delete;
  page& operator=(page const&) = delete;
  /// Gives the seat back.
  virtual ~page();

  /// Number of a published value; each has another.
  using version = std::uint64_t;
  static constexpr version unseen = ~version{0};  ///< that of no value
  /// Returns the version of the value that is there.
  virtual version latest() const noexcept = 0;
  /// Reads the value and its version; false where no member can have published what is there.
  virtual bool read(version& seen, common_pace& value) const noexcept = 0;
  /// Publishes `value`, unless another did so after the one `seen`: then returns false.
  virtual bool publish(version& seen, common_pace const& value) noexcept = 0;

  /// Returns the number of our seat, which no other living member has.
  virtual int seat() const noexcept = 0;
  /// Returns whether a process that lives holds that seat.
  virtual bool taken(int seat) const noexcept = 0;
  /// Returns whether the page is that of our parent, and none of its seats is ours.
  virtual bool inherited() const noexcept = 0;
  /// Takes a seat of our own where the page is inherited; null where that cannot be.
  virtual std::unique_ptr<page> join_anew() const noexcept = 0;
  /// Returns the time by our clock.
  virtual time_point now() const noexcept = 0;
};

}  // namespace headway
