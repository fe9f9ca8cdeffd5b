/// A test with a folder of its own, which goes with it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace headway {

class folder_test : public testing::Test {
 protected:
  folder_test() {
    std::string name = (std::filesystem::temp_directory_path() / "pace-XXXXXX").string();
    folder = mkdtemp(name.data());
  }
  ~folder_test() override { std::filesystem::remove_all(folder); }

  std::string folder;
};

}  // namespace headway
