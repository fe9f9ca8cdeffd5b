#include "base/words.hpp"

#include <gtest/gtest.h>

namespace headway::app {
namespace {

TEST(words, of_times) {
  EXPECT_EQ(in_words(120ms), "0.1 s");
  EXPECT_EQ(in_words(9900ms), "9.9 s");
  EXPECT_EQ(in_words(9960ms), "10 s");
  EXPECT_EQ(in_words(59700ms), "1 min 0 s");
  EXPECT_EQ(in_words(3700s), "1 h 1 min");
}

TEST(words, of_short_times) {
  EXPECT_EQ(short_in_words(7ms), "7 ms");
  EXPECT_EQ(short_in_words(999ms), "999 ms");
  EXPECT_EQ(short_in_words(1s), "1.0 s");
}

TEST(words, of_rates_as_a_person_writes_them) {
  EXPECT_EQ(rate_in_words(0), "0/s");
  EXPECT_EQ(rate_in_words(1712), "1,710/s");
  EXPECT_EQ(rate_in_words(11'640), "11,600/s");
  EXPECT_EQ(rate_in_words(1'234'567), "1,230,000/s");
  EXPECT_EQ(rate_in_words(999.7), "1,000/s");
  EXPECT_EQ(rate_in_words(298.6), "299/s");
  EXPECT_EQ(rate_in_words(29.44), "29.4/s");
  EXPECT_EQ(rate_in_words(5), "5/s");
  EXPECT_EQ(rate_in_words(0.5), "30/min");
  EXPECT_EQ(rate_in_words(0.001), "3.6/h");
}

}  // namespace
}  // namespace headway::app
