#include "exec/printer.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>
#include <utility>

#include "folder.hpp"
#include "journal/input_order.hpp"
#include "os/file.hpp"

namespace headway::app {
namespace {

/// Our own standard output is a file of the test while it lasts.
class printer_test : public folder_test {
 protected:
  printer_test() : before_(::dup(STDOUT_FILENO)) {
    to(::open(path("out").c_str(), O_RDWR | O_CREAT, 0600));
  }
  ~printer_test() override { to(before_); }

  static void to(int fd) {
    ::dup2(fd, STDOUT_FILENO);
    ::close(fd);
  }
  static printed text(std::string words, std::string tag = "") {
    printed p;
    p.tag = std::move(tag);
    p.output.size = static_cast<std::int64_t>(words.size());
    p.output.text = std::move(words);
    return p;
  }
  /// What was printed, once the printer has ended.
  std::string out() const { return content("out"); }

 private:
  int before_;
};

TEST_F(printer_test, prints_what_comes_as_it_comes) {
  {
    printer p(false);
    p.print(2, text("b\n"));
    while (p.pending() > 0) ::poll(nullptr, 0, 1);
    p.print(1, text("a\n"));
  }
  EXPECT_EQ(out(), "b\na\n");
}

TEST_F(printer_test, keeps_the_order_and_steps_over_what_prints_nothing) {
  {
    printer p(true);
    p.print(3, text("c\n"));
    p.print(1, text("a\n"));
    while (p.pending() > 1) ::poll(nullptr, 0, 1);
    EXPECT_EQ(out(), "a\n");
    EXPECT_GT(p.pending_bytes(), 1U);
    p.skip(2);
  }
  EXPECT_EQ(out(), "a\nc\n");
}

TEST_F(printer_test, what_waits_behind_a_gap_goes_out_in_the_end) {
  {
    printer p(true);
    p.print(5, text("e\n"));
    p.print(3, text("c\n"));
    p.end();
  }
  EXPECT_EQ(out(), "c\ne\n");
}

TEST_F(printer_test, a_tag_stands_before_each_line_of_a_file_too) {
  auto const in = std::make_shared<file>(nameless_file());
  in->append("one\ntwo");
  {
    printer p(false);
    printed large;
    large.tag = "t";
    large.output = {.text = {}, .in = in, .size = 7};
    p.print(1, std::move(large));
    while (p.pending() > 0) ::poll(nullptr, 0, 1);
    p.print(2, text("three\n", "u"));
  }
  EXPECT_EQ(out(), "t\tone\nt\ttwou\tthree\n");
}

TEST_F(printer_test, knows_that_its_reader_is_gone) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  ::close(ends[0]);
  to(ends[1]);
  printer p(false);
  EXPECT_EQ(p.failure(), 0);
  p.print(1, text("a\n"));
  while (p.pending() > 0) ::poll(nullptr, 0, 1);
  EXPECT_EQ(p.failure(), EPIPE);
}

}  // namespace
}  // namespace headway::app
