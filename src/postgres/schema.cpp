#include "headway/postgres/schema.hpp"

#include "schema_parts.hpp"

namespace headway::postgres {
namespace {

/// The revision that is there; 0: none, or a schema of that name without one.
std::int64_t revision_of(connection& database) {
  if (database.execute("select to_regnamespace('headway1') is not null").number(0, 0) == 0)
    return 0;
  try {
    return database.execute("select headway1.revision()").number(0, 0);
  } catch (error const& e) {
    constexpr auto no_such_function = "42883";
    if (e.sqlstate != no_such_function) throw;
    return 0;
  }
}

}  // namespace

std::string schema_sql() {
  return "begin;\n" + std::string(schema_parts) + "commit;\n";
}

void ensure_schema(connection& database, endpoint const& where) {
  auto const there = revision_of(database);
  if (there > schema_revision)
    throw error(failure::usage, "",
                "database " + where.name() + ": its schema headway1 has revision " +
                    std::to_string(there) + ", this headway knows " +
                    std::to_string(schema_revision) + ": use the same headway on all hosts");
  if (there < schema_revision) database.script(std::string(schema_parts));
}

}  // namespace headway::postgres
