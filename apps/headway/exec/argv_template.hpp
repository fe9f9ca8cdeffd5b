/// An argv template: a command with replacement strings, as users of GNU parallel know them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headway::app {

/// What a job puts into a template.
struct job_values {
  std::span<std::string const> columns{};  ///< {} is all of them, {1} the first, {-1} the last
  std::span<std::string const> named{};    ///< of names(), in their order
  std::int64_t number = 0;                 ///< {#}
  int slot = 0;                            ///< {%}
};

/// {} {.} {/} {//} {/.} are the value, without extension, its base name, its folder, its base name
/// without extension; so are {1.}, {name/} and the like; {#} is the number of the job, {%} that of
/// its slot. A backslash before one takes it as it stands; other braces are text, {{…}} too.
///
/// Each word is one argument, whatever is put into it; only a word that is `{}` becomes as many
/// arguments as there are columns. Errors: std::invalid_argument. Threads: const members safe.
class argv_template {
 public:
  enum class style : std::uint8_t {
    words,  ///< where nothing is replaced, ` {}` is added at the end
    text,   ///< one text, where nothing is added
    shell,  ///< the same as one script: a value stands there as "${1}", within whatever quotes
            ///< there are; where nothing is replaced, but it reads "$1" or "$@", these are the
            ///< columns, and nothing is added
  };
  /// `adds`: false: nothing is added, whatever is replaced.
  explicit argv_template(std::vector<std::string> words, style = style::words, bool adds = true);

  /// The names of fields, each once.
  std::vector<std::string> const& names() const noexcept { return names_; }
  /// The highest {N}; 0: there is none.
  int columns_wanted() const noexcept { return columns_wanted_; }
  /// The value, a part of it or a field is in it.
  bool puts_value() const noexcept;
  /// The first word is the same for each job.
  bool fixed_program() const noexcept;
  /// This word is.
  bool fixed(std::size_t word) const noexcept;
  /// As it was given.
  std::vector<std::string> const& words() const noexcept { return words_; }

  /// The arguments; of a script those of /bin/sh.
  std::vector<std::string> filled(job_values const&) const;
  std::string text(job_values const&) const;

 private:
  enum class what : std::uint8_t { text, all, column, name, number, slot };
  enum class part : std::uint8_t { whole, stem, base, folder, base_stem };
  struct piece {
    what is = what::text;
    part of = part::whole;
    std::string text{};      // of text
    std::ptrdiff_t index{};  // of a column, from 1 or, from the end, from -1; of a name, from 0
  };
  using pieces = std::vector<piece>;

  pieces read(std::string_view word);
  bool read_one(std::string_view inside, piece&);
  static std::string cut(std::string_view value, part);
  std::string value_of(piece const&, job_values const&) const;
  std::string joined(pieces const&, job_values const&) const;
  void make_script();

  std::vector<std::string> words_;
  style style_;
  std::vector<pieces> all_{};
  std::vector<std::string> names_{};
  int columns_wanted_ = 0;
  std::string script_{};
  pieces put_into_script_{};
  bool by_position_ = false;  // the columns are the script's parameters
};

}  // namespace headway::app
