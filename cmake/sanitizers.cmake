# HEADWAY_SANITIZE: a list for -fsanitize= ("address,undefined", "thread"); set by the presets.
set(HEADWAY_SANITIZE "" CACHE STRING "Sanitizers to build with")
if(HEADWAY_SANITIZE)
  add_compile_options(-fsanitize=${HEADWAY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HEADWAY_SANITIZE})
endif()
