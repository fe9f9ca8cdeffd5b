/// The schema `headway1`: all that headway keeps in a database.
#pragma once

#include <string>

#include "headway/export.hpp"
#include "headway/postgres/connection.hpp"

namespace headway::postgres {

/// Returns the statements that make the schema, for psql; carried out again, they change nothing.
HEADWAY_EXPORT std::string schema_sql();

/// Makes the schema, or brings it to this revision, unless it is there. Sessions that do so at once
/// wait for each other. Throws `error`: of kind `usage` if it is of a later revision, if the role
/// may not make it, or may not use it.
HEADWAY_EXPORT void ensure_schema(connection&, endpoint const&);

}  // namespace headway::postgres
