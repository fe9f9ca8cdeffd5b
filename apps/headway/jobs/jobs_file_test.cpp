#include "jobs/jobs_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/test_error.hpp"
#include "folder.hpp"

namespace headway::app {
namespace {

struct jobs_file_test : folder_test {
  std::string path = folder + "/jobs.txt";

  void write(std::string_view text) const { std::ofstream(path) << text; }
};

TEST_F(jobs_file_test, surveyed_then_read) {
  write(
      "\xef\xbb\xbf# "
      "jobs\r\nhttp://a/1\r\n\n{\"url\":\"/2\",\"id\":\"x\",\"body\":\"\"}\nhttp://b/3");
  std::vector<std::string> told;
  jobs_file jobs(path, {.base_url = "http://base:1/v1"},
                 [&](std::string_view line, std::int64_t) { told.emplace_back(line); });
  EXPECT_FALSE(jobs.is_stream());
  std::int64_t seen = 0;
  auto const found = jobs.survey([&](std::int64_t read, std::int64_t of) {
    seen = read;
    EXPECT_EQ(of, static_cast<std::int64_t>(std::filesystem::file_size(path)));
  });
  EXPECT_EQ(seen, static_cast<std::int64_t>(std::filesystem::file_size(path)));
  EXPECT_EQ(found.lines, 5);
  EXPECT_EQ(found.requests, 3);
  EXPECT_EQ(found.origins, (std::vector<std::string>{"http://a:80", "http://base:1"}));
  EXPECT_FALSE(found.all_idempotent);
  std::vector<std::string> const lines = {"\xef\xbb\xbf# jobs", "http://a/1", "",
                                          R"({"url":"/2","id":"x","body":""})", "http://b/3"};
  EXPECT_EQ(told, lines);

  std::ofstream(path, std::ios::app) << "\nhttp://appended/";
  std::vector<std::string> read;
  while (auto const j = jobs.next())
    read.push_back(std::to_string(j->line) + " " + j->id + " " + j->url);
  EXPECT_EQ(read, (std::vector<std::string>{"2 2 http://a/1", "4 x http://base:1/v1/2",
                                            "5 5 http://b/3"}));
  EXPECT_EQ(told, lines);
}

TEST_F(jobs_file_test, template_is_filled_in_both_readings) {
  write("id,q\r\n1,\"a\r\nb\"\r\n\r\n7,c");
  std::vector<std::string> told;
  jobs_file jobs(path, {.url = "http://a/", .body = "[{{q}}]"},
                 [&](std::string_view line, std::int64_t) { told.emplace_back(line); });
  auto const found = jobs.survey();
  EXPECT_EQ(found.lines, 5);
  EXPECT_EQ(found.requests, 2);
  EXPECT_EQ(told, (std::vector<std::string>{"id,q", "1,\"a", "b\"", "", "7,c"}));
  std::vector<std::string> read;
  while (auto const j = jobs.next())
    read.push_back(std::to_string(j->line) + " " + j->id + " " + j->body.value_or(""));
  EXPECT_EQ(read, (std::vector<std::string>{"2 1 [\"a\\nb\"]", "5 7 [\"c\"]"}));
}

TEST_F(jobs_file_test, template_errors) {
  line_options const options{.url = "http://a/", .body = "[{{q}}]"};
  write("id,q\n1,\"a\nb\"\n1,c\n");
  EXPECT_EQ(usage_error_of([&] { jobs_file(path, options).survey(); }),
            path + ":4: id \"1\" is already used at line 2");
  write("id,q\n1,\"a\nb\n");
  EXPECT_EQ(usage_error_of([&] { jobs_file(path, options).survey(); }),
            path + ":2: the record that begins here ends within quotes");
}

TEST_F(jobs_file_test, cut_between_the_two_readings) {
  write("http://a/1\nhttp://a/2\n");
  jobs_file jobs(path, {});
  jobs.survey();
  std::filesystem::resize_file(path, 11);
  auto const error = usage_error_of([&] {
    while (jobs.next()) continue;
  });
  EXPECT_EQ(error, path + ": became shorter while it was being read");
}

TEST_F(jobs_file_test, edited_between_the_two_readings) {
  std::string text;
  while (text.size() < 3 * steady_file::block_bytes) text += "http://a/1\n";
  write(text);
  jobs_file jobs(path, {});
  jobs.survey();
  auto const at = 2 * steady_file::block_bytes + 100;
  auto const changed = text.find("/1\n", at) + 1;
  std::fstream(path).seekp(static_cast<std::streamoff>(changed)) << '2';
  std::ofstream(path, std::ios::app) << "http://appended/\n";
  std::vector<std::string> read;
  auto const error = usage_error_of([&] {
    while (auto const j = jobs.next()) read.push_back(j->url);
  });
  EXPECT_EQ(
      error,
      path + ": was edited in place after it was checked, between its bytes 524289 and 786432");
  EXPECT_EQ(read, std::vector<std::string>(2 * steady_file::block_bytes / 11, "http://a/1"));
}

TEST_F(jobs_file_test, without_requests) {
  write("# nothing\n\n");
  jobs_file jobs(path, {});
  auto const found = jobs.survey();
  EXPECT_EQ(found.lines, 2);
  EXPECT_EQ(found.requests, 0);
  EXPECT_TRUE(found.origins.empty());
  EXPECT_FALSE(jobs.next());
}

TEST_F(jobs_file_test, unreadable) {
  EXPECT_EQ(usage_error_of([&] { jobs_file(path, {}); }),
            path + ": cannot open it: No such file or directory");
  EXPECT_EQ(usage_error_of([&] { jobs_file(folder, {}); }),
            folder + ": is a directory; want a file of requests");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  auto const error = usage_error_of([&] { jobs_file(path, {}); });
  EXPECT_NE(error.find("is not a regular file"), error.npos) << error;
}

TEST_F(jobs_file_test, errors_name_file_and_line) {
  write("http://a/\n\nftp://b/\n");
  auto const error = usage_error_of([&] { jobs_file(path, {}).survey(); });
  EXPECT_EQ(error, path + ":3: url \"ftp://b/\": want http or https");
}

TEST_F(jobs_file_test, lines_longer_than_any_buffer) {
  std::string const body(3'000'000, 'x');
  write("{\"url\":\"http://a/\",\"body\":\"" + body + "\"}\nhttp://b/\n");
  jobs_file jobs(path, {});
  EXPECT_EQ(jobs.survey().requests, 2);
  EXPECT_EQ(jobs.next()->body, body);
  EXPECT_EQ(jobs.next()->url, "http://b/");
}

TEST_F(jobs_file_test, duplicate_ids) {
  struct {
    std::string_view text;
    std::string_view says;  // "" where all ids differ
  } const rows[] = {
      {"http://a/\nhttp://a/", ""},
      {R"({"id":"a"}|{"id":"b"}|{"id":"a"})", ":3: id \"a\" is already used at line 1"},
      {R"({"id":2}|http://a/)", ":2: id \"2\" is already used at line 1"},
      {R"(http://a/|{"id":1})", ":2: id \"1\" is already used at line 1"},
      {R"(http://a/|{"id":"1"})", ":2: id \"1\" is already used at line 1"},
      {R"({"id":"1"}|{"id":1})", ":2: id \"1\" is already used at line 1"},
      {R"({"id":3}|{"id":1}|{"id":2})", ""},
      {R"({"id":3}|{"id":1}|http://a/)", ":3: id \"3\" is already used at line 1"},
      {R"(#|{"id":1})", ""},
      {R"({"id":9223372036854775807}|http://a/|{"id":"9223372036854775807"})", ":3: id"},
      {R"({"id":2}|#|{"id":2})", ":3: id \"2\" is already used at line 1"},
      {R"(http://a/|{"id":"01"}|{"id":"+1"}|{"id":" 1"}|{"id":"1x"}|{"id":-1})", ""},
  };
  for (auto const& row : rows) {
    std::string text;
    for (char const c : row.text)
      text += c == '|' ? "\n" : c == '{' ? R"({"url":"http://a/",)" : std::string(1, c);
    write(text);
    auto const error = usage_error_of([&] { jobs_file(path, {}).survey(); });
    EXPECT_EQ(error.empty(), row.says.empty()) << row.text << "\n" << error;
    EXPECT_NE(error.find(row.says), error.npos) << row.text << "\n" << error;
  }
}

TEST(id_register, many_ids) {
  id_register ids;
  auto const id = [](std::int64_t i) { return std::to_string(i * 7919 % 100'003) + "-id"; };
  for (std::int64_t i = 1; i <= 100'000; ++i) ASSERT_EQ(ids.claim(id(i), i), std::nullopt);
  EXPECT_EQ(ids.claim(id(4711), 100'001), 4711);
}

TEST(job_stream, however_the_bytes_are_cut) {
  std::string const text = "http://a/1\r\n\r\n#\n{\"url\":\"http://a/2\",\"id\":\"b\"}\nhttp://a/3";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    std::string told;
    job_stream stream(
        {}, [&](std::string_view line, std::int64_t) { told += std::string(line) + "|"; });
    std::string read;
    auto const take = [&] {
      while (auto const j = stream.next()) read += std::to_string(j->line) + j->id + " ";
    };
    for (std::size_t at = 0; at < text.size(); at += size) {
      stream.feed(std::string_view(text).substr(at, size));
      take();
    }
    EXPECT_EQ(read, "11 4b ");
    stream.finish();
    take();
    EXPECT_EQ(read, "11 4b 55 ");
    EXPECT_EQ(told, "http://a/1||#|{\"url\":\"http://a/2\",\"id\":\"b\"}|http://a/3|");
    EXPECT_EQ(stream.lines(), 5);
  }
}

TEST(job_stream, tells_only_good_lines) {
  std::string told;
  job_stream stream({}, [&](std::string_view line, std::int64_t) { told += line; });
  stream.check_ids();
  stream.feed("{\"url\":\"http://a/\",\"id\":2}\nhttp://a/2\n");
  EXPECT_TRUE(stream.next());
  EXPECT_THROW(stream.next(), fatal);
  EXPECT_EQ(told, "{\"url\":\"http://a/\",\"id\":2}");
}

TEST(job_stream, tells_where_a_record_begins) {
  std::string told;
  job_stream stream({.url = "http://a/{{z}}"}, [&](std::string_view, std::int64_t begins) {
    told += std::to_string(begins) + " ";
  });
  stream.feed("\n\"q\n\n\",z\n1,2\n\"3\n\n\",4\n\n5,6\n");
  stream.finish();
  while (stream.next()) {
  }
  EXPECT_EQ(told, "1 2 2 2 5 6 6 6 9 10 ");
  EXPECT_EQ(stream.records().header_end, 4);
}

TEST(record_lines, are_whole_with_the_header) {
  record_lines records{.header_end = 2};
  for (auto const& [line, begins] : {std::pair{3, 3}, {4, 3}, {5, 3}, {6, 6}, {7, 6}, {8, 8}})
    records.add(line, begins, true);
  auto const whole = [&](std::vector<bool> const& wanted) {
    std::string lines;
    auto const all = records.whole(wanted);
    for (std::size_t line = 0; line < all.size(); ++line)
      if (all[line]) lines += std::to_string(line);
    return lines;
  };
  EXPECT_EQ(whole({}), "");
  EXPECT_EQ(whole({0, 0, 0, 0, 0, 0, 0}), "");
  EXPECT_EQ(whole({0, 0, 0, 1}), "12345");
  EXPECT_EQ(whole({0, 0, 0, 0, 0, 0, 1}), "1267");
  EXPECT_EQ(whole({0, 0, 0, 0, 0, 0, 0, 0, 1}), "128");
}

TEST(job_stream, endless_line_is_refused) {
  job_stream stream({});
  std::string const piece(8 << 20, 'x');
  std::string error;
  for (int i = 0; i < 10 && error.empty(); ++i) {
    stream.feed(piece);
    error = usage_error_of([&] { stream.next(); });
  }
  EXPECT_EQ(error, "JOBS:1: the line has more than 67108864 bytes");
}

TEST_F(jobs_file_test, standard_input_is_checked_as_it_is_read) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  int const kept = dup(STDIN_FILENO);
  ASSERT_EQ(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
  jobs_file jobs("-", {});
  dup2(kept, STDIN_FILENO);
  auto const say = [&](std::string_view text) {
    ASSERT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  };
  EXPECT_TRUE(jobs.is_stream());
  say("http://a/1\nhttp:");
  EXPECT_FALSE(jobs.ready());
  EXPECT_TRUE(jobs.fill());
  EXPECT_EQ(jobs.ready()->url, "http://a/1");
  EXPECT_FALSE(jobs.ready());
  say("//a/2\n{\"url\":\"http://a/\",\"id\":1}\n");
  EXPECT_EQ(jobs.next()->url, "http://a/2");
  EXPECT_EQ(usage_error_of([&] { jobs.next(); }), "stdin:3: id \"1\" is already used at line 1");
  say("http://a/4");
  close(ends[1]);
  EXPECT_EQ(jobs.next()->url, "http://a/4");
  EXPECT_FALSE(jobs.next());
  close(ends[0]);
  close(kept);
}

}  // namespace
}  // namespace headway::app
