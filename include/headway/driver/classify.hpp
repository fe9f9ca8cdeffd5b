/// What an attempt came to, and what a caller's classifier says that it taught.
#pragma once

#include <concepts>
#include <exception>
#include <functional>
#include <type_traits>
#include <utility>
#include <variant>

#include "headway/governor.hpp"

namespace headway {

/// A classifier of both ways in which a call may say "throttled": its result, and what it throws.
///
///   headway::classify_both{[](reply const& r) { return …; },
///                          [](std::exception_ptr thrown) { return …; }}
///
/// Each answers with an `outcome` or, where there is more to say (Retry-After), an
/// `attempt_result`. Any classifier with an on_exception(std::exception_ptr) of its own serves as
/// well.
template <class OnResult, class OnException>
struct classify_both {
  OnResult on_result;        ///< what a result taught
  OnException on_exception;  ///< what an exception taught

  /// Of a void call it is asked without arguments.
  template <class... Result>
  auto operator()(Result const&... result) const {
    return on_result(result...);
  }
};
/// Deduces both.
template <class OnResult, class OnException>
classify_both(OnResult, OnException) -> classify_both<OnResult, OnException>;

/// Whether `Classify` looks at exceptions. One that does not has them passed on to its caller, and
/// they teach nothing.
template <class Classify>
concept classifies_exceptions = requires(Classify& c, std::exception_ptr e) {
  c.on_exception(e);
};

/// What a result taught, in the words of `classify`: an `outcome`, or an `attempt_result`.
template <class Classify, class... Result>
attempt_result taught_by(Classify& classify, Result const&... result) {
  constexpr bool can_be_asked = std::is_invocable_v<Classify&, Result const&...>;
  static_assert(can_be_asked,
                "a classifier is called with what the attempt returned, as a const reference; with "
                "nothing if that was void");
  if constexpr (can_be_asked) {
    using answer = std::remove_cvref_t<std::invoke_result_t<Classify&, Result const&...>>;
    constexpr bool in_a_word = std::is_same_v<answer, outcome>;
    constexpr bool in_full = std::is_convertible_v<answer, attempt_result>;
    static_assert(in_a_word || in_full,
                  "a classifier answers with a headway::outcome or a headway::attempt_result");
    if constexpr (in_a_word) return {.what = std::invoke(classify, result...)};
    if constexpr (in_full) return std::invoke(classify, result...);
  }
  return {};  // not reached
}
/// The same, of an exception. One that the classifier does not look at teaches nothing.
template <class Classify>
attempt_result taught_by_exception(Classify& classify, std::exception_ptr const& thrown) {
  if constexpr (classifies_exceptions<Classify>) {
    auto const look = [&](std::exception_ptr const& e) { return classify.on_exception(e); };
    return taught_by(look, thrown);
  } else {
    return {.what = outcome::ignore};
  }
}

/// The result of one attempt, or what it threw. `std::monostate` stands for void.
template <class Result>
class attempt {
 public:
  /// What get() returns.
  using value =
      std::conditional_t<std::is_void_v<Result>, std::monostate, std::remove_cvref_t<Result>>;

  /// Calls `f`. What it throws is kept.
  template <class F>
  explicit attempt(F& f) : came_of_it_(of(f)) {}

  /// What it taught, in the words of `classify`. A classifier that throws is the caller's affair.
  template <class Classify>
  attempt_result judged_by(Classify& classify) const {
    if (auto const* const thrown = std::get_if<std::exception_ptr>(&came_of_it_))
      return taught_by_exception(classify, *thrown);
    if constexpr (std::is_void_v<Result>)
      return taught_by(classify);
    else
      return taught_by(classify, std::get<value>(came_of_it_));
  }

  /// The result, or what was thrown, thrown again.
  value get() && {
    if (auto const* const thrown = std::get_if<std::exception_ptr>(&came_of_it_))
      std::rethrow_exception(*thrown);
    return std::get<value>(std::move(came_of_it_));
  }

 private:
  using either = std::variant<value, std::exception_ptr>;

  template <class F>
  static either of(F& f) {
    try {
      if constexpr (std::is_void_v<Result>) {
        std::invoke(f);
        return either(std::in_place_index<0>);
      } else {
        return either(std::in_place_index<0>, std::invoke(f));
      }
    } catch (...) {
      return either(std::in_place_index<1>, std::current_exception());
    }
  }
  either came_of_it_;
};

}  // namespace headway
