// expect: constraints? not satisfied|constraint failure
#include "headway/governor.hpp"
#include "headway/law/seek.hpp"

struct by_the_book {
#ifdef CONTROL
  headway::duration delay(int, headway::duration, headway::fraction) const noexcept {
    return {};
  }
#else
  headway::duration delay(int, headway::duration, headway::fraction) const {
    return {};
  }
#endif
  friend bool operator==(by_the_book const&, by_the_book const&) = default;
};
headway::governor<by_the_book, headway::seek> const governor;
