#include "pacing/page_tape.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "headway/law/shipped.hpp"
#include "headway/random.hpp"
#include "headway/shared/paged_pace.hpp"

namespace headway::app {
namespace {

/// What several members have in common.
struct store {
  page::version version = 0;
  common_pace value{};
  std::array<bool, common_pace::members_max> taken{};
};

class stored_page final : public page {
 public:
  stored_page(store& in, int seat) : store_(in), seat_(seat) { store_.taken.at(index()) = true; }
  ~stored_page() override { store_.taken.at(index()) = false; }
  version latest() const noexcept override { return store_.version; }
  bool read(version& seen, common_pace& value) const noexcept override {
    seen = store_.version;
    value = store_.value;
    return seen != 0;
  }
  bool publish(version& seen, common_pace const& value) noexcept override {
    if (seen != store_.version) return false;
    store_.value = value;
    seen = ++store_.version;
    return true;
  }
  int seat() const noexcept override { return seat_; }
  bool taken(int seat) const noexcept override {
    return store_.taken[static_cast<std::size_t>(seat)];
  }
  bool inherited() const noexcept override { return false; }
  std::unique_ptr<page> join_anew() const noexcept override { return nullptr; }
  time_point now() const noexcept override { return time_point(99s); }

 private:
  std::size_t index() const noexcept { return static_cast<std::size_t>(seat_); }
  store& store_;
  int seat_;
};

/// What a member does, and what it sees then.
struct step {
  int what = 0;
  time_point at{};
  fraction u = 0;
  std::string heard{};  // of its page

  std::string act(paged_pace& p) const {
    std::string seen;
    if (what == 0) p.refresh(at, static_cast<int>(u % 3), u % 2 == 0 ? 1 : 0);
    if (what == 1 && p.claim(at, 1, u)) {
      auto const s = p.take(at, 1, u);
      seen += std::to_string(s.in_flight) + " " + std::to_string(s.epoch) + " ";
    }
    if (what == 2) p.on_throttle(at, {.sent = {.sent = at - 1ms}}, resource::unknown, u);
    if (what == 3) p.on_success(at, {.sent = {.sent = at - 1ms}, .rtt = 1ms}, u);
    if (what == 4) p.on_hint(at, {.retry_after = 3ms});
    return seen + std::to_string(p.ready_at(1).time_since_epoch().count()) + " " +
           std::to_string(p.allowed()) + " " +
           std::to_string(p.held_until().time_since_epoch().count());
  }
};

TEST(page_tape, a_pace_acts_the_same_on_what_its_page_answered) {
  store common;
  auto const law = shipped_law_named("seek")->law;
  auto tape = std::make_shared<page_tape>();
  paged_pace traced(
      std::make_unique<recording_page>(std::make_unique<stored_page>(common, 3), tape), law, 15min);
  auto const joined = tape->take();
  auto other = std::make_unique<paged_pace>(std::make_unique<stored_page>(common, 5), law, 15min);
  rng chance(42);
  std::vector<std::pair<step, std::string>> steps;
  auto now = time_point(1s);
  for (int i = 0; i < 3000; ++i) {
    now += duration(static_cast<std::int64_t>(chance() % 20'000'000));
    if (i == 2000) other.reset();  // it leaves
    if (other && chance() % 3 == 0) step{static_cast<int>(chance() % 5), now, chance()}.act(*other);
    step s{static_cast<int>(chance() % 5), now, chance()};
    auto seen = s.act(traced);
    s.heard = tape->take();
    steps.emplace_back(std::move(s), std::move(seen));
  }

  auto played = std::make_shared<page_tape>();
  played->play(joined);
  paged_pace again(std::make_unique<replayed_page>(3, played), law, 15min);
  for (auto const& [s, seen] : steps) {
    played->play(s.heard);
    ASSERT_EQ(s.act(again), seen) << &s - &steps.front().first;
  }
}

TEST(page_tape, answers_that_make_no_sense_are_no_value) {
  for (auto const* const answers :
       {"1r99999999=1", "1rx", "1r0=-", "1r0=7", "1r5=1e999999,", "2x", "1r0", "1v 1v 1v"}) {
    auto tape = std::make_shared<page_tape>();
    tape->play(answers);
    paged_pace p(std::make_unique<replayed_page>(3, tape), shipped_law_named("seek")->law, 15min);
    p.refresh(time_point(1s), 0, 1);
    EXPECT_GT(p.allowed(), 0) << answers;
  }
}

}  // namespace
}  // namespace headway::app
