# HEADWAY_WEB: the pages. npm fetches uPlot (pinned in web/package-lock.json) into the build folder.
find_program(NPM_PROGRAM npm)
find_program(NODE_PROGRAM NAMES node nodejs)
if(NOT DEFINED HEADWAY_WEB)  # not cached: npm may come later
  if(NPM_PROGRAM AND NODE_PROGRAM)
    set(HEADWAY_WEB ON)
  else()
    set(HEADWAY_WEB OFF)
    message(STATUS "HEADWAY_WEB=OFF, for there is no npm (Debian: nodejs npm): headway simulate gets no --report")
  endif()
elseif(HEADWAY_WEB AND NOT (NPM_PROGRAM AND NODE_PROGRAM))
  message(FATAL_ERROR "HEADWAY_WEB=ON needs npm and node (Debian: nodejs npm)")
endif()

# Fetches what `from`/package-lock.json pins into `into`/node_modules; `installed` is the file that says so.
function(headway_npm_ci from into installed)
  file(MAKE_DIRECTORY ${into})
  set(done ${into}/node_modules/.package-lock.json)
  add_custom_command(OUTPUT ${done}
    COMMAND ${CMAKE_COMMAND} -E copy ${from}/package.json ${from}/package-lock.json ${into}
    COMMAND ${NPM_PROGRAM} ci --silent --no-audit --no-fund --ignore-scripts --omit=optional
    COMMAND ${CMAKE_COMMAND} -E touch ${done}
    DEPENDS ${from}/package.json ${from}/package-lock.json
    WORKING_DIRECTORY ${into} COMMENT "Fetching what ${from} pins (npm ci)" VERBATIM)
  set(${installed} ${done} PARENT_SCOPE)
endfunction()

# Sets `source` to the C++ source of NAME_page (base/web_page.hpp), made of web/NAME.*.
function(headway_web_page name source)
  set(web ${PROJECT_SOURCE_DIR}/web)
  set(built ${PROJECT_BINARY_DIR}/web)
  set(page ${built}/${name}_page.cpp)
  if(NOT HEADWAY_WEB)
    set(page ${built}/no_${name}_page.cpp)
    file(CONFIGURE OUTPUT ${page} CONTENT [[#include "base/web_page.hpp"
namespace headway::app {
extern web_page const @name@_page;
web_page const @name@_page{};
}
]] @ONLY)
  else()
    headway_npm_ci(${web} ${built} installed)
    add_custom_command(OUTPUT ${page}
      COMMAND ${NODE_PROGRAM} ${web}/build.mjs ${built}/node_modules ${name} ${page}
      DEPENDS ${installed} ${web}/build.mjs ${web}/common.css ${web}/common.js
        ${web}/${name}.html ${web}/${name}.css ${web}/${name}.js
      COMMENT "Inlining the page of ${name}" VERBATIM)
  endif()
  set(${source} ${page} PARENT_SCOPE)
endfunction()
