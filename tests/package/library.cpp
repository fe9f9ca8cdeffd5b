#include <headway/driver/blocking.hpp>
#include <headway/driver/timer_slack.hpp>
#include <headway/headway.hpp>
#include <headway/http/advice.hpp>

bool parts(headway::any_law const& reno) {
  headway::any_governor const governor({}, reno);
  headway::http::field const fields[] = {{"Retry-After", "7"}};
  auto const advice = headway::http::advice_of(fields, {});
  headway::throttled api;
  headway::blocking::timer_slack const slack;
  auto const answer =
      api.scope("one")->call([] { return 7; }, [](int) { return headway::outcome::success; });
  return governor.law_state() == reno && advice.retry_after == std::chrono::seconds(7) &&
         answer == 7;
}
