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
