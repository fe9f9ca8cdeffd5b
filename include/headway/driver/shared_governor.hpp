#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>

#include "headway/driver/call_metrics.hpp"
#include "headway/driver/classify.hpp"
#include "headway/driver/clock.hpp"
#include "headway/driver/entropy.hpp"
#include "headway/driver/refused_error.hpp"
#include "headway/driver/turn.hpp"
#include "headway/driver/waiter.hpp"
#include "headway/export.hpp"
#include "headway/headway.hpp"

/// Drivers that block the calling thread.
namespace headway::blocking {

/// One governor shared by any number of threads: each blocks until its turn.
///
/// Turns are the governor's. A turn wakes its own thread and no other; one waiting thread, the
/// leader, wakes when the governor asks to be asked again. No thread sleeps or reads the clock
/// while the lock is held. One generator, one number a decision: the same seed and order of calls
/// give the same run. A thread without memory gets std::bad_alloc: its request ends, and all others
/// go on. Threads: safe. Outlives its permits and all waiting threads.
template <class Governor = default_governor, class Listener = no_listener>
class shared_governor {
 public:
  /// Starts with `governor`; the same `seed` and order of calls give the same decisions.
  explicit shared_governor(Governor governor = Governor(), std::uint64_t seed = entropy(),
                           Listener listener = {})
      : governor_(std::move(governor)), chance_(seed), listener_(std::move(listener)) {}
  shared_governor(shared_governor const&) = delete;
  shared_governor& operator=(shared_governor const&) = delete;
  ~shared_governor() { HEADWAY_REQUIRE(places_.empty()); }

  /// Right to send one attempt. A permit that is destroyed unsettled is given back and teaches
  /// nothing.
  class permit {
   public:
    /// Takes over `other`, which is then empty: it may only be destroyed.
    permit(permit&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)), id_(other.id_) {}
    permit& operator=(permit&&) = delete;
    ~permit() {
      if (owner_) owner_->drop(id_);
    }

    /// Reports the head of the answer, before its end: so much the sooner others may go. The permit
    /// stays out until settle(), as governor::learn() has it. Requires: not ended, not moved from.
    void learn(attempt_result const& head = {}) {
      HEADWAY_REQUIRE(owner_);
      owner_->learn(id_, head);
    }
    /// Reports the result of the attempt. If the request is to be tried again, blocks until its
    /// next turn and returns `retry`: send it again. Everything else ends the permit: `done`,
    /// `give_up`, and `park` if the server asks for more patience than hint_max. Requires: not
    /// ended, not moved from.
    decision settle(attempt_result const& result = {}, std::stop_token const& stop = {}) {
      HEADWAY_REQUIRE(owner_);
      auto const decided = owner_->settle(id_, result, stop);
      if (decided.what != verdict::retry) owner_ = nullptr;
      return decided;
    }

   private:
    friend shared_governor;
    permit(shared_governor* owner, ticket id) noexcept : owner_(owner), id_(id) {}
    shared_governor* owner_;
    ticket id_;
  };

  /// Blocks until a request with these terms may be sent. Returns a refusal, with why and until
  /// when, if that would be after its deadline, if the queue is full, or if `stop` comes first
  /// (`cancelled`).
  std::variant<permit, refused> admit(request_terms const& terms = {},
                                      std::stop_token const& stop = {}) {
    auto const read = steady_now();
    if (stop.stop_requested()) return refuse(read, {reason::cancelled, never});
    std::unique_lock lock(mutex_);
    auto const now = advance(read);
    auto const submitted = governor_.submit(now, terms);
    if (auto const* const no = std::get_if<refused>(&submitted)) {
      lock.unlock();
      return refuse(now, *no);
    }
    place mine{std::get<ticket>(submitted), now};
    enter(now, mine);
    lock.unlock();
    auto const answer = await(mine, stop);
    if (answer.why == reason::none) return permit(this, mine.id);
    return refuse(now, answer);
  }

