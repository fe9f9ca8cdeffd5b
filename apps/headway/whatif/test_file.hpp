#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace headway::app {

/// A file of the running test, gone with it.
struct temporary {
  std::string path = testing::TempDir() + "whatif_test." +
                     testing::UnitTest::GetInstance()->current_test_info()->name();
  explicit temporary(std::string_view more = "") { path += more; }
  ~temporary() { std::remove(path.c_str()); }

  std::string read() const {
    std::ostringstream all;
    all << std::ifstream(path).rdbuf();
    return all.str();
  }
  void write(std::string_view text) const { std::ofstream(path) << text; }
};

}  // namespace headway::app
