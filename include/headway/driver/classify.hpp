/// Asks a caller's classifier about the result of an attempt.
#pragma once

#include <concepts>
#include <exception>
#include <functional>
#include <type_traits>
#include <utility>
#include <variant>

#include "headway/governor.hpp"

namespace headway {

/// A classifier of both ways in which a call may say "throttled": its result, and its exception.
///
///   headway::classify_both{[](reply const& r) { return …; },
///                          [](std::exception_ptr thrown) { return …; }}
///
/// Each returns an `outcome` or, with more to say (Retry-After), an `attempt_result`. Any
/// classifier with an on_exception(std::exception_ptr) of its own serves as well.
template <class OnResult, class OnException>
struct classify_both {
  OnResult on_result;        ///< what a result taught
  OnException on_exception;  ///< what an exception taught

  /// Judges a result; of a void call without arguments.
  template <class... Result>
  auto operator()(Result const&... result) const {
    return on_result(result...);
  }
};
/// Deduces both types.
template <class OnResult, class OnException>
classify_both(OnResult, OnException) -> classify_both<OnResult, OnException>;

/// True if `Classify` looks at exceptions. Otherwise they are passed on to the caller and teach
/// nothing.
template <class Classify>
concept classifies_exceptions = requires(Classify& c, std::exception_ptr e) {
  c.on_exception(e);
};

/// Returns the judgement of `classify` on a result: an `outcome`, or an `attempt_result`.
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
/// Returns the judgement of `classify` on an exception: `ignore` if it does not look at exceptions.
template <class Classify>
attempt_result taught_by_exception(Classify& classify, std::exception_ptr const& thrown) {
  if constexpr (classifies_exceptions<Classify>) {
    auto const look = [&](std::exception_ptr const& e) { return classify.on_exception(e); };
    return taught_by(look, thrown);
  } else {
    return {.what = outcome::ignore};
  }
}

/// Result of one attempt, or its exception. `std::monostate` stands for void.
template <class Result>
class attempt {
 public:
  /// Type that get() returns.
  using value =
      std::conditional_t<std::is_void_v<Result>, std::monostate, std::remove_cvref_t<Result>>;

  /// Calls `f` and keeps its result or exception.
  template <class F>
  explicit attempt(F& f) : came_of_it_(of(f)) {}

  /// Returns the judgement of `classify`. An exception of the classifier is passed on.
  template <class Classify>
  attempt_result judged_by(Classify& classify) const {
    if (auto const* const thrown = std::get_if<std::exception_ptr>(&came_of_it_))
      return taught_by_exception(classify, *thrown);
    if constexpr (std::is_void_v<Result>)
      return taught_by(classify);
    else
      return taught_by(classify, std::get<value>(came_of_it_));
  }

  /// Returns the result, or rethrows the exception.
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
