# HEADWAY_SANITIZE: a list for -fsanitize= ("address,undefined", "thread"); set by the presets.
set(HEADWAY_SANITIZE "" CACHE STRING "Sanitizers to build with")
if(HEADWAY_SANITIZE)
  add_compile_options(-fsanitize=${HEADWAY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HEADWAY_SANITIZE})
endif()

# What is compiled for longer than it runs is not optimised for the sanitizers' tests.
if(HEADWAY_SANITIZE AND NOT HEADWAY_FUZZ)
  set(headway_unoptimised -O0)
endif()

# Where a file is compiled for longer than it runs. The other builds find a missing include. HEADERS, or REUSE_FROM TARGET.
function(headway_precompile target)
  if(HEADWAY_SANITIZE)
    if(ARGV1 STREQUAL REUSE_FROM)
      target_precompile_headers(${target} ${ARGN})
    else()
      target_precompile_headers(${target} PRIVATE ${ARGN})
    endif()
    target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")  # for ccache
  endif()
endfunction()
