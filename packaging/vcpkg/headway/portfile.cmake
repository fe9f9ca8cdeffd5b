# An overlay port: builds the checkout that it is in.
cmake_path(GET CURRENT_PORT_DIR PARENT_PATH vcpkg_folder)
cmake_path(GET vcpkg_folder PARENT_PATH packaging_folder)
cmake_path(GET packaging_folder PARENT_PATH SOURCE_PATH)
vcpkg_find_acquire_program(PYTHON3)
vcpkg_cmake_configure(SOURCE_PATH ${SOURCE_PATH}
  OPTIONS -DHEADWAY_APP=OFF -DHEADWAY_FLEET=OFF -DHEADWAY_TESTS=OFF -DPython3_EXECUTABLE=${PYTHON3})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/headway)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/debug/include ${CURRENT_PACKAGES_DIR}/debug/share)
vcpkg_install_copyright(FILE_LIST ${SOURCE_PATH}/LICENSE)
file(INSTALL ${CURRENT_PORT_DIR}/usage DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT})
