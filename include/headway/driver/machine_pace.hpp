/// One limit for all processes of a user on this machine.
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

#include "headway/export.hpp"
#include "headway/governor.hpp"
#include "headway/law/any.hpp"

namespace headway {

/// The state of one law in a small mapped file, which every process that joined acts on as if it
/// were alone: there is one pace, one epoch and one memory of what was refused.
///
/// Whoever acts copies the state, changes the copy in a page of its own and makes that page the
/// valid one by a compare-and-swap: lock-free, and a process that dies at any instant leaves either
/// all of its act or nothing. That a process lives is a lock on one byte of the file, which the
/// kernel takes back when it dies; what it had out is then no longer counted. Of those who wait,
/// who was served least recently goes first; the others give it a moment, never more than the law
/// forgives whoever is late. The first to join begins with its own law, the last to leave removes
/// the file; what only dead processes left is not believed. The file is named by the layout of the
/// state, the version, the boot and the time namespace: another version has another file.
///
/// What cannot be is not believed either: a page whose sum is wrong, and one on which another acted
/// in our future, by another clock, or whose pace asks for more than our patience. Then it goes on
/// alone, with the law as it was before.
///
/// The child of a fork(2) has nothing of its parent's membership, dead or alive: it joins by itself
/// at its first act, and goes on alone, with the law as it was, where it cannot.
///
/// machine_governor is this for the drivers. Threads: one at a time for each object, and none in it
/// while another forks; objects and processes in any number up to members_max. Linux only.
/// Source: M. Herlihy, "A methodology for implementing highly concurrent data objects" (1993), the
/// protocol for small objects.
class HEADWAY_EXPORT machine_pace {
 public:
  static constexpr int members_max = 32;  ///< processes that share one pace

  /// Joins those of this user who call `key`, whatever that names: a host, a credential. Made where
  /// it is missing: `folder`, of mode 0700, but not its parents.
  ///
  /// Throws std::system_error where the system does not let us (no such parent, read-only, full),
  /// and another std::runtime_error where what is there is not this user's own, is no such file, or
  /// has members_max members. Nothing is changed then, and the caller may go on alone. What others
  /// were told to wait beyond `patience` is not believed.
  machine_pace(std::string const& folder, std::string_view key, any_law const& begins,
               duration patience = governor_settings().hint_max);
  /// Joins nobody: the same for one who is alone.
  explicit machine_pace(any_law const& begins) noexcept;
  ~machine_pace();
  machine_pace(machine_pace const&) = delete;
  machine_pace& operator=(machine_pace const&) = delete;

  /// A folder in XDG_RUNTIME_DIR, else in /run/user/UID, each if it is this user's own, else in
  /// TMPDIR or /tmp. Not while another thread changes the environment.
  static std::string default_folder();

  /// Looks at what others did meanwhile, and tells them that `out` permits are ours and whether we
  /// wait for the law to give more. Those who died no longer do either. O(members), and a few
  /// system calls every 100 ms.
  void refresh(time_point now, int out, bool waits) noexcept;

  /// Takes the turn that the last look promised; false where another process was faster. The next
  /// take() then has its stamp. Requires: no turn is claimed.
  bool claim(time_point now, std::int64_t cost, fraction u) noexcept;

  /// A server said so elsewhere: nobody goes before `until`. Never makes a hold shorter.
  void hold(time_point until) noexcept;
  /// Returns the end of a hold that a server asked for. Within our patience of the last look.
  time_point held_until() const noexcept { return held_; }
  /// When to look again, although nothing of ours happened.
  time_point look_again(time_point now) const noexcept;
  /// False: it is alone, and stays so.
  bool shared() const noexcept { return map_ != nullptr; }
  /// The most others who shared it when we looked.
  int company() const noexcept { return company_; }

  /// As a law, of the last look. What it is told goes to all at once.
  any_law const& law() const noexcept { return seen_.law; }
  time_point ready_at(std::int64_t cost) const noexcept {
    return later(seen_.law.ready_at(cost), deference_);
  }
  double allowed() const noexcept { return seen_.law.allowed() - others_; }
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
  using page = std::array<std::atomic<std::uint64_t>, words + 1>;  // the state, and its sum
  struct layout {
    std::atomic<std::uint64_t> magic;
    alignas(64) std::atomic<std::uint64_t> head;  // count of acts, and which page is valid
    std::array<page, std::size_t{2} * members_max> pages;
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  static constexpr int page_bits = 8;
  static constexpr std::uint64_t page_mask = (1U << page_bits) - 1;
  static constexpr std::uint64_t never_seen = page_mask;
  static constexpr std::uint64_t magic_value = 0x3265636150776448;  // "HdwPace2"

  class descriptor;

  bool alive(int whose) const noexcept;
  void join(any_law const& begins);
  void join_again() noexcept;
  void leave() noexcept;
  descriptor open() const;
  descriptor open_file(int folder) const;
  void sweep(int folder) const noexcept;
  enum class sight : std::uint8_t { well, empty, bad };
  sight copy_page(time_point now) noexcept;
  bool believable(state const& s, time_point now) const noexcept;
  void read(time_point now) noexcept;
  bool publish(state const& s) noexcept;
  template <class F>
  void act(time_point now, F f) noexcept;
  void bury(state& s) const noexcept;
  static bool absent(member const& m, time_point now) noexcept;
  template <class F>
  void learn(time_point now, sample s, F f) noexcept;
  int others_out(state const& s, time_point now) const noexcept;
  duration deference(state const& s, time_point now) const noexcept;
  void look(time_point now) noexcept;
  member& mine(state& s) const noexcept { return s.members[static_cast<std::size_t>(me_)]; }
  member const& mine(state const& s) const noexcept {
    return s.members[static_cast<std::size_t>(me_)];
  }

  std::string folder_;
  std::string name_;
  std::string path_;
  int fd_ = -1;            // without a lock: to ask whether others live
  layout* map_ = nullptr;  // which holds our locks, and no child inherits; null: alone
  unsigned joined_ = 0;    // after so many forks
  int me_ = 0;
  duration patience_ = duration::max();
  any_law begins_;         // the law to go on alone with, until what is seen is
  bool believed_ = false;  // seen_ was looked at by our clock
  time_point held_ = time_point::min();
  state seen_{};
  std::uint64_t seen_head_ = never_seen;  // that made seen_ valid
  std::optional<stamp> claimed_;
  int others_ = 0;  // permits that they have out
  int company_ = 0;
  time_point back_ = time_point::min();  // from having been stopped
  duration deference_{};                 // to those whose turn comes before ours
};

/// A law that is this process's own, or that of the machine. A copy shares what is shared.
struct machine_law {
  any_law own{};                            ///< where there is no `machine`
  std::shared_ptr<machine_pace> machine{};  ///< null: it paces alone

  /// The one of the two that is in use.
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
  friend bool operator==(machine_law const&, machine_law const&) = default;
};
static_assert(law<machine_law>);

/// Refreshes `pace` with what `g`, whose law it is, has out and waits for, and holds `g` where
/// another was told to wait. To be asked before the turns of `g`, and after the last one: who is
/// said to wait and does not look for a second is taken to be stopped. Who is `held_elsewhere`, as
/// by a quota of its own, waits for no turn.
template <class Governor>
void look_at(machine_pace& pace, Governor& g, time_point now, bool held_elsewhere = false) {
  auto const why = g.why(now).why;
  auto const for_the_law = why == reason::none || why == reason::pace || why == reason::window;
  pace.refresh(now, g.in_flight(), g.waiting() > 0 && for_the_law && !held_elsewhere);
  g.hold(pace.held_until());
}

}  // namespace headway
