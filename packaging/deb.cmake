# cpack -G DEB: libheadway0.1 (the shared libraries), libheadway-dev, headway (the command). ./dev package builds them.
set(soname ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(deb_runtime libheadway${soname})
set(deb_development libheadway-dev)
set(deb_tools headway)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME headway)
set(CPACK_PACKAGE_CONTACT "The headway authors <headway@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL runtime development tools)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/src)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")

set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "calls rate-limited APIs as fast as they let it: shared libraries
 Policies, governor and drivers for programs that call an API whose limit
 they do not know.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "calls rate-limited APIs as fast as they let it: for developers
 Headers, CMake package, pkg-config files and the core as a single header.")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "calls rate-limited APIs as fast as they let it: the command
 Does a file of HTTP requests, each once, with a journal that survives any
 crash; mocks and simulates servers that throttle.")

set(same_version "${deb_runtime} (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${same_version}, libstdc++-12-dev | libstdc++-dev")
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "${same_version}")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION utils)

# Beside the scripts that CPack writes, which call ldconfig: Debian's way to have it called.
set(control ${PROJECT_BINARY_DIR}/deb)
file(WRITE ${control}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${control}/triggers)

string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # or SOURCE_DATE_EPOCH
file(WRITE ${control}/changelog
"headway (${PROJECT_VERSION}) unstable; urgency=medium

  * CHANGELOG.md of the source says what is new.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
find_program(HEADWAY_GZIP gzip REQUIRED)
execute_process(COMMAND ${HEADWAY_GZIP} -9nf ${control}/changelog COMMAND_ERROR_IS_FATAL ANY)
install(CODE "execute_process(COMMAND_ERROR_IS_FATAL ANY
  COMMAND ${HEADWAY_GZIP} -9nf \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/man/man1/headway.1)"
  COMPONENT tools)

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${deb_${component}})
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${deb_${component}} RENAME copyright
    COMPONENT ${component})
  install(FILES ${control}/changelog.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${deb_${component}}
    COMPONENT ${component})
endforeach()
include(CPack)
