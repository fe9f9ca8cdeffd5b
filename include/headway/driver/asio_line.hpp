#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>

#include "headway/driver/asio_library.hpp"
#include "headway/driver/call_metrics.hpp"
#include "headway/driver/polled.hpp"
#include "headway/driver/refused_error.hpp"

namespace headway::asio {

/// A polled governor, the operations that wait for it, and one timer armed to its wakeup.
///
/// Each waiting operation has a timer of its own that never expires and is cancelled at its turn:
/// so Asio keeps the handlers, and destroys them with the context. Threads: safe; no handler is
/// called with the lock held.
template <class Governor, class Listener>
class line : public std::enable_shared_from_this<line<Governor, Listener>> {
 public:
  line(net::any_io_executor executor, Governor governor, std::uint64_t seed, Listener listener)
      : executor_(std::move(executor)),
        governor_(std::move(governor), seed),
        alarm_(executor_),
        listener_(std::move(listener)) {}

  /// One request, until it is answered for good. Gives back what it holds when destroyed.
  class place {
   public:
    explicit place(std::shared_ptr<line> owner)
        : owner_(std::move(owner)),
          turn_(owner_->executor_, net::steady_timer::time_point::max()) {}
    place(place const&) = delete;
    place& operator=(place const&) = delete;
    ~place() { leave(); }

    /// Queues the request. Call async_turn() next. Once.
    void ask(request_terms const& terms) { owner_->ask(*this, terms); }
    /// Completes at its turn, void(refused), with `none`, or with why it gets none.
    template <class Token>
    auto async_turn(Token&& token) {
      return net::async_compose<Token, void(refused)>(wait{this}, token, owner_->executor_);
    }
    /// Reports the head of its answer. Requires: its turn has come.
    void learn(attempt_result const& head) {
      HEADWAY_REQUIRE(queued_ && answer_);
      owner_->learn(*this, head);
    }
    /// Reports the result of its attempt. After `retry` call async_turn(). Requires: its turn has
    /// come.
    decision settle(attempt_result const& result, bool stopped) {
      HEADWAY_REQUIRE(queued_ && answer_);
      return owner_->settle(*this, result, stopped);
    }
    void leave() {
      if (queued_) owner_->leave(*this);
    }
    net::any_io_executor const& executor() const noexcept { return owner_->executor_; }

   private:
    friend line;

    struct wait {
      place* mine;
      bool told = false;

      template <class Self>
      void operator()(Self& self) {
        if (told) return finish(self);
        self.reset_cancellation_state(net::enable_total_cancellation());
        auto const owner = mine->owner_;  // an operation may be gone before the lock is
        std::lock_guard const lock(owner->mutex_);
        told = mine->answer_.has_value();
        if (told) return net::post(owner->executor_, std::move(self));
        mine->turn_.async_wait(std::move(self));
      }
      template <class Self>
      void operator()(Self& self, error_code) {
        mine->owner_->cancel_unless_told(*mine);
        finish(self);
      }
      template <class Self>
      void finish(Self& self) {
        auto const answer = *mine->answer_;
        mine->owner_->tell_listener(*mine);
        self.complete(answer);
      }
    };

    std::shared_ptr<line> owner_;
    net::steady_timer turn_;
    ticket id_{};
    bool queued_ = false;  // the governor knows it
    bool sent_ = false;
    time_point since_{};
    std::optional<refused> answer_{};
  };

  void hold(time_point until) {
    std::lock_guard const lock(mutex_);
    governor_.hold(until);
  }
  time_point held_until() const {
    std::lock_guard const lock(mutex_);
    return governor_.state().held_until();
  }
  time_point busy_until() const {
    std::lock_guard const lock(mutex_);
    return governor_.state().busy_until();
  }
  call_metrics metrics() const {
    std::lock_guard const lock(mutex_);
    auto m = counts_;
    m.in_flight = governor_.state().in_flight();
    m.waiting = governor_.state().waiting();
    m.held = governor_.why();
    if constexpr (requires { governor_.state().observed(); })
      m.observed = governor_.state().observed();
    return m;
  }
  Governor governor() const {
    std::lock_guard const lock(mutex_);
    return governor_.state();
  }
  net::any_io_executor const& executor() const noexcept { return executor_; }

