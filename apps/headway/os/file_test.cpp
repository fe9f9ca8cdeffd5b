#include "os/file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/fatal.hpp"
#include "base/test_error.hpp"
#include "folder.hpp"

namespace headway::app {
namespace {

struct file_test : folder_test {};

TEST_F(file_test, is_created_for_its_owner_only_and_appended_to) {
  file::results(path("r")).append("one\n");
  auto again = file::results(path("r"));
  again.append("two\n");
  again.sync();
  again.sync_name();
  EXPECT_EQ(content("r"), "one\ntwo\n");
  EXPECT_EQ(again.size(), 8);
  again.truncate(4);
  EXPECT_EQ(content("r"), "one\n");
  struct stat status {};
  ASSERT_EQ(::fstat(again.fd(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_NE(::fcntl(again.fd(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(file_test, errors_say_what_where_and_why) {
  std::filesystem::create_symlink("r", path("link"));
  struct {
    std::string path;
    int flags;
    int code;
    std::string says;
  } const rows[] = {
      {path("no/such"), O_WRONLY | O_CREAT, exit_io,
       "cannot open " + path("no/such") + ": No such file or directory"},
      {folder, O_WRONLY, exit_usage, "cannot open " + folder + ": Is a directory"},
      {path("link"), O_RDWR | O_CREAT | O_NOFOLLOW, exit_usage,
       "cannot open " + path("link") + ": Too many levels of symbolic links"},
  };
  for (auto const& row : rows) {
    auto const error = error_of([&] { file::open(row.path, row.flags); });
    EXPECT_EQ(error.code, row.code);
    EXPECT_EQ(error.what(), row.says);
  }
  auto const full = error_of([] { file::results("/dev/full").append("x"); });
  EXPECT_EQ(full.code, exit_io);
  EXPECT_STREQ(full.what(), "cannot write /dev/full: No space left on device");
}

TEST_F(file_test, appends_all_or_nothing) {
  auto f = file::results(path("r"));
  f.append("kept\n");
  auto const before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit unlimited{};
  ::getrlimit(RLIMIT_FSIZE, &unlimited);
  rlimit const limited{10, unlimited.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &limited);
  auto const error = error_of([&] { f.append("does not fit\n"); });  // 5 of its bytes do
  ::setrlimit(RLIMIT_FSIZE, &unlimited);
  std::signal(SIGXFSZ, before);
  EXPECT_EQ(error.code, exit_io);
  EXPECT_EQ(content("r"), "kept\n");
}

TEST_F(file_test, a_failed_sync_is_for_good) {
  auto f = file::results(path("r"));
  int const good = ::dup(f.fd());
  ::close(f.fd());
  EXPECT_EQ(error_of([&] { f.sync(); }).code, exit_io);
  ::dup2(good, f.fd());
  ::close(good);
  EXPECT_EQ(error_of([&] { f.sync(); }).code, exit_io);
  EXPECT_EQ(error_of([&] { f.append("x"); }).code, exit_io);
  EXPECT_EQ(content("r"), "");
}

TEST_F(file_test, a_pipe_is_neither_synced_nor_measured) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  file f(ends[1], "-");
  f.append("x");
  f.sync();
  EXPECT_FALSE(f.regular());
  EXPECT_EQ(f.size(), 0);
  ::close(ends[0]);
}

}  // namespace
}  // namespace headway::app
