/// The files of a run: none that it writes may be another one of them.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "os/file_identity.hpp"
#include "run/options.hpp"

namespace headway::app {

/// What the options name, by identity. To be made before anything is opened for writing.
class run_files {
 public:
  /// Errors: fatal(exit_usage) where a file that is written is another file of the run, too. Where
  /// standard error is one, it is standard output from then on.
  explicit run_files(run_options const&);

  /// The option that writes the file at `path`, "" if none does.
  std::string written_by(std::filesystem::path const& path) const;

 private:
  struct named {
    std::string option, path;
    file_identity identity, folder;  ///< the file's, and that of the folder its name is in
    bool written;
  };

  void add(std::string option, std::string const& path, bool written);
  void add_written(std::string const& option, std::string const& path,
                   std::initializer_list<char const*> beside = {});
  void check_standard_streams() const;
  bool kept_body(named const&) const;
  static named entry(std::string option, std::string const& path, bool written);

  std::vector<named> all_;  // first those that are read
  std::optional<file_identity> bodies_{};
  bool any_body_name_ = false;  // --out-name may make any
};

}  // namespace headway::app
