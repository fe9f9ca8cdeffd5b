/// Asynchronous operations that call a rate-limited API, with Boost.Asio or Asio.
///
///   headway::asio::throttled api{executor};
///   auto const n = co_await api.async_call(
///       [&](auto token) { return socket.async_read_some(buffer, std::move(token)); }, classify,
///       boost::asio::use_awaitable);
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "headway/driver/asio_line.hpp"
#include "headway/driver/asio_operation.hpp"
#include "headway/driver/classify.hpp"
#include "headway/driver/entropy.hpp"
#include "headway/driver/scopes.hpp"

namespace headway::asio {

/// Returns the error of an operation that gets no turn: `refused_error`, or, if it was cancelled, a
/// system_error with operation_aborted.
inline std::exception_ptr error_of(refused const& no) {
  if (no.why != reason::cancelled) return std::make_exception_ptr(refused_error(no));
  return std::make_exception_ptr(system_error(net::error::operation_aborted));
}

/// One governor shared by any number of asynchronous operations. A handle: copies share the
/// governor, and each operation that waits or flies keeps it, so a handle may go first.
///
/// Turns are the governor's. Completion tokens: any; handlers run on their associated executor,
/// else on the one given here, never from within the call that starts an operation. Cancellation:
/// all three types; a waiting operation leaves the queue and fails with operation_aborted. When the
/// execution context is destroyed, waiting operations are, too. Threads: safe, without a strand;
/// Asio's own rules stay (a cancellation signal is emitted from the executor of its operation).
/// Permits end before the context.
template <class Governor = default_governor, class Listener = no_listener>
class shared_governor {
  using queue = line<Governor, Listener>;
  using place = typename queue::place;

 public:
  using executor_type = net::any_io_executor;  ///< required of an I/O object by Asio

  /// Starts with `governor` in its present state; `seed` seeds all chance.
  explicit shared_governor(executor_type executor, Governor governor = Governor(),
                           std::uint64_t seed = entropy(), Listener listener = {})
      : shared_governor(std::make_shared<queue>(std::move(executor), std::move(governor), seed,
                                                std::move(listener))) {}

  /// Right to send one attempt. A permit that is destroyed unsettled is given back and teaches
  /// nothing.
  class permit {
   public:
    permit() = default;  ///< empty, of a failed operation

    /// Reports the head of the answer, before its end: so much the sooner others may go. The permit
    /// stays out until async_settle(), as governor::learn() has it. Requires: not ended.
    void learn(attempt_result const& head = {}) {
      HEADWAY_REQUIRE(place_);
      place_->learn(head);
    }

    /// Reports the result of the attempt: void(decision). If the request is to be tried again,
    /// completes at its next turn with `retry`: send it again. Everything else ends the permit:
    /// `done`, `give_up` (`cancelled` if the wait was), and `park` if the server asks for more
    /// patience than hint_max. Requires: not ended; the permit does not move until completion.
    template <class Token>
    auto async_settle(attempt_result const& result, Token&& token) {
      HEADWAY_REQUIRE(place_);
      return net::async_compose<Token, void(decision)>(settling{place_.get(), result}, token,
                                                       place_->executor());
    }

   private:
    friend shared_governor;
    explicit permit(std::unique_ptr<place> mine) noexcept : place_(std::move(mine)) {}
    std::unique_ptr<place> place_;
  };

  /// Completes when a request with these terms may be sent: void(std::exception_ptr, permit). Fails
  /// with `refused_error` if that would be after its deadline, or if the queue is full.
  template <class Token>
  auto async_admit(request_terms const& terms, Token&& token) {
    return net::async_compose<Token, void(std::exception_ptr, permit)>(
        admission{std::make_unique<place>(line_), terms}, token, line_->executor());
  }
  /// Does the same with default terms.
  template <class Token>
  auto async_admit(Token&& token) {
    return async_admit(request_terms{}, std::forward<Token>(token));
  }

