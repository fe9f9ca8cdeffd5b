#include "run/run_files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "base/test_error.hpp"
#include "folder.hpp"
#include "os/file.hpp"

namespace headway::app {
namespace {

namespace fs = std::filesystem;

struct run_files_test : folder_test {
  run_files_test() {
    for (auto const* const name : {"jobs", "key", "out", "journal"})
      std::ofstream(path(name)) << name;
    o.jobs = path("jobs");
    o.out = path("out");
    o.journal = path("journal");
    o.state = path("state");
    o.headers = {"@" + path("key")};
  }
  std::string problem() const {
    return usage_error_of([&] { files_of(o); });
  }
  static std::string quoted(std::string const& p) { return '"' + p + '"'; }

  run_options o;
};

TEST_F(run_files_test, that_differ_are_fine) {
  o.trace = path("trace");
  o.failed = path("failed");
  o.out_dir = folder;  // JOBS and all are in it
  EXPECT_NO_THROW(files_of(o));
  o.trace = "/dev/null";
  o.out = "/dev/null";
  EXPECT_NO_THROW(files_of(o));
}

TEST_F(run_files_test, by_every_name_of_theirs) {
  fs::create_symlink(path("jobs"), path("link"));
  fs::create_hard_link(path("jobs"), path("hard"));
  fs::create_directory_symlink(folder, path("here"));
  for (std::string const name : {"jobs", "./jobs", "link", "hard", "here/jobs", "here/link"}) {
    o.trace = folder + "/" + name;
    EXPECT_EQ(problem(), "--trace " + quoted(o.trace) + " would overwrite JOBS");
  }
}

TEST_F(run_files_test, that_are_not_there_yet) {
  fs::create_directory_symlink(folder, path("here"));
  fs::create_symlink("later", path("dangling"));
  for (std::string const name : {"later", "here/later", "dangling"}) {
    o.trace = path("later");
    o.failed = folder + "/" + name;
    EXPECT_EQ(problem(), "--failed " + quoted(o.failed) + " would overwrite what --trace writes");
    o.failed = folder + "/" + name + "2";
    EXPECT_EQ(problem(), "");
  }
}

TEST_F(run_files_test, every_pair_of_which_one_is_written) {
  using field = std::string run_options::*;
  std::vector<std::pair<char const*, field>> const written = {
      {"--out", &run_options::out},       {"--journal", &run_options::journal},
      {"--state", &run_options::state},   {"--trace", &run_options::trace},
      {"--failed", &run_options::failed}, {"--out-dir", &run_options::out_dir}};
  auto const fresh = o;
  for (auto const& [option, one] : written) {
    for (auto const& [with, other] : written) {
      if (one == other) continue;
      o = fresh;
      o.*one = o.*other = path("same");
      EXPECT_NE(problem().find("would overwrite what --"), std::string::npos) << option << with;
    }
    for (auto const* const input : {"jobs", "key"}) {
      o = fresh;
      o.*one = path(input);
      EXPECT_NE(problem().find("would overwrite"), std::string::npos) << option << input;
    }
  }
}

TEST_F(run_files_test, what_is_said_goes_to_none_of_them) {
  struct {
    int stream;
    char const* name;
    char const* expect;
  } const rows[] = {
      {STDERR_FILENO, "jobs", "standard error would be written to JOBS "},
      {STDERR_FILENO, "out", "standard error would be written to what --out writes, "},
      {STDOUT_FILENO, "jobs", "standard output would be written to JOBS "},
      {STDERR_FILENO, "log", ""}};
  for (auto const& row : rows) {
    int const kept[] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
    file const taken(open(path(row.name).c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600), row.name);
    dup2(taken.fd(), row.stream);
    auto const said = problem();
    auto const left = file_identity::of_descriptor(STDERR_FILENO);
    dup2(kept[0], STDOUT_FILENO), dup2(kept[1], STDERR_FILENO);
    close(kept[0]), close(kept[1]);
    auto const text = std::string_view(row.expect);
    EXPECT_EQ(said,
              text.empty() ? "" : row.expect + quoted(path(row.name)) + "; want another file");
    EXPECT_EQ(left == file_identity::of(path(row.name)),
              row.stream == STDERR_FILENO && text.empty());
  }
}

TEST_F(run_files_test, what_stands_beside_them) {
  for (auto const* const suffix : {"-wal", "-shm", "-mark", "-journal"}) {
    o.trace = o.journal + suffix;
    EXPECT_NE(problem(), "") << suffix;
  }
  o.trace = o.state + ".new";
  EXPECT_NE(problem(), "");
  o.trace = "";
  o.failed = path("failed");
  fs::rename(path("jobs"), path("failed.new"));
  o.jobs = path("failed.new");
  EXPECT_NE(problem(), "");
  o.failed = "";
  o.out = "-";
  o.jobs = o.journal + ".results.jsonl";
  EXPECT_NE(problem(), "");
}

TEST_F(run_files_test, names_of_bodies) {
  o.out_dir = path("bodies");
  for (auto const* const name : {"00000001.json", "00000002.txt.new", "123456789.bin"}) {
    o.trace = o.out_dir + "/" + name;
    EXPECT_NE(problem(), "") << name;
  }
  for (auto const* const name : {"1.json", "00000001.csv", "trace"}) {
    o.trace = o.out_dir + "/" + name;
    EXPECT_EQ(problem(), "") << name;
  }
}

TEST_F(run_files_test, a_body_file_that_is_written) {
  o.trace = path("trace");
  o.out_dir = path("bodies");
  fs::create_hard_link(path("out"), path("body"));
  auto const all = files_of(o);
  EXPECT_EQ(all.written_by(path("body")), "--out");
  EXPECT_EQ(all.written_by(path("trace")), "--trace");
  EXPECT_EQ(all.written_by(path("bodies/00000001.bin")), "--out-dir");
  EXPECT_EQ(all.written_by(path("jobs")), "");
}

}  // namespace
}  // namespace headway::app
