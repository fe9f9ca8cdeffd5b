#include "journal/failed_lines.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/fatal.hpp"
#include "folder.hpp"

namespace headway::app {
namespace {

class failed_lines : public folder_test {
 protected:
  std::string of(std::string_view jobs, std::vector<bool> const& wanted) const {
    std::ofstream(path("jobs"), std::ios::binary) << jobs;
    steady_file opened(file::open(path("jobs"), O_RDONLY));
    write_failed_lines(opened, wanted, path("failed"), durability::power);
    return content("failed");
  }
};

TEST_F(failed_lines, are_what_was_given) {
  std::string const jobs = "one\r\n\n two \nthree\nfour";
  EXPECT_EQ(of(jobs, {}), "");
  EXPECT_EQ(of(jobs, {false, true, false, true}), "one\r\n two \n");
  EXPECT_EQ(of(jobs, {false, false, false, false, true, true}), "three\nfour");
  EXPECT_EQ(of(jobs, {false, false, false, false, false, false, true}), "");
}

TEST_F(failed_lines, may_be_longer_than_a_block) {
  std::string const longest(1'000'000, 'x');
  EXPECT_EQ(of("a\n" + longest + "\nb\n", {false, false, true}), longest + "\n");
  EXPECT_EQ(of("a\n" + longest + "\nb\n", {false, true, false, true}), "a\nb\n");
}

TEST_F(failed_lines, are_for_their_owner_only_and_there_at_once) {
  std::ofstream(path("failed")) << "earlier";
  std::ofstream(path("failed.new")) << "left by a killed run";
  std::filesystem::permissions(path("failed.new"), std::filesystem::perms(0666));
  EXPECT_EQ(of("a\n", {false, true}), "a\n");
  struct stat about {};
  ::stat(path("failed").c_str(), &about);
  EXPECT_EQ(about.st_mode & 0777, 0600U);
  EXPECT_FALSE(std::filesystem::exists(path("failed.new")));
}

TEST_F(failed_lines, are_not_taken_from_jobs_that_were_edited) {
  std::ofstream(path("jobs"), std::ios::binary) << "a\nb\n";
  steady_file opened(file::open(path("jobs"), O_RDONLY));
  opened.block(0);
  std::ofstream(path("jobs"), std::ios::binary) << "a\nX\n";
  EXPECT_THROW(write_failed_lines(opened, {false, true}, path("failed"), durability::process),
               fatal);
  EXPECT_FALSE(std::filesystem::exists(path("failed")));
}

TEST_F(failed_lines, want_a_file_that_can_be_written) {
  EXPECT_NO_THROW(check_replaceable("--failed", path("failed")));
  EXPECT_THROW(check_replaceable("--failed", path("no/failed")), fatal);
  EXPECT_THROW(check_replaceable("--failed", folder), fatal);
  EXPECT_NO_THROW(check_folder("--out", path("out")));
  EXPECT_NO_THROW(check_folder("--out", "/dev/null"));
  EXPECT_THROW(check_folder("--out", folder), fatal);
  EXPECT_THROW(check_folder("--out", "/"), fatal);
  EXPECT_THROW(check_replaceable("--failed", "/dev/null"), fatal);
}

}  // namespace
}  // namespace headway::app
