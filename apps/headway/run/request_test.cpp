#include "run/request.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "folder.hpp"
#include "pacing/test_lane.hpp"

namespace headway::app {
namespace {

struct requests_test : testing::Test {
  request made(std::string body = {}) {
    request r;
    r.where = &s;
    if (!body.empty()) r.what.body = std::move(body);
    return r;
  }

  lane s = test_lane();
  requests all;
};

TEST_F(requests_test, an_index_stays_until_it_is_forgotten) {
  auto const first = all.add(made("first"));
  auto const second = all.add(made("second"));
  auto const* const where = &all[second];
  all.forget(first);
  EXPECT_EQ(all.live(), 1U);
  EXPECT_EQ(all.add(made("third")), first);
  EXPECT_EQ(all[second].what.body, "second");
  EXPECT_EQ(&all[second], where);
  EXPECT_EQ(all[first].what.body, "third");
}

TEST_F(requests_test, are_bounded_by_number) {
  for (std::size_t i = 0; i < requests::requests_max; ++i) {
    EXPECT_FALSE(all.full());
    all.add(made());
  }
  EXPECT_TRUE(all.full());
  all.forget(7);
  EXPECT_FALSE(all.full());
}

TEST_F(requests_test, are_bounded_by_bytes_as_these_change) {
  std::string const half(requests::bytes_max / 2, 'x');
  auto const first = all.add(made(half));
  EXPECT_FALSE(all.full());
  auto const second = all.add(made(half));
  EXPECT_TRUE(all.full());
  all.reduce(second, "rest", "answer so far");
  EXPECT_FALSE(all.full());
  EXPECT_EQ(all[second].body(), "rest");
  EXPECT_EQ(all[second].so_far, "answer so far");
  EXPECT_EQ(load_of(all[second]).size.bytes, 4);
  all[second].what.url = half;
  all.weigh(second);
  EXPECT_TRUE(all.full());
  all.forget(first);
  EXPECT_FALSE(all.full());
}

TEST_F(requests_test, those_that_are_gone_are_not_asked) {
  auto const first = all.add(made("a"));
  all.add(made("b"));
  auto const is_b = [](request const& r) { return r.what.body == "b"; };
  EXPECT_FALSE(all.all(is_b));
  all.forget(first);
  EXPECT_TRUE(all.all(is_b));
  int found = 0;
  all.each(is_b, [&](std::uint32_t index) {
    ++found;
    all.forget(index);
  });
  EXPECT_EQ(found, 1);
  EXPECT_EQ(all.live(), 0U);
}

struct body_file_test : folder_test {};

TEST_F(body_file_test, is_read_whole_and_a_pipe_is_not_waited_for) {
  request r;
  std::string const content(1 << 20, 'b');
  r.what.body_file = path("body");
  std::ofstream(path("body")) << content;
  EXPECT_TRUE(r.read_body_file());
  EXPECT_EQ(r.body(), content);
  std::ofstream(path("body")) << "";
  EXPECT_TRUE(r.read_body_file());
  EXPECT_EQ(r.body(), "");
  std::filesystem::remove(path("body"));
  EXPECT_FALSE(r.read_body_file());
  ASSERT_EQ(mkfifo(path("body").c_str(), 0600), 0);
  EXPECT_FALSE(r.read_body_file());
}

}  // namespace
}  // namespace headway::app
