# What is installed of the command: itself, its scenarios, its man pages, its completions.
install(TARGETS headway RUNTIME COMPONENT tools)
install(DIRECTORY scenarios/ DESTINATION ${CMAKE_INSTALL_DATADIR}/headway/scenarios COMPONENT tools
  FILES_MATCHING PATTERN "*.toml" PATTERN "golden" EXCLUDE)
install(DIRECTORY ${PROJECT_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT tools)
