#pragma once

#include <exception>
#include <type_traits>
#include <utility>

#include "headway/driver/asio_library.hpp"

namespace headway::asio {

/// A completion token that starts nothing: the return type of an operation with it names the
/// signature.
struct signature_probe {};
template <class Signature>
struct signature_is {
  using type = Signature;
};

/// Results of a signature: the arguments after its error, if it has one.
template <class Signature>
struct results_of;
template <class... Results>
struct results_of<void(Results...)> {
  template <template <class...> class To, class... Before>
  using put = To<Before..., std::decay_t<Results>...>;
};
template <class... Results>
struct results_of<void(std::exception_ptr, Results...)> : results_of<void(Results...)> {};
template <class... Results>
struct results_of<void(error_code, Results...)> : results_of<void(Results...)> {};

template <class Result>
struct signature_of_result : signature_is<void(std::exception_ptr, Result)> {};
template <>
struct signature_of_result<void> : signature_is<void(std::exception_ptr)> {};

template <class Made>
struct signature_of {
  static_assert(!std::is_same_v<Made, Made>,
                "an operation takes a completion token and returns what it initiates with that, or "
                "takes nothing and returns an awaitable");
  using type = void();
};
template <class Signature>
struct signature_of<signature_is<Signature>> : signature_is<Signature> {};
template <class Result, class Executor>
struct signature_of<net::awaitable<Result, Executor>> : signature_of_result<Result> {};

template <class Op>
auto probe(Op&) {
  if constexpr (std::is_invocable_v<Op&>)
    return signature_of<std::invoke_result_t<Op&>>{};
  else
    return signature_of<std::invoke_result_t<Op&, signature_probe>>{};
}

/// Signature that one attempt completes with. `Op` takes a completion token, or takes nothing and
/// returns an awaitable.
template <class Op>
using completion_of = typename decltype(probe(std::declval<Op&>()))::type;

/// Starts `op`; `handler` is called when it ends, and carries its executor and cancellation slot.
/// An awaitable runs on that executor if it can, else on `otherwise`.
template <class Op, class Handler>
void start(Op& op, net::any_io_executor const& otherwise, Handler&& handler) {
  if constexpr (std::is_invocable_v<Op&>) {
    using runs_on = typename std::invoke_result_t<Op&>::executor_type;
    auto const executor = [&]() -> runs_on {
      if constexpr (std::is_convertible_v<decltype(handler.get_executor()), runs_on>)
        return handler.get_executor();
      else
        return otherwise;
    }();
    net::co_spawn(executor, op(), std::forward<Handler>(handler));
  } else {
    op(std::forward<Handler>(handler));
  }
}

}  // namespace headway::asio

template <class Result, class... Args>
class HEADWAY_ASIO_NAMESPACE::async_result<headway::asio::signature_probe, Result(Args...)> {
 public:
  using return_type = headway::asio::signature_is<void(std::decay_t<Args>...)>;
  template <class Initiation, class... Initial>
  static return_type initiate(Initiation&&, headway::asio::signature_probe, Initial&&...) {
    return {};
  }
};
