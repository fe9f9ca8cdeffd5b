/// A scope for tests: of no account, with the default law, and nothing waits in it.
#pragma once

#include "headway/law/shipped.hpp"
#include "pacing/scope.hpp"

namespace headway::app {

inline scope idle_scope() {
  return {.account = {},
          .name = {},
          .machine = {},
          .governor = traced_governor(nullptr, 0, "", shipped_laws().front(), {}),
          .book = quota_book(),
          .speaks = &profile::of_host("api.example")};
}

}  // namespace headway::app
