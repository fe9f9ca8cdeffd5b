/// The numbers that a value is made of.
#pragma once

#include <boost/pfr.hpp>
#include <type_traits>
#include <variant>

namespace headway::app {

/// Calls `f(number)` for each of them, in order: a policy's are its fields, a variant's the index
/// of what it holds and that, a time's its nanoseconds, an enumerator's its value. Where `v` is not
/// const, `f` may change them; the index stays.
template <class T, class F>
void each_number(T& v, F const& f) {
  constexpr bool changes = !std::is_const_v<T>;
  if constexpr (std::is_arithmetic_v<std::remove_const_t<T>>) {
    f(v);
  } else if constexpr (std::is_enum_v<T>) {
    auto n = static_cast<int>(v);
    f(n);
    if constexpr (changes) v = static_cast<T>(n);
  } else if constexpr (requires { v.time_since_epoch(); }) {
    auto n = v.time_since_epoch().count();
    f(n);
    if constexpr (changes) v = T(typename T::duration(n));
  } else if constexpr (requires { v.count(); }) {
    auto n = v.count();
    f(n);
    if constexpr (changes) v = T(n);
  } else if constexpr (requires { v.valueless_by_exception(); }) {
    auto const index = v.index();
    f(index);
    std::visit([&](auto& chosen) { each_number(chosen, f); }, v);
  } else if constexpr (requires { v.begin(); }) {
    for (auto& each : v) each_number(each, f);
  } else if constexpr (!std::is_empty_v<T>) {
    boost::pfr::for_each_field(v, [&](auto& field) { each_number(field, f); });
  }
}

}  // namespace headway::app