 private:
  void ask(place& p, request_terms const& terms) {
    std::lock_guard const lock(mutex_);
    p.since_ = steady_now();
    auto const submitted = governor_.submit(terms);
    if (auto const* const no = std::get_if<refused>(&submitted)) return answer(p, *no);
    p.id_ = std::get<ticket>(submitted);
    p.queued_ = true;
    waiting_.emplace(p.id_, &p);
    pump();
  }

  void learn(place const& p, attempt_result const& head) {
    std::lock_guard const lock(mutex_);
    governor_.learn(p.id_, head);
    pump();
  }

  decision settle(place& p, attempt_result const& result, bool stopped) {
    decision decided;
    {
      std::lock_guard const lock(mutex_);
      decided = governor_.done(p.id_, result);
      counts_.count(result.what);
      if (decided.what == verdict::retry && stopped)
        decided = {verdict::give_up, reason::cancelled, never};
      if (decided.what == verdict::retry) {
        p.answer_.reset();
        p.since_ = steady_now();
        waiting_.emplace(p.id_, &p);
      } else {
        if (decided.what != verdict::done) ++counts_.given_up;
        governor_.cancel(p.id_);
        p.queued_ = false;
      }
      pump();
    }
    listener_.answered(steady_now(), p.id_, result.what, decided);
    return decided;
  }

  void leave(place& p) noexcept {
    std::lock_guard const lock(mutex_);
    waiting_.erase(p.id_);
    governor_.cancel(p.id_);
    p.queued_ = false;
    try {
      pump();
    } catch (std::bad_alloc const&) {  // the next act arms the alarm
    }
  }

  void cancel_unless_told(place& p) {
    std::lock_guard const lock(mutex_);
    if (p.answer_) return;
    governor_.cancel(p.id_);
    tell(p.id_, {reason::cancelled, never});
    pump();
  }

  void tell_listener(place const& p) {
    if (p.answer_->why == reason::none)
      listener_.sent(p.answer_->until, p.id_, p.answer_->until - p.since_);
    else if (!p.sent_)
      listener_.refused(p.since_, *p.answer_);
  }

  // All that follows is under the lock.

  /// Tells requests that may go, that are too late and that would wait for too long.
  void pump() {
    while (auto const late = governor_.expired()) tell(*late, {reason::deadline, never});
    while (auto const parked = governor_.parked()) tell(parked->id, {parked->why, parked->until});
    while (auto const turn = governor_.next()) tell(*turn, {reason::none, steady_now()});
    arm();
  }
  void tell(ticket id, refused const& what) {
    auto const found = waiting_.extract(id);
    HEADWAY_REQUIRE(found);
    answer(*found.mapped(), what);
    found.mapped()->turn_.cancel();
  }
  void answer(place& p, refused const& what) {
    p.answer_ = what;
    if (what.why == reason::none) {
      p.sent_ = true;
      ++counts_.sent;
      counts_.waited += what.until - p.since_;
    } else {
      p.queued_ = false;
      ++(p.sent_ ? counts_.given_up : counts_.refused);
    }
  }
  /// Arms the alarm. One that comes too early does no harm; one that no operation waits for would
  /// keep the context from running out of work.
  void arm() {
    if (waiting_.empty() && armed_ != never) {
      armed_ = never;
      alarm_.cancel();
    }
    auto const at = waiting_.empty() ? never : governor_.wakeup();
    if (at >= armed_) return;
    armed_ = never;
    alarm_.expires_at(net::steady_timer::time_point(at.time_since_epoch()));
    alarm_.async_wait([weak = this->weak_from_this()](error_code cancelled) {
      auto const self = weak.lock();
      if (cancelled || !self) return;
      std::lock_guard const lock(self->mutex_);
      self->armed_ = never;
      self->pump();
    });
    armed_ = at;
  }

  net::any_io_executor const executor_;
  mutable std::recursive_mutex mutex_;  // an operation without memory to wait leaves under it
  basic_polled<Governor> governor_;
  std::unordered_map<ticket, place*> waiting_;
  net::steady_timer alarm_;
  time_point armed_ = never;
  call_metrics counts_{};
  [[no_unique_address]] Listener listener_;
};

}  // namespace headway::asio
