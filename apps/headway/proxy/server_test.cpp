#include "proxy/server.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace headway::app::proxy {
namespace {

struct request final : waiter {
  void on_turn(time_point) override { ++turns; }
  void on_refused(refusal r) override { refused = std::move(r); }

  int turns = 0;
  std::optional<refusal> refused{};
};

/// A server of the proxy, and the key of its one limit; nothing listens there.
struct api {
  explicit api(std::optional<std::string> rate = {}) {
    settings.name = "api";
    settings.url = settings.origin = "http://127.0.0.1:9";
    settings.words.law = "fixed";
    settings.words.rate = std::move(rate);
    settings.cold = settings.alone = true;
    it = std::make_shared<server>(io, settings);
    key.origin = key.url = settings.url;
  }

  asio::io_context io{};
  upstream_config settings{};
  std::shared_ptr<server> it{};
  lane_key key{};  // of the settings' words
};

// A client that left after one refusal made each later restart one that had lasted since then.
TEST(server, counts_an_absence_from_its_own_beginning) {
  api behind;
  auto const refuse = [&](time_point now, request& r) {
    EXPECT_FALSE(behind.it->join(now, r, behind.key));
    EXPECT_EQ(r.turns, 1);
    behind.it->refused_connection(now, r, "refused", true);
  };
  auto const now = clock_now();
  request first, second;
  refuse(now, first);
  EXPECT_FALSE(first.refused);
  behind.it->leave(now, first);
  refuse(now + 6h, second);
  EXPECT_FALSE(second.refused);
  behind.it->leave(now + 6h, second);
}

// It took the turns of its first tenths of a second for those of ten.
TEST(server, that_has_just_begun_foretells_a_turn_by_the_turns_since) {
  api behind("20/s");
  auto now = clock_now();
  std::vector<request> crowd(30);
  for (auto& r : crowd) EXPECT_FALSE(behind.it->join(now, r, behind.key));
  std::map<std::string_view, duration> where;
  for (int i = 0; i < 8; ++i) behind.it->tick(now += 50ms, where);
  request hasty, patient;
  for (auto* r : {&hasty, &patient}) r->told_patience = true;
  hasty.deadline = now + 500ms;
  patient.deadline = now + 3s;
  EXPECT_TRUE(behind.it->join(now, hasty, behind.key));
  EXPECT_FALSE(behind.it->join(now, patient, behind.key));
  behind.it->leave(now, patient);
  for (auto& r : crowd) behind.it->leave(now, r);
}

}  // namespace
}  // namespace headway::app::proxy
