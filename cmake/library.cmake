# What each component of the library is called and made of; the targets themselves are in src/. A component is what has
# a target headway_<name>.
set(headway_components core http shared fleet sim postgres blocking asio)
foreach(component IN LISTS headway_components)
  if(NOT TARGET headway_${component})
    list(REMOVE_ITEM headway_components ${component})
  endif()
endforeach()

# Every header belongs to one component: to that of its folder, those of driver/ to blocking or asio, all others to
# core.
file(GLOB_RECURSE headers_of_core CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} include/*.hpp)
function(headway_headers component regex)  # moves those that match from core to `component`, if that is built
  set(rest ${headers_of_core})
  set(its ${headers_of_core})
  list(FILTER its INCLUDE REGEX "^include/headway/${regex}")
  list(FILTER rest EXCLUDE REGEX "^include/headway/${regex}")
  if(component IN_LIST headway_components)
    set(headers_of_${component} ${its} PARENT_SCOPE)
    set(headers_of_core ${rest} PARENT_SCOPE)
  endif()
endfunction()
headway_headers(http "http/")
headway_headers(fleet "fleet/")
headway_headers(postgres "postgres/")
headway_headers(sim "sim/")
headway_headers(asio "driver/([a-z_]+_)?asio")
headway_headers(shared "shared/")
headway_headers(blocking "driver/")

foreach(component IN LISTS headway_components)
  set(target headway_${component})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    set(scope INTERFACE)
  else()
    set(scope PUBLIC)
    # Before 1.0 a minor version may break the binary interface.
    set_target_properties(${target} PROPERTIES
      OUTPUT_NAME headway-${component}
      VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
      CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  endif()
  target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS include FILES ${headers_of_${component}})
  get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  if(links)  # warnings are ours alone, not those of users that link a static library
    list(REMOVE_ITEM links "$<LINK_ONLY:headway_warnings>")
    set_property(TARGET ${target} PROPERTY INTERFACE_LINK_LIBRARIES ${links})
  endif()
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${component}
    VERIFY_INTERFACE_HEADER_SETS ${HEADWAY_TESTS})  # each public header compiles alone
endforeach()

# The core as a single header: the same code, everything inline.
if(HEADWAY_INSTALL)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(single_header ${PROJECT_BINARY_DIR}/amalgamated/headway.hpp)
  get_target_property(single_sources headway_core SOURCES)
  list(FILTER single_sources INCLUDE REGEX "\\.cpp$")
  add_custom_command(OUTPUT ${single_header}
    COMMAND Python3::Interpreter -B ${PROJECT_SOURCE_DIR}/cmake/amalgamate.py ${PROJECT_VERSION} ${single_header}
            ${single_sources}
    DEPENDS ${PROJECT_SOURCE_DIR}/cmake/amalgamate.py ${headers_of_core} ${single_sources}
    VERBATIM)
  add_custom_target(headway_amalgamated ALL DEPENDS ${single_header})
endif()
