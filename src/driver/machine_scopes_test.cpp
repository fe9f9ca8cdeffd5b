#include "headway/driver/machine_scopes.hpp"

#include <gtest/gtest.h>

#include <string>
#include <system_error>

#include "folder.hpp"
#include "headway/driver/blocking.hpp"

namespace headway {
namespace {

namespace fs = std::filesystem;

class machine_scopes_test : public folder_test {
 protected:
  machine_scopes of(std::string key) const {
    return {.key = std::move(key), .folder = folder + "/headway"};
  }
  std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(folder + "/headway"), fs::directory_iterator());
  }
};

template <class Line>
bool may_go(Line& line) {
  return line.try_call([] {}, [] { return outcome::success; }, {.deadline = steady_now() + 10ms})
      .has_value();
}

TEST_F(machine_scopes_test, what_holds_a_scope_holds_it_wherever_it_is_shared) {
  basic_throttled one(of("k"));
  basic_throttled other(of("k"));
  basic_throttled another(of("another key"));
  one.scope("bucket")->hold(steady_now() + 10min);
  EXPECT_FALSE(may_go(*one.scope("bucket")));
  EXPECT_FALSE(may_go(*other.scope("bucket")));
  EXPECT_TRUE(may_go(*other.scope("another bucket")));
  EXPECT_TRUE(may_go(*another.scope("bucket")));
  EXPECT_TRUE(may_go(other));
}

TEST_F(machine_scopes_test, a_call_without_a_scope_shares_with_a_machine_governor) {
  basic_throttled api(of("k"));
  blocking::shared_governor single(machine_governor("k", {}, {}, folder + "/headway"));
  single.hold(steady_now() + 10min);
  EXPECT_FALSE(may_go(api));
}

TEST_F(machine_scopes_test, a_scope_that_is_evicted_leaves) {
  auto fast = of("k");
  fast.law.level = seek::rate_max;  // one that owes its pace would stay
  basic_throttled api(fast, 2);
  for (auto const* bucket : {"a", "b", "c"}) EXPECT_TRUE(may_go(*api.scope(bucket)));
  EXPECT_EQ(files(), 3) << "two scopes, and the one without a name";
}

TEST_F(machine_scopes_test, what_cannot_be_shared_goes_on_alone_and_is_told) {
  auto nowhere = of("k");
  nowhere.folder = "/proc/headway";
  std::string told;
  nowhere.alone = [&](std::string_view scope, std::runtime_error const& why) {
    EXPECT_NE(dynamic_cast<std::system_error const*>(&why), nullptr);
    told.append("[").append(scope).append("]");
  };
  basic_throttled api(nowhere);
  EXPECT_TRUE(may_go(*api.scope("bucket")));
  EXPECT_EQ(told, "[][bucket]");
}

TEST_F(machine_scopes_test, one_more_process_than_the_most_goes_on_alone) {
  auto const make = of("k");
  std::vector<machine_governor> all;
  for (int i = 0; i < machine_pace::members_max; ++i) {
    all.push_back(make("bucket"));
    EXPECT_TRUE(all.back().shared());
  }
  EXPECT_FALSE(make("bucket").shared());
}

}  // namespace
}  // namespace headway
