// What threads and asynchronous operations share, and what they do not.

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include <string_view>

#include "folder.hpp"
#include "headway/driver/asio.hpp"
#include "headway/driver/blocking.hpp"
#include "headway/driver/machine_scopes.hpp"

namespace headway {
namespace {

using machine_asio_test = folder_test;

TEST_F(machine_asio_test, a_scope_of_threads_is_one_of_coroutines) {
  machine_scopes const make{.key = "k", .folder = folder + "/headway"};
  basic_throttled threads(make);
  boost::asio::io_context io;
  asio::basic_throttled coroutines(io.get_executor(), make);
  threads.scope("bucket")->hold(steady_now() + 10min);
  auto const served = [&](std::string_view scope) {
    auto done = coroutines.scope(scope).async_call(
        [&](auto token) { return boost::asio::post(io, std::move(token)); },
        [] { return outcome::success; }, {.deadline = steady_now() + 1s}, boost::asio::use_future);
    io.restart();
    io.run();
    try {
      done.get();
    } catch (refused_error const&) {
      return false;
    }
    return true;
  };
  EXPECT_FALSE(served("bucket"));
  EXPECT_TRUE(served("another bucket"));
  EXPECT_EQ(coroutines.scope("another bucket").metrics().sent, 1);
}

}  // namespace
}  // namespace headway
