#include "run/intake.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/fatal.hpp"
#include "base/url.hpp"
#include "folder.hpp"
#include "journal/recorder.hpp"

namespace headway::app {
namespace {

using numbers = std::vector<std::int64_t>;

/// A folder with a file of requests and what a run keeps beside it.
struct intake_test : folder_test {
  intake_test() {
    options.jobs = folder + "/jobs";
    options.level = durability::process;
  }

  void write(std::string_view lines) const { std::ofstream(options.jobs) << lines; }

  /// Lets a run end the lines given so.
  void earlier_run(std::vector<std::pair<std::int64_t, final_outcome>> const& ended,
                   std::int64_t intended = 0) {
    options.journal = folder + "/journal";
    intake in(options, {});
    auto results = file::results(folder + "/results");
    in.log()->start(results);
    recorder r(in.log(), std::move(results), -1);
    for (auto const& [line, how] : ended) r.finish(line, how, "{}");
    if (intended > 0) r.intend(intended);
  }

  /// The lines of all that is there now.
  static numbers lines_of(intake& in) {
    numbers lines;
    do {
      if (auto const j = in.next()) lines.push_back(j->line);
    } while (in.ready());
    return lines;
  }

  run_options options;
};

TEST_F(intake_test, gives_each_request_once) {
  write("http://a/1\n\n# comment\nhttp://a/4\n");
  intake in(options, {});
  EXPECT_EQ(in.survey().wanted, 2);
  EXPECT_EQ(in.log(), nullptr);
  EXPECT_EQ(lines_of(in), (numbers{1, 4}));
  EXPECT_TRUE(in.ended());
  EXPECT_FALSE(in.next());
}

TEST_F(intake_test, what_is_put_back_comes_first_and_is_not_counted_twice) {
  write("http://a/1\nhttp://a/2\nhttp://a/3\n");
  options.only = 2;
  intake in(options, {});
  in.put_back(*in.next());
  EXPECT_FALSE(in.ready());
  EXPECT_FALSE(in.ended());
  EXPECT_EQ(lines_of(in), (numbers{1, 2}));
  EXPECT_TRUE(in.ended());
}

TEST_F(intake_test, only_counts_what_has_ended_before_too) {
  write("http://a/1\nhttp://a/2\nhttp://a/3\n");
  earlier_run({{1, final_outcome::success}});
  options.only = 2;
  intake in(options, {});
  EXPECT_EQ(in.survey().wanted, 2);
  EXPECT_EQ(lines_of(in), numbers{2});
}

TEST_F(intake_test, leaves_out_what_has_ended_unless_it_is_to_be_done_again) {
  write("http://a/1\nhttp://a/2\nhttp://a/3\nhttp://a/4\n");
  earlier_run(
      {{1, final_outcome::success}, {2, final_outcome::failed}, {4, final_outcome::failed}});
  {
    intake in(options, {});
    EXPECT_EQ(in.before().success, 1);
    EXPECT_EQ(in.before().lost(), 2);
    EXPECT_EQ(in.reopened(), 0);
    EXPECT_EQ(lines_of(in), numbers{3});
  }
  options.again = {final_outcome::failed};
  options.only = 3;  // so line 4 stays as it is
  intake in(options, {});
  EXPECT_EQ(in.reopened(), 1);
  EXPECT_EQ(in.before().lost(), 0);
  EXPECT_EQ(lines_of(in), (numbers{2, 3}));
}

TEST_F(intake_test, knows_what_may_have_been_sent_and_must_not_be_repeated) {
  write(
      "{\"url\":\"http://a/1\",\"method\":\"POST\"}\n{\"url\":\"http://a/"
      "2\",\"method\":\"POST\"}\n");
  earlier_run({}, 2);
  intake in(options, {});
  auto const first = in.next(), second = in.next();
  EXPECT_FALSE(in.perhaps_sent(*first));
  EXPECT_TRUE(in.perhaps_sent(*second));
  auto repeatable = *second;
  repeatable.idempotency_key = "key";
  EXPECT_FALSE(in.perhaps_sent(repeatable));
}

TEST_F(intake_test, a_file_is_checked_as_a_whole_first) {
  write("http://a/1\nftp://a/2\n");
  EXPECT_THROW(intake(options, {}), fatal);
  write("# nothing\n");
  EXPECT_THROW(intake(options, {}), fatal);
}

TEST_F(intake_test, headers_go_to_the_origin_of_the_file) {
  write("http://a/1\n");
  options.headers = {"Authorization: Bearer key"};
  intake in(options, {"X-Other: 1"});
  EXPECT_EQ(in.headers().of("http://a:80").size(), 2U);
  EXPECT_EQ(in.headers().of("http://b:80").size(), 0U);
}

/// Standard input is a pipe.
struct stream_test : intake_test {
  stream_test() {
    EXPECT_EQ(::pipe(ends.data()), 0);
    kept = ::dup(STDIN_FILENO);
    ::dup2(ends[0], STDIN_FILENO);
    ::close(ends[0]);
    options.jobs = "-";
  }
  ~stream_test() override {
    ::dup2(kept, STDIN_FILENO);
    ::close(kept);
    hang_up();
  }
  void say(std::string_view text) const {
    ASSERT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void hang_up() {
    if (ends[1] >= 0) ::close(std::exchange(ends[1], -1));
  }
  /// What the poller tells it.
  static void tell(intake& in, poller& events) {
    in.watch(events, true);
    for (auto const& e : events.wait(time_point::min())) in.ready(e);
  }

  std::array<int, 2> ends{-1, -1};
  int kept = -1;
};

TEST_F(stream_test, gives_what_is_there_and_never_waits) {
  poller events;
  intake in(options, {});
  EXPECT_TRUE(in.is_stream());
  EXPECT_EQ(lines_of(in), numbers{});
  say("http://a/1\nhttp://a/2\nhttp:");
  EXPECT_EQ(lines_of(in), numbers{});  // it was not told
  tell(in, events);
  EXPECT_EQ(lines_of(in), (numbers{1, 2}));
  EXPECT_FALSE(in.ended());
  say("//a/3");
  hang_up();
  tell(in, events);
  EXPECT_EQ(lines_of(in), numbers{});
  tell(in, events);
  EXPECT_EQ(lines_of(in), numbers{3});
  EXPECT_TRUE(in.ended());
}

TEST_F(stream_test, is_watched_while_more_is_wanted) {
  poller events;
  intake in(options, {});
  EXPECT_EQ(lines_of(in), numbers{});
  in.watch(events, true);
  EXPECT_NE(events.watched(in.input().fd()), 0U);
  in.watch(events, false);
  EXPECT_EQ(events.watched(in.input().fd()), 0U);
}

TEST_F(stream_test, a_bad_line_ends_it_and_what_came_before_is_good) {
  poller events;
  intake in(options, {});
  say("http://a/1\nftp://a/2\nhttp://a/3\n");
  tell(in, events);
  EXPECT_EQ(lines_of(in), numbers{1});
  EXPECT_TRUE(in.ended());
  ASSERT_TRUE(in.failure());
  EXPECT_THROW(std::rethrow_exception(in.failure()), fatal);
}

}  // namespace
}  // namespace headway::app
