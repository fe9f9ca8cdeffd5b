#include <headway/postgres/connection.hpp>

bool postgres_parts() {
  try {
    headway::postgres::connection const none(
        headway::postgres::endpoint("postgresql:///x?host=/nonexistent"));
  } catch (headway::postgres::error const& e) {
    return e.kind == headway::postgres::failure::unavailable;
  }
  return false;
}
