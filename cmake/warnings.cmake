# Warnings are errors only where headway is the top project: a user's newer compiler must not fail on ours.
add_library(headway_warnings INTERFACE)
target_compile_options(headway_warnings INTERFACE
  -Wall -Wextra -Wpedantic
  -Wconversion        # nanoseconds and counts must not narrow silently
  -Wshadow            # a second `now` in a scope is how time travels
  $<$<CXX_COMPILER_ID:Clang>:-Wno-unneeded-internal-declaration>  # a defaulted == that only a concept asks for
  $<$<BOOL:${PROJECT_IS_TOP_LEVEL}>:-Werror>)
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(headway_warnings INTERFACE -Wno-shadow -Wno-subobject-linkage)  # of one file by another
endif()
