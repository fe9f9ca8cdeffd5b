// A RetryStrategy for aws-sdk-cpp: config.retryStrategy = std::make_shared<headway_strategy>().
// Compiled here against a stub of the SDK (aws_sdk_stub), whose loop main() imitates.

#include <aws/core/client/RetryStrategy.h>
#include <headway/driver/blocking.hpp>

#include <cstdio>

using namespace Aws::Client;

/// The SDK asks for a token, sends, and tells how it went, all from the thread of the call. One for
/// all clients of an API, for as long as any thread calls it.
class headway_strategy : public RetryStrategy {
 public:
  bool HasSendToken() override {
    if (held.has_value()) return true;  // a retry, whose turn it is
    auto admitted = api_.admit();
    auto* const permit = std::get_if<permit_type>(&admitted);
    if (permit) held.emplace(std::move(*permit));
    return permit != nullptr;
  }
  void RequestBookkeeping(HttpResponseOutcome const& outcome) override {
    if (!held) return;
    auto const what = outcome.IsSuccess()                   ? headway::outcome::success
                      : outcome.GetError().ShouldThrottle() ? headway::outcome::throttle
                      : outcome.GetError().ShouldRetry()    ? headway::outcome::failure
                                                            : headway::outcome::ignore;
    if (held->settle({.what = what}).what != headway::verdict::retry) held.reset();
  }
  void RequestBookkeeping(HttpResponseOutcome const& o, AWSError<CoreErrors> const&) override {
    RequestBookkeeping(o);
  }
  bool ShouldRetry(AWSError<CoreErrors> const&, long) const override { return held.has_value(); }
  long CalculateDelayBeforeNextRetry(AWSError<CoreErrors> const&, long) const override { return 0; }
  char const* GetStrategyName() const override { return "headway"; }

 private:
  using permit_type = headway::throttled::permit;
  static inline thread_local std::optional<permit_type> held;
  headway::throttled api_;
};

int main() {
  headway_strategy strategy;
  AWSError<CoreErrors> const slow_down(CoreErrors::SLOW_DOWN, true, true);
  long attempts = 0;
  for (int call = 0; call < 10; ++call)
    for (long retries = 0;; ++retries) {
      if (!strategy.HasSendToken()) return 1;
      bool const served = ++attempts % 4 != 0;  // the server slows every fourth attempt down
      auto const outcome = served ? HttpResponseOutcome() : HttpResponseOutcome(slow_down);
      strategy.RequestBookkeeping(outcome);
      if (served || !strategy.ShouldRetry(slow_down, retries)) break;
    }
  std::printf("10 calls, %ld attempts\n", attempts);
  return attempts == 13 ? 0 : 1;
}