  /// Calls `f` at its turn, as often as needed, and returns its last result.
  ///
  /// `classify` takes each result and returns an `outcome` or an `attempt_result`. An exception of
  /// `f` is passed on, unless the classifier sees exceptions, too (classify_both): then it is
  /// retried like a result, and passed on when given up. Throws `refused_error`, which is a
  /// `refused`, if the request may not be sent in time or the server asks for more patience than
  /// hint_max. Whatever is thrown, the permit is given back.
  template <class F, class Classify>
  auto call(F&& f, Classify&& classify, request_terms const& terms = {},
            std::stop_token const& stop = {}) {
    auto made = make(f, classify, terms, stop);
    if (auto const* const no = std::get_if<refused>(&made)) throw refused_error(*no);
    using tried = attempt<std::invoke_result_t<F&>>;
    auto value = std::get<tried>(std::move(made)).get();
    if constexpr (!std::is_void_v<std::invoke_result_t<F&>>) return value;
  }

  /// Does as call(), but returns nullopt where call() throws `refused_error`. For a void `f` the
  /// value is std::monostate.
  template <class F, class Classify>
  auto try_call(F&& f, Classify&& classify, request_terms const& terms = {},
                std::stop_token const& stop = {})
      -> std::optional<typename attempt<std::invoke_result_t<F&>>::value> {
    auto made = make(f, classify, terms, stop);
    if (std::holds_alternative<refused>(made)) return std::nullopt;
    return std::get<attempt<std::invoke_result_t<F&>>>(std::move(made)).get();
  }

  /// Holds all requests until `until`, as the server said elsewhere.
  void hold(time_point until) {
    std::lock_guard const lock(mutex_);
    governor_.hold(until);
  }

  /// Returns the counts so far and the present state.
  call_metrics metrics() const {
    auto const read = steady_now();
    std::lock_guard const lock(mutex_);
    auto m = counts_;
    m.in_flight = governor_.in_flight();
    m.waiting = governor_.waiting();
    m.held = governor_.why(std::max(read, latest_));
    if constexpr (requires { governor_.observed(); }) m.observed = governor_.observed();
    return m;
  }
  /// Returns until when a server hint holds requests; in the past if none does.
  time_point held_until() const {
    std::lock_guard const lock(mutex_);
    return governor_.held_until();
  }
  /// Returns until when a new governor in its place could be faster; in the past if it could not.
  time_point busy_until() const {
    std::lock_guard const lock(mutex_);
    return governor_.busy_until();
  }
  /// Returns a copy of the governor, with all it has learned.
  Governor governor() const {
    std::lock_guard const lock(mutex_);
    return governor_;
  }

 private:
  /// A request in the queue and its waiting thread, which owns this.
  struct place {
    ticket id;
    time_point since;
    std::optional<refused> answer{};  // came before the thread waited
    std::optional<waiter> sleeper{};
  };

  /// Counts a refusal. Without the lock.
  refused refuse(time_point now, refused const& no) {
    {
      std::lock_guard const lock(mutex_);
      ++counts_.refused;
    }
    listener_.refused(now, no);
    return no;
  }

  // All that follows is under the lock, but for what says otherwise.

  /// Returns time as this governor sees it: clocks are read before the lock, hence in any order.
  time_point advance(time_point read) noexcept { return latest_ = std::max(latest_, read); }

  /// Queues a newcomer. Without memory for it its request ends: no thread would hear of its turn.
  void enter(time_point now, place& newcomer) try {
    pump(now, &newcomer);
    if (!newcomer.answer) {
      newcomer.sleeper.emplace();
      places_.emplace(newcomer.id, &newcomer);
    }
    appoint(now);
  } catch (...) {
    leave(now, newcomer.id);
    throw;
  }

  /// Tells requests that may go, that are too late and that would wait for too long.
  void pump(time_point now, place* newcomer = nullptr) {
    auto const answer = [&](ticket id, reason why, time_point until) {
      if (newcomer && newcomer->id == id)
        newcomer->answer = refused{why, until};
      else
        tell(id, {why, until});
    };
    while (auto const late = governor_.expired(now)) {
      governor_.cancel(now, *late);
      answer(*late, reason::deadline, never);
    }
    while (auto const parked = governor_.parked(now)) {
      governor_.cancel(now, parked->id);
      answer(parked->id, parked->why, parked->until);
    }
    while (auto const turn = take_turn(governor_, now, chance_)) {
      ++counts_.sent;
      answer(*turn, reason::none, now);
    }
  }

  void tell(ticket id, refused const& answer) {
    auto const found = places_.find(id);
    HEADWAY_REQUIRE(found != places_.end());
    auto& p = *found->second;
    places_.erase(found);
    if (leader_ == &*p.sleeper) leader_ = nullptr;
    if (answer.why == reason::none) counts_.waited += answer.until - p.since;
    p.sleeper->tell(answer);
  }

