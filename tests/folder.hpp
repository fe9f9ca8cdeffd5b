/// A test with a folder of its own, which goes with it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace headway {

class folder_test : public testing::Test {
 protected:
  folder_test() { make_folder(); }
  ~folder_test() override { std::filesystem::remove_all(folder); }

  /// A new one, instead of what there is.
  void make_folder(std::filesystem::path const& in = std::filesystem::temp_directory_path()) {
    if (!folder.empty()) std::filesystem::remove_all(folder);
    folder = (in / "headway-XXXXXX").string();
    mkdtemp(folder.data());
  }
  std::string path(char const* name) const { return folder + "/" + name; }
  std::string content(char const* name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string folder;
};

}  // namespace headway