  /// Starts `op` at its turn, as often as needed, and completes with its last results:
  /// void(std::exception_ptr, results…).
  ///
  /// `op` takes a completion token, moves it into one asynchronous operation and returns the result
  /// of that; or it takes nothing and returns an awaitable. `classify` takes what each attempt
  /// completed with, an error_code included, and returns an `outcome` or an `attempt_result`. An
  /// error_code that remains becomes a system_error. An exception of an awaitable is passed on,
  /// unless the classifier sees exceptions, too (classify_both).
  ///
  /// Fails with `refused_error` if it may not be sent in time, or if the server asks for more
  /// patience than hint_max. Cancellation also cancels an attempt in flight, which is not sent
  /// again; if it then ends with an error it teaches nothing. An exception of a classifier is
  /// passed on. Results are default-constructible.
  template <class Op, class Classify, class Token>
  auto async_call(Op&& op, Classify&& classify, request_terms const& terms, Token&& token) {
    using function = std::decay_t<Op>;
    using completion = completion_of<function>;
    using made = typename results_of<completion>::template put<calling, completion, function,
                                                               std::decay_t<Classify>>;
    return net::async_compose<Token, typename made::signature>(
        made(line_, std::forward<Op>(op), std::forward<Classify>(classify), terms), token,
        line_->executor());
  }
  /// Does the same with default terms.
  template <class Op, class Classify, class Token>
  auto async_call(Op&& op, Classify&& classify, Token&& token) {
    return async_call(std::forward<Op>(op), std::forward<Classify>(classify), request_terms{},
                      std::forward<Token>(token));
  }

  /// Holds all requests until `until`, as the server said elsewhere.
  void hold(time_point until) { line_->hold(until); }
  /// Returns until when a server hint holds requests; in the past if none does.
  time_point held_until() const { return line_->held_until(); }
  /// Returns the counts so far, and what holds requests back now.
  call_metrics metrics() const { return line_->metrics(); }
  /// Returns a copy of the governor, with all it has learned.
  Governor governor() const { return line_->governor(); }
  /// Returns the executor that was given.
  executor_type get_executor() const noexcept { return line_->executor(); }

 private:
  template <class, class>
  friend class basic_throttled;

  explicit shared_governor(std::shared_ptr<queue> shared) noexcept : line_(std::move(shared)) {}

  struct admission {
    std::unique_ptr<place> mine;
    request_terms terms;

    template <class Self>
    void operator()(Self& self) {
      self.reset_cancellation_state(net::enable_total_cancellation());
      auto& here = *mine;
      here.ask(terms);
      here.async_turn(std::move(self));
    }
    template <class Self>
    void operator()(Self& self, refused answer) {
      if (answer.why != reason::none) return self.complete(error_of(answer), permit());
      self.complete(nullptr, permit(std::move(mine)));
    }
  };

  struct settling {
    place* mine;
    attempt_result result;
    std::optional<decision> decided{};

    template <class Self>
    void operator()(Self& self) {
      if (decided) return self.complete(*decided);
      self.reset_cancellation_state(net::enable_total_cancellation());
      decided = mine->settle(result, false);
      auto& here = *mine;
      if (decided->what != verdict::retry) return net::post(here.executor(), std::move(self));
      here.async_turn(std::move(self));
    }
    template <class Self>
    void operator()(Self& self, refused answer) {
      if (answer.why != reason::none) decided = ended_by(answer);
      self.complete(*decided);
    }
  };

  template <class Completion, class Op, class Classify, class... Results>
  class calling {
   public:
    using signature = void(std::exception_ptr, Results...);

    calling(std::shared_ptr<queue> line, Op op, Classify classify, request_terms const& terms)
        : state_(new state{std::move(op), std::move(classify), terms, place(std::move(line))}) {}

    template <class Self>
    void operator()(Self& self) {
      if constexpr (std::is_same_v<Completion, void()>)
        if (state_->flies) return ended(self);
      self.reset_cancellation_state(net::enable_total_cancellation());
      auto& here = state_->mine;
      here.ask(state_->terms);
      here.async_turn(std::move(self));
    }
    template <class Self>
    void operator()(Self& self, refused answer) {
      if (answer.why != reason::none) {
        auto const has_result = state_->last && answer.why != reason::cancelled &&
                                ended_by(answer).what != verdict::park;
        return has_result ? finish(self) : fail(self, error_of(answer));
      }
      auto& here = *state_;
      here.flies = true;
      start(here.op, here.mine.executor(), std::move(self));
    }
    template <class Self, class... Args>
    void operator()(Self& self, Args... args) {
      ended(self, std::move(args)...);
    }

   private:
    using outcome_of_attempt = std::tuple<std::exception_ptr, Results...>;
    struct state {
      Op op;
      Classify classify;
      request_terms terms;
      place mine;
      bool flies = false;
      std::optional<outcome_of_attempt> last{};
    };

