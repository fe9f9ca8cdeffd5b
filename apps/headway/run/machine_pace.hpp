/// One limit for all runs of a user on this machine.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "headway/law/any.hpp"
#include "run/file.hpp"

namespace headway::app {

/// The state of one law in a small mapped file, which every process that joined acts on as if it
/// were alone: there is one pace, one epoch and one memory of what was refused.
///
/// Whoever acts copies the state, changes the copy in a page of its own and makes that page the
/// valid one by a compare-and-swap: lock-free, and a process that dies at any instant leaves either
/// all of its act or nothing. That a process lives is a lock on one byte of the file, which the
/// kernel takes back when it dies; what it had out is then no longer counted. Of those who wait,
/// who was served least recently goes first; the others give it a moment, so that one who is
/// stopped costs hardly anything. The first to join begins with its own law. The file is named by
/// the layout of the state and by the boot: another version has another file.
///
/// Threads: one at a time for each object; objects and processes in any number up to members_max.
/// Source: M. Herlihy, "A methodology for implementing highly concurrent data objects" (1993), the
/// protocol for small objects.
class machine_pace {
 public:
  static constexpr int members_max = 32;

  /// Joins those who call `key`, in `folder`. Errors: fatal(exit_io) where the folder or the file
  /// is not the user's own, has another layout, or has no room for one more.
  machine_pace(std::string const& folder, std::string_view key, any_law const& begins);
  ~machine_pace();
  machine_pace(machine_pace const&) = delete;
  machine_pace& operator=(machine_pace const&) = delete;

  /// A folder in XDG_RUNTIME_DIR, else in /run/user/UID, else in TMPDIR or /tmp.
  static std::string default_folder();

  /// Looks at what others did meanwhile, and tells them that `out` permits are ours and whether we
  /// wait for more. Those who died no longer do either.
  void refresh(time_point now, int out, bool waits) noexcept;

  /// Takes the turn that the last look promised; false where another process was faster. The next
  /// take() then has its stamp. Requires: no turn is claimed.
  bool claim(time_point now, std::int64_t cost, fraction u) noexcept;

  /// Nobody of the scope goes before this: a server said so.
  time_point held_until() const noexcept { return seen_.held; }
  /// When to look again, although nothing of ours happened.
  time_point look_again(time_point now) const noexcept;

  // As a law, of the last look.
  any_law const& law() const noexcept { return seen_.law; }
  time_point ready_at(std::int64_t cost) const noexcept {
    return later(seen_.law.ready_at(cost), deference_);
  }
  double allowed() const noexcept { return seen_.law.allowed() - others_out(); }
  stamp take(time_point now, std::int64_t cost, fraction u) noexcept;
  void on_success(time_point now, sample const& s, fraction u) noexcept;
  void on_throttle(time_point now, sample const& s, resource r, fraction u) noexcept;
  void on_failure(time_point now, sample const& s, fraction u) noexcept;
  void on_hint(time_point now, hint const& h) noexcept;

 private:
  struct member {
    bool here = false;
    bool waits = false;
    std::int32_t out = 0;                 // permits
    time_point took = time_point::min();  // its last turn
    time_point looked = time_point::min();
    friend bool operator==(member const&, member const&) = default;
  };
  struct state {
    any_law law{};
    time_point held = time_point::min();
    std::array<member, members_max> members{};
  };
  static_assert(std::is_trivially_copyable_v<state>);
  static constexpr std::size_t words = (sizeof(state) + 7) / 8;
  using page = std::array<std::atomic<std::uint64_t>, words>;
  struct layout {
    std::atomic<std::uint64_t> magic;
    alignas(64) std::atomic<std::uint64_t> head;  // count of acts, and which page is valid
    std::array<page, std::size_t{2} * members_max> pages;
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  static constexpr int page_bits = 8;
  static constexpr std::uint64_t page_mask = (1U << page_bits) - 1;
  static constexpr std::uint64_t magic_value = 0x3165636150776448;  // "HdwPace1"

  bool lock(short how, int byte) const noexcept;
  bool alive(int whose) const noexcept;
  void open(std::string const& folder);
  bool open_file();
  std::uint64_t read(state& s) const noexcept;
  bool publish(std::uint64_t before, state const& s) noexcept;
  template <class F>
  void act(F f) noexcept;
  void bury(state& s) const noexcept;
  static int out(state const& s) noexcept;
  int others_out() const noexcept { return out(seen_) - mine(seen_).out; }
  duration deference(state const& s, time_point now) const noexcept;
  sample of_all(sample s) const noexcept;
  member& mine(state& s) const noexcept { return s.members[static_cast<std::size_t>(me_)]; }
  member const& mine(state const& s) const noexcept {
    return s.members[static_cast<std::size_t>(me_)];
  }

  std::optional<file> folder_;
  std::optional<file> file_;
  std::string name_;
  layout* map_ = nullptr;
  int me_ = 0;
  state seen_{};
  std::optional<stamp> claimed_;
  duration deference_{};  // to those whose turn comes before ours
};

/// The law of a scope: this process's own, or that of the machine.
struct scope_law {
  any_law own{};
  std::shared_ptr<machine_pace> machine{};

  any_law const& now_known() const noexcept { return machine ? machine->law() : own; }

  time_point ready_at(std::int64_t cost) const noexcept {
    return machine ? machine->ready_at(cost) : own.ready_at(cost);
  }
  double allowed() const noexcept { return machine ? machine->allowed() : own.allowed(); }
  stamp take(time_point now, std::int64_t cost, fraction u) noexcept {
    return machine ? machine->take(now, cost, u) : own.take(now, cost, u);
  }
  void on_success(time_point now, sample const& s, fraction u) noexcept {
    machine ? machine->on_success(now, s, u) : own.on_success(now, s, u);
  }
  void on_throttle(time_point now, sample const& s, resource r, fraction u) noexcept {
    machine ? machine->on_throttle(now, s, r, u) : own.on_throttle(now, s, r, u);
  }
  void on_failure(time_point now, sample const& s, fraction u) noexcept {
    machine ? machine->on_failure(now, s, u) : own.on_failure(now, s, u);
  }
  void on_hint(time_point now, hint const& h) noexcept {
    machine ? machine->on_hint(now, h) : own.on_hint(now, h);
  }
  friend bool operator==(scope_law const&, scope_law const&) = default;
};
static_assert(headway::law<scope_law>);

}  // namespace headway::app