  /// Makes one thread wake when the governor wants to be asked again: best the one with the next
  /// turn.
  void appoint(time_point now) {
    if (places_.empty()) return;
    auto const at = governor_.wakeup(now);
    if (at == never || (leader_ && leads_until_ <= at)) return;
    auto const head = governor_.next(at);
    leader_ = &*(head ? places_.find(*head) : places_.begin())->second->sleeper;
    leads_until_ = at;
    leader_->lead(at);
  }

  /// Blocks, without the lock, until its turn has come (`none`, and when) or never will.
  refused await(place& mine, std::stop_token const& stop) {
    if (mine.sleeper) {
      auto& self = *mine.sleeper;
      std::stop_callback const on_stop(stop, [&self] { self.stop(); });
      for (auto news = self.wait(); news != waiter::news::told; news = self.wait()) {
        auto const read = steady_now();
        std::lock_guard const lock(mutex_);
        auto const now = advance(read);
        if (leader_ == &self) leader_ = nullptr;
        if (news == waiter::news::stopped && places_.contains(mine.id)) {
          governor_.cancel(now, mine.id);
          tell(mine.id, {reason::cancelled, never});
        }
        pump(now);
        appoint(now);
      }
      mine.answer = self.answer();
    }
    if (mine.answer->why == reason::none)
      listener_.sent(mine.answer->until, mine.id, mine.answer->until - mine.since);
    return *mine.answer;
  }

  /// Hears the head of an answer. Without the lock.
  void learn(ticket id, attempt_result const& head) {
    auto const read = steady_now();
    std::lock_guard const lock(mutex_);
    auto const now = advance(read);
    governor_.learn(now, id, head, chance_());
    pump(now);
    appoint(now);
  }

  /// Settles an attempt, and waits for the next one. Without the lock.
  decision settle(ticket id, attempt_result const& result, std::stop_token const& stop) {
    auto const read = steady_now();
    std::unique_lock lock(mutex_);
    auto const now = advance(read);
    auto decided = governor_.finish(now, id, result, chance_());
    counts_.count(result.what);
    if (decided.what == verdict::retry && stop.stop_requested())
      decided = {verdict::give_up, reason::cancelled, never};
    place mine{id, now};
    if (decided.what == verdict::retry) {
      enter(now, mine);
    } else {
      if (decided.what != verdict::done) ++counts_.given_up;
      leave(now, id);
    }
    lock.unlock();
    listener_.answered(now, id, result.what, decided);
    if (decided.what != verdict::retry) return decided;
    auto const answer = await(mine, stop);
    if (answer.why == reason::none) return decided;
    lock.lock();
    ++counts_.given_up;
    return ended_by(answer);
  }

  /// Forgets the request, wherever it is.
  void leave(time_point now, ticket id) {
    governor_.cancel(now, id);
    pump(now);
    appoint(now);
  }

  /// Gives a permit back. Without the lock.
  void drop(ticket id) {
    auto const read = steady_now();
    std::lock_guard const lock(mutex_);
    leave(advance(read), id);
  }

  template <class F, class Classify>
  auto make(F& f, Classify& classify, request_terms const& terms, std::stop_token const& stop)
      -> std::variant<attempt<std::invoke_result_t<F&>>, refused> {
    auto admitted = admit(terms, stop);
    if (auto const* const no = std::get_if<refused>(&admitted)) return *no;
    auto& held = std::get<permit>(admitted);
    for (;;) {
      attempt<std::invoke_result_t<F&>> made(f);
      auto const decided = held.settle(made.judged_by(classify), stop);
      if (decided.what == verdict::park) return refused{decided.why, decided.until};
      if (decided.what != verdict::retry) return made;
    }
  }

  mutable std::mutex mutex_;
  Governor governor_;
  rng chance_;
  time_point latest_ = time_point::min();
  std::unordered_map<ticket, place*> places_;
  waiter* leader_ = nullptr;
  time_point leads_until_ = never;
  call_metrics counts_{};
  [[no_unique_address]] Listener listener_;
};

extern template class HEADWAY_EXPORT shared_governor<default_governor>;

}  // namespace headway::blocking
