#include "headway/postgres/schema.hpp"

#include "schema_parts.hpp"

namespace headway::postgres {
namespace {

/// The revision that is there; 0: there is none, or nothing in a schema of that name.
std::int64_t revision_of(connection& database, endpoint const& where) {
  // Of what is in it, whether or not this role may use it.
  auto const has = [&](std::string const& kind, std::string const& which) {
    return database
               .execute("select exists(select from pg_" + kind +
                        " a join pg_namespace n on n.oid = a." + which +
                        " and n.nspname = 'headway1')")
               .number(0, 0) != 0;
  };
  // Ours is made as one: where anything of it is seen, its revision is there by the next question.
  if (!has("class", "relnamespace") && !has("proc", "pronamespace")) return 0;
  if (has("proc", "pronamespace and a.proname = 'revision'"))
    return database.execute("select headway1.revision()").number(0, 0);
  throw error(failure::usage, "",
              "database " + where.name() +
                  ": it has a schema headway1 that is not of headway: rename that, or give "
                  "another database");
}

}  // namespace

std::string schema_sql() {
  return "begin;\n" + std::string(schema_parts) + "commit;\n";
}

void ensure_schema(connection& database, endpoint const& where) {
  auto const there = revision_of(database, where);
  if (there > schema_revision)
    throw error(failure::usage, "",
                "database " + where.name() + ": its schema headway1 has revision " +
                    std::to_string(there) + ", this headway knows " +
                    std::to_string(schema_revision) + ": use the same headway on all hosts");
  if (there < schema_revision) database.script(std::string(schema_parts));
}

}  // namespace headway::postgres