    template <class Self, class... Args>
    void ended(Self& self, Args... args) {
      auto& here = *state_;
      here.flies = false;
      attempt_result taught;
      try {
        taught = judged(args...);
      } catch (...) {
        return fail(self, std::current_exception());
      }
      here.last.emplace(kept(std::move(args)...));
      bool const stopped =
          self.get_cancellation_state().cancelled() != net::cancellation_type::none;
      if (stopped && std::get<0>(*here.last)) taught = {.what = outcome::ignore};
      auto const decided = here.mine.settle(taught, stopped);
      if (decided.what == verdict::park) return fail(self, error_of({decided.why, decided.until}));
      if (decided.what != verdict::retry) return finish(self);
      here.mine.async_turn(std::move(self));
    }

    template <class... Args>
    attempt_result judged(Args const&... args) {
      return taught_by(state_->classify, args...);
    }
    template <class... Args>
    attempt_result judged(std::exception_ptr const& thrown, Args const&... args) {
      if (thrown) return taught_by_exception(state_->classify, thrown);
      return taught_by(state_->classify, args...);
    }

    static outcome_of_attempt kept(std::exception_ptr thrown, Results... results) {
      return outcome_of_attempt(std::move(thrown), std::move(results)...);
    }
    static outcome_of_attempt kept(error_code failed, Results... results) {
      auto thrown = failed ? std::make_exception_ptr(system_error(failed)) : nullptr;
      return outcome_of_attempt(std::move(thrown), std::move(results)...);
    }
    static outcome_of_attempt kept(Results... results) {
      return outcome_of_attempt(nullptr, std::move(results)...);
    }

    // The permit and all else is given back before the handler is called.
    template <class Self>
    void fail(Self& self, std::exception_ptr const& why) {
      state_.reset();
      self.complete(why, Results{}...);
    }
    template <class Self>
    void finish(Self& self) {
      auto last = std::move(*state_->last);
      state_.reset();
      std::apply([&](auto&... of_it) { self.complete(std::move(of_it)...); }, last);
    }

    std::unique_ptr<state> state_;
  };

  std::shared_ptr<queue> line_;
};

/// A shared governor, and one more for each scope asked for.
///
/// Each scope starts as a copy of the given governor, or as what `make` returns for its key. Keeps
/// at most `scopes_max`: a new scope replaces the one least recently asked for, unless that one is
/// in use or its next request is not due yet; if none can go, the new scope is refused. Threads:
/// safe.
template <class Governor = default_governor, class Listener = no_listener>
class basic_throttled : public shared_governor<Governor, Listener> {
  using base = shared_governor<Governor, Listener>;
  using queue = line<Governor, Listener>;

 public:
  using typename base::executor_type;  ///< required of an I/O object by Asio

  /// Starts each scope as a copy of `governor`.
  explicit basic_throttled(executor_type executor, Governor const& governor = Governor(),
                           std::size_t scopes_max = 1024, std::uint64_t seed = entropy(),
                           Listener const& listener = {})
      : basic_throttled(
            executor, [governor](std::string_view) { return governor; }, scopes_max, seed,
            listener) {}
  /// Starts each scope as `make(key)`, as machine_scopes makes it; "" is the key of calls without a
  /// scope. `make` runs in one thread at a time, with a lock held. Fewer `scopes_max` than for
  /// copies: what is shared costs more than memory.
  template <std::invocable<std::string_view> Make>
  explicit basic_throttled(executor_type executor, Make make, std::size_t scopes_max = 64,
                           std::uint64_t seed = entropy(), Listener const& listener = {})
      : base(executor, make(std::string_view()), seed, listener),
        scopes_(
            scopes_max, seed,
            [executor, make = std::move(make), listener](std::string_view key, std::uint64_t own) {
              return std::make_shared<queue>(executor, make(key), own, listener);
            }) {}

  /// Returns the scope of one limit: host, credential, model, … Throws `refused_error` (`queue`) if
  /// all places are taken.
  base scope(std::string_view key) { return base(scopes_.at(key)); }

  using base::hold;
  /// Holds all scopes that begin with `prefix`, present and future, until `until`.
  void hold(std::string_view prefix, time_point until) { scopes_.hold(prefix, until); }

 private:
  scopes<queue> scopes_;
};

/// Deduces the governor from `make`.
template <std::invocable<std::string_view> Make>
basic_throttled(net::any_io_executor, Make, std::size_t = 0, std::uint64_t = 0)
    -> basic_throttled<std::invoke_result_t<Make&, std::string_view>>;

/// A throttled object with the default law, for most callers.
using throttled = basic_throttled<>;

}  // namespace headway::asio
