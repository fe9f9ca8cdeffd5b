# Precompiled headers where a room is built at a time (CMAKE_UNITY_BUILD). A missing include is found by ./dev build and ./dev test,
# which build each file by itself, not by ./dev ci.
# headway_precompile(TARGET HEADERS...), or (TARGET REUSE_FROM OTHER).
function(headway_precompile target)
  if(NOT "$CACHE{CMAKE_UNITY_BUILD}")
    return()
  endif()
  if(ARGV1 STREQUAL REUSE_FROM)
    target_precompile_headers(${target} ${ARGN})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
  target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")  # for ccache
endfunction()
