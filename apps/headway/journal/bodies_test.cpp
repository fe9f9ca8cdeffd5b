#include "journal/bodies.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/fatal.hpp"
#include "folder.hpp"

namespace headway::app {
namespace {

struct bodies : folder_test {};

TEST_F(bodies, are_named_by_line_and_type) {
  EXPECT_EQ(body_path("d", 42, "application/json; charset=utf-8"), "d/00000042.json");
  EXPECT_EQ(body_path("d/", 1, "application/problem+JSON"), "d/00000001.json");
  EXPECT_EQ(body_path("d", 123456789, "Text/HTML"), "d/123456789.txt");
  EXPECT_EQ(body_path("d", 1, "image/png"), "d/00000001.bin");
  EXPECT_EQ(body_path("d", 1, ""), "d/00000001.bin");
}

TEST_F(bodies, are_there_whole_and_for_their_owner_only) {
  auto const inside = folder + "/inside";
  make_body_folder(inside + "/");
  make_body_folder(inside);
  struct stat about {};
  ::stat(inside.c_str(), &about);
  EXPECT_EQ(about.st_mode & 0777, 0700U);

  for (auto const* content : {"first", "second"}) {
    std::array const both{kept_body{inside + "/1.txt", content}, kept_body{inside + "/2.bin", {}}};
    write_bodies(both, true);
    std::ifstream in(inside + "/1.txt");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), content);
  }
  ::stat((inside + "/1.txt").c_str(), &about);
  EXPECT_EQ(about.st_mode & 0777, 0600U);
  auto const files = std::filesystem::directory_iterator(inside);
  EXPECT_EQ(std::distance(begin(files), end(files)), 2);

  EXPECT_THROW(make_body_folder(inside + "/1.txt"), fatal);
  EXPECT_THROW(make_body_folder(inside + "/no/such"), fatal);
  EXPECT_THROW(make_body_folder("\xff"), fatal);
}

TEST_F(bodies, that_are_another_runs_stay) {
  EXPECT_EQ(body_files(folder + "/none", 0).in_the_way(1, ""), "");
  body_files const afresh(folder, 0);
  for (auto const* const name : {"00000002.txt", "a"}) std::ofstream(path(name)) << "other";
  EXPECT_EQ(afresh.in_the_way(2, ""), "");  // there was nothing at all
  body_files const files(folder, 3);
  EXPECT_EQ(files.in_the_way(2, ""), "");
  EXPECT_EQ(files.in_the_way(3, "a"), "");
  EXPECT_EQ(files.in_the_way(4, "a"), path("a"));
  EXPECT_EQ(files.in_the_way(4, "b"), "");
  EXPECT_EQ(body_files(folder + "/", 1).in_the_way(2, ""), path("00000002.txt"));

  std::array const first{kept_body{path("a"), "ours", true}};
  EXPECT_THROW(write_bodies(first, true), fatal);
  EXPECT_EQ(content("a"), "other");
  write_bodies(std::array{kept_body{path("a"), "ours", false}}, true);
  EXPECT_EQ(content("a"), "ours");
  write_bodies(std::array{kept_body{path("b"), "ours", true}}, true);
  EXPECT_EQ(content("b"), "ours");
  EXPECT_FALSE(std::filesystem::exists(path("b.new")));
}

}  // namespace
}  // namespace headway::app
