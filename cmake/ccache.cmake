# ccache where it works: a home that cannot be written would fail every compilation.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(probe ${CMAKE_BINARY_DIR}/CMakeFiles/ccache_probe.cpp)
  file(WRITE ${probe} "")
  execute_process(COMMAND ${CCACHE_PROGRAM} ${CMAKE_CXX_COMPILER} -c ${probe} -o ${probe}.o
                  RESULT_VARIABLE ccache_failed OUTPUT_QUIET ERROR_QUIET)
  if(NOT ccache_failed)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
    if(HEADWAY_SANITIZE)  # there are precompiled headers, which ccache takes when told so
      list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros)
    endif()
  endif()
endif()
