# What is installed of the command: itself, its scenarios, its man page, its completions.
set(HEADWAY_ZSH_COMPLETIONS ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING "Where zsh looks for completions")
install(TARGETS headway RUNTIME COMPONENT tools)
install(DIRECTORY scenarios/ DESTINATION ${CMAKE_INSTALL_DATADIR}/headway/scenarios COMPONENT tools
  FILES_MATCHING PATTERN "*.toml" PATTERN "golden" EXCLUDE)
install(DIRECTORY ${PROJECT_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT tools
  PATTERN "zsh" EXCLUDE)
install(FILES ${PROJECT_BINARY_DIR}/share/zsh/site-functions/_headway DESTINATION ${HEADWAY_ZSH_COMPLETIONS}
  COMPONENT tools)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/systemd/headway-proxy.service DESTINATION lib/systemd/user COMPONENT tools)
