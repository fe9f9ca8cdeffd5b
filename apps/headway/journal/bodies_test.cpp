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

}  // namespace
}  // namespace headway::app
