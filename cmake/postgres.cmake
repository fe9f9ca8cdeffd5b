# HEADWAY_FLEET: what many hosts share, in PostgreSQL. Not asked for, it is built where libpq is.
if(NOT DEFINED HEADWAY_FLEET AND NOT PROJECT_IS_TOP_LEVEL)
  set(HEADWAY_FLEET OFF)
endif()
if(NOT DEFINED HEADWAY_FLEET)  # not cached: libpq may come later
  find_package(PostgreSQL QUIET)
  set(HEADWAY_FLEET ${PostgreSQL_FOUND})
  if(NOT HEADWAY_FLEET)
    message(STATUS "HEADWAY_FLEET=OFF, for there is no libpq (Debian: libpq-dev): many hosts share no limit")
  endif()
elseif(HEADWAY_FLEET)
  find_package(PostgreSQL)
  if(NOT PostgreSQL_FOUND)
    message(FATAL_ERROR "HEADWAY_FLEET=ON needs libpq (Debian: libpq-dev)")
  endif()
endif()

# Sets `header` to one that has the parts of the schema, in this order, as the server is to read them.
function(headway_schema revision header)
  set(text "")
  foreach(part schema limit queue rights)
    set(path ${PROJECT_SOURCE_DIR}/src/postgres/${part}.sql)
    if(EXISTS ${path})
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
      file(READ ${path} sql)
      string(APPEND text "R\"sql(${sql})sql\"\n")
    endif()
  endforeach()
  string(CONFIGURE "${text}" text @ONLY)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/postgres/schema_parts.hpp @ONLY CONTENT
[[// Written by CMake from src/postgres/*.sql.
#pragma once

#include <string_view>

namespace headway::postgres {

inline constexpr int schema_revision = @revision@;
inline constexpr std::string_view schema_parts = @text@;

}  // namespace headway::postgres
]])
  set(${header} ${CMAKE_CURRENT_BINARY_DIR}/postgres/schema_parts.hpp PARENT_SCOPE)
endfunction()
