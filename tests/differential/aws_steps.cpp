// aws_adaptive and aws_retry_quota on random schedules, printed for botocore_steps.py to repeat:
//
//   schedule NOW
//   send NOW TAKEN TOKENS              whether there was a token, and how many there are now
//   ok|throttle NOW FILL MEASURED      an answer, and the rates after it
//   withdraw|deposit AMOUNT TAKEN LEFT    of the retry quota
//   end SCHEDULES

#include <cstdio>

#include "headway/random.hpp"
#include "headway/sim/laws/aws_adaptive.hpp"
#include "headway/sim/laws/aws_retry_quota.hpp"
#include "schedules.hpp"

namespace {

using namespace headway;

void schedule(rng& draw) {
  constexpr duration paces[] = {20ms, 200ms, 1s, 5s};
  auto const pace = paces[draw() % std::size(paces)];
  time_point now{scale(1000s, draw())};
  sim::aws_adaptive limiter;
  sim::aws_retry_quota quota{.tokens_max = static_cast<int>(10 + draw() % 30)};
  limiter.take(now, 1, 0);  // it begins with the first send
  std::printf("schedule %ld %d\n", now.time_since_epoch().count(), quota.tokens_max);
  for (int i = 0; i < 12; ++i) {
    now += scale(pace, draw());
    auto const at = now.time_since_epoch().count();
    switch (auto const kind = draw() % 8; kind) {
      case 0:
      case 1: {
        auto const amount = static_cast<int>(1 + draw() % 14);
        bool taken = true;
        if (kind == 0)
          taken = quota.withdraw(amount);
        else
          quota.deposit(amount);
        std::printf("%s %d %d %d\n", kind == 0 ? "withdraw" : "deposit", amount, taken,
                    quota.tokens);
        break;
      }
      case 2:
      case 3: {
        bool const taken = limiter.ready_at(1) <= now;
        if (taken) limiter.take(now, 1, 0);
        std::printf("send %ld %d %.17g\n", at, taken, limiter.tokens);
        break;
      }
      case 4:
      case 5:
        limiter.on_throttle(now, {}, resource::unknown, 0);
        std::printf("throttle %ld %.17g %.17g\n", at, limiter.fill, limiter.measured.rate);
        break;
      default:
        limiter.on_success(now, {}, 0);
        std::printf("ok %ld %.17g %.17g\n", at, limiter.fill, limiter.measured.rate);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  return print_schedules(argc, argv, schedule);
}
