/// What an action throws, for a test; code 0 and no words if nothing.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/fatal.hpp"

namespace headway::app {

fatal error_of(auto const& act) {
  try {
    act();
  } catch (fatal const& error) {
    return error;
  }
  return {0, ""};
}

/// … of what the user gave.
std::string usage_error_of(auto const& act) {
  auto const error = error_of(act);
  EXPECT_TRUE(error.code == exit_usage || error.code == 0) << error.what();
  return error.what();
}

}  // namespace headway::app
