/// One limit for all processes of a user on this machine.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "headway/export.hpp"
#include "headway/governor.hpp"
#include "headway/law/any.hpp"
#include "headway/shared/paged_pace.hpp"

namespace headway {

/// A pace on a page that is a small mapped file.
///
/// An act writes the value to a page of its member's own and makes that the valid one by a
/// compare-and-swap: lock-free, and a process that dies at any instant leaves either all of its act
/// or nothing. Each living process locks one byte of the file; when it dies, the kernel frees the
/// lock, and its permits no longer count. The last to leave removes the file, which is named by the
/// version, the protocol, the layout of the value, the boot and the time namespace: another build
/// has another file unless it means the same by it.
///
/// machine_governor is this for the drivers. Threads: one at a time for each object, and none in it
/// while another forks; objects and processes in any number up to members_max. Linux only.
/// Source: M. Herlihy, "A methodology for implementing highly concurrent data objects" (1993), the
/// protocol for small objects.
class HEADWAY_EXPORT machine_pace : public paged_pace {
 public:
  static constexpr int members_max = common_pace::members_max;  ///< processes that share one pace

  /// Joins the processes of this user that have `key`, which may name anything: a host, a
  /// credential. Makes `folder`, of mode 0700, if it is missing, but not its parents. Ignores
  /// waits beyond `patience` that others say a server asked for.
  ///
  /// Throws std::system_error if the system refuses (no such parent, read-only, full), and another
  /// std::runtime_error if the file is not this user's own, is no such file, or has members_max
  /// members. Nothing is changed then, and the caller may go on alone.
  machine_pace(std::string const& folder, std::string_view key, any_law const& begins,
               duration patience = governor_settings().hint_max);
  /// Makes a pace that shares nothing.
  explicit machine_pace(any_law const& begins) noexcept;

  /// Joins as the constructor does, and returns the page alone, for a pace that records what is
  /// read of it.
  static std::unique_ptr<page> open(std::string const& folder, std::string_view key);

  /// Returns a folder in XDG_RUNTIME_DIR, else in /run/user/UID, each if it is this user's own,
  /// else in TMPDIR or /tmp. No other thread may change the environment meanwhile.
  static std::string default_folder();
};

}  // namespace headway
