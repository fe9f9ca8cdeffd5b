# Installs the library for find_package and pkg-config. Packages by component: runtime, development, tools.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/headway)
set(generated ${PROJECT_BINARY_DIR}/install)

# From the folder of what is installed to the prefix, so that the tree may be moved.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(pkgconfig_prefix ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" pkgconfig_prefix "\${pcfiledir}/${up}")
endif()

set(about_core "the standard library only: no threads, no I/O, no clock")
set(about_http "what an HTTP response says about the limit")
set(about_shared "a pace that several processes share")
set(about_fleet "one limit for many hosts: its state, and its members")
set(about_postgres "what hosts share, in PostgreSQL")
set(about_sim "servers and laws under virtual time")
set(about_blocking "the governor for threads")
set(about_asio "the governor for Asio")

foreach(component IN LISTS headway_components)
  set(target headway_${component})
  install(TARGETS ${target} EXPORT headway-${component}
    LIBRARY COMPONENT runtime NAMELINK_COMPONENT development
    ARCHIVE COMPONENT development
    FILE_SET HEADERS COMPONENT development)
  install(EXPORT headway-${component} NAMESPACE headway:: DESTINATION ${config_folder} COMPONENT development)

  # What it links, as find_package and pkg-config call it.
  get_target_property(type ${target} TYPE)
  get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  set(requires_${component} "")  # our components
  set(finds_${component} "")     # packages of others
  set(libs "")
  if(links MATCHES "Threads::Threads")
    set(finds_${component} Threads)
    set(libs " -pthread")
  endif()
  if(links MATCHES "Boost::")
    list(APPEND finds_${component} Boost)
  endif()
  if(links MATCHES "PostgreSQL::")
    list(APPEND finds_${component} PostgreSQL)
    string(APPEND libs " -lpq")
  endif()
  foreach(other IN LISTS headway_components)
    if(links MATCHES "headway(_|::)${other}")
      list(APPEND requires_${component} ${requires_${other}} ${other})
      list(APPEND finds_${component} ${finds_${other}})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES requires_${component})
  list(REMOVE_DUPLICATES finds_${component})
  list(TRANSFORM requires_${component} PREPEND headway- OUTPUT_VARIABLE requires)
  list(JOIN requires ", " requires)
  if(NOT type STREQUAL "INTERFACE_LIBRARY")
    string(PREPEND libs " -L\${libdir} -lheadway-${component}")
  endif()
  get_target_property(flags ${target} INTERFACE_COMPILE_OPTIONS)
  if(flags)
    list(JOIN flags " " flags)
  else()
    set(flags "")
  endif()
  set(about ${about_${component}})
  configure_file(cmake/headway.pc.in ${generated}/headway-${component}.pc @ONLY)
  install(FILES ${generated}/headway-${component}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT development)
endforeach()

set(dependencies "")
foreach(component IN LISTS headway_components)
  string(APPEND dependencies "set(headway_requires_${component} ${requires_${component}})\n"
                             "set(headway_finds_${component} ${finds_${component}})\n")
endforeach()
configure_package_config_file(cmake/headway-config.cmake.in ${generated}/headway-config.cmake
  INSTALL_DESTINATION ${config_folder})
write_basic_package_version_file(${generated}/headway-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${generated}/headway-config.cmake ${generated}/headway-config-version.cmake
  DESTINATION ${config_folder} COMPONENT development)
install(FILES ${single_header} DESTINATION ${CMAKE_INSTALL_DATADIR}/headway/amalgamated COMPONENT development)
