# What is installed of the command: itself, its scenarios, its man pages, its completions.
set(manual ${PROJECT_BINARY_DIR}/manual)
install(TARGETS headway RUNTIME COMPONENT tools)
install(DIRECTORY scenarios/ DESTINATION ${CMAKE_INSTALL_DATADIR}/headway/scenarios COMPONENT tools
  FILES_MATCHING PATTERN "*.toml" PATTERN "golden" EXCLUDE)
if(NOT CMAKE_CROSSCOMPILING)
  add_custom_command(OUTPUT ${manual}/headway.bash
    COMMAND Python3::Interpreter -B ${PROJECT_SOURCE_DIR}/packaging/manual.py $<TARGET_FILE:headway>
            ${PROJECT_VERSION} ${manual}
    DEPENDS headway packaging/manual.py VERBATIM)
  add_custom_target(headway_manual ALL DEPENDS ${manual}/headway.bash)
  install(DIRECTORY ${manual}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
  install(FILES ${manual}/headway.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    RENAME headway COMPONENT tools)
endif()
