/// The files that options name: none that is written may be another one of them.
#pragma once

#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "os/file_identity.hpp"

namespace headway::app {

/// What the options of a run name, by identity. To be filled before anything is opened for writing:
/// first with what is read. Errors: fatal(exit_usage) where a file that is written is another one,
/// too.
class named_files {
 public:
  /// Adds one; an empty path is none. "-" is a standard stream, of JOBS and --out.
  void add(std::string option, std::string const& path, bool written);
  /// Adds one that is written, and those `beside` it, as ".new".
  void add_written(std::string const& option, std::string const& path,
                   std::initializer_list<char const*> beside = {});
  /// Adds a folder that `option` fills with files for which `names` is true, with ".new" or
  /// without. To be called before the others.
  void add_folder(std::string option, std::string const& path,
                  std::function<bool(std::string_view name)> names);

  /// What is said may go to a file, but to none of these. Where standard error is one, it is
  /// standard output from then on.
  void check_standard_streams() const;
  /// Returns the option that writes the file at `path`, "" if none does.
  std::string written_by(std::filesystem::path const& path) const;

 private:
  struct named {
    std::string option, path;
    file_identity identity, folder;  ///< the file's, and that of the folder its name is in
    bool written;
  };
  struct filled {
    std::string option;
    file_identity identity;
    std::function<bool(std::string_view)> names;
  };

  static named entry(std::string option, std::string const& path, bool written);
  filled const* filled_with(named const&) const;

  std::vector<named> all_;
  std::vector<filled> folders_;
};

/// Returns true for `name` if it begins with eight digits or more and ends in one of `ends`.
bool is_numbered(std::string_view name, std::initializer_list<std::string_view> ends) noexcept;

}  // namespace headway::app
