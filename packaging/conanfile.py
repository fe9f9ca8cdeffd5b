"""conan create packaging: the library of this checkout, and a stranger's program with it (test_package)."""
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class Headway(ConanFile):
    name = "headway"
    version = "0.1.0"
    license = "MIT"
    description = "Calls a rate-limited API as fast as it lets you: the library"
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": False, "fPIC": True}
    implements = ["auto_shared_fpic"]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*"):
            copy(self, pattern, Path(self.recipe_folder).parent, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        check_min_cppstd(self, 20)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables |= {"HEADWAY_APP": False, "HEADWAY_FLEET": False, "HEADWAY_TESTS": False}
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder) / "licenses")
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # headway's own CMake package is the one to find
        for component in ("core", "http", "shared", "fleet", "sim", "blocking", "asio"):
            part = self.cpp_info.components[component]
            part.libs = [] if component == "asio" else [f"headway-{component}"]  # which is headers only
            part.requires = {"core": [], "blocking": ["core", "shared"], "fleet": ["core", "shared"], "sim": ["core", "fleet"]}.get(component, ["core"])
            part.builddirs = ["lib/cmake/headway"]
            if component in ("blocking", "asio") and self.settings.os == "Linux":
                part.system_libs = ["pthread"]
            part.set_property("pkg_config_name", f"headway-{component}")
