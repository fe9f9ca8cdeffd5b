#include "jobs/job.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/fatal.hpp"

namespace headway::app {
namespace {

/// The job of `text` as line 7, or the error.
struct outcome_of_line {
  std::optional<job> read;
  std::string error;
};

outcome_of_line parse(std::string_view text, line_options options = {}) {
  try {
    return {job_parser(std::move(options)).parse(text, 7), ""};
  } catch (fatal const& e) {
    EXPECT_EQ(e.code, exit_usage);
    return {std::nullopt, e.what()};
  }
}

job good(std::string_view text, line_options options = {}) {
  auto result = parse(text, std::move(options));
  EXPECT_EQ(result.error, "") << text;
  return result.read.value_or(job{});
}

TEST(job_line, skipped) {
  for (auto const* text : {"", " ", "\t\r", "# http://a/", "  # note", "#{\"url\": 1}"}) {
    auto const result = parse(text);
    EXPECT_FALSE(result.read) << text;
    EXPECT_EQ(result.error, "") << text;
  }
}

TEST(job_line, url) {
  auto const j = good(" http://127.0.0.1:8429/a?b=c|d&e[f]=g#h \r");
  EXPECT_EQ(j.url, "http://127.0.0.1:8429/a?b=c|d&e[f]=g#h");
  EXPECT_EQ(j.line, 7);
  EXPECT_EQ(j.id, "7");
  EXPECT_EQ(j.method, "GET");
  EXPECT_FALSE(j.body);
  EXPECT_EQ(j.cost, 1);
}

TEST(job_line, every_key) {
  auto const j = good(
      R"({"id": "a", "url": "https://x/y", "method": "patch", "headers": {"X-A": "b: c", "X-B": ""},)"
      R"("body": {"k" : [1.10, 18446744073709551616, 1e400, "a \" } b", {} ] }, "cost": 3, "scope": "s",)"
      R"("timeout": 1.5, "idempotency_key": "k1", "meta": { "n" : null }})");
  EXPECT_EQ(j.id, "a");
  EXPECT_EQ(j.url, "https://x/y");
  EXPECT_EQ(j.method, "PATCH");
  EXPECT_EQ(j.headers, (std::vector<std::string>{"X-A: b: c", "X-B: "}));
  EXPECT_EQ(j.body, R"({"k":[1.10,18446744073709551616,1e400,"a \" } b",{}]})");
  EXPECT_TRUE(j.json_body);
  EXPECT_EQ(j.cost, 3);
  EXPECT_EQ(j.scope, "s");
  EXPECT_EQ(j.timeout, 1500ms);
  EXPECT_EQ(j.idempotency_key, "k1");
  EXPECT_EQ(j.meta, R"({"n":null})");
}

TEST(job_line, costs_of_named_quotas) {
  auto const j = good(R"({"url": "https://x/y", "cost": {"tokens": 350, "images": 2}})");
  EXPECT_EQ(j.cost, 1);
  EXPECT_EQ(j.costs, (std::vector<quota_units>{{"tokens", 350}, {"images", 2}}));
}

TEST(job_line, body_and_method) {
  struct {
    char const* line;
    char const* method;
    char const* body;
    bool json;
  } const rows[] = {
      {R"({"url":"http://x/","body":"a\u00e9\n"})", "POST", "a\u00e9\n", false},
      {R"({"url":"http://x/","body":""})", "POST", "", false},
      {R"({"url":"http://x/","body":[ 1, 2 ]})", "POST", "[1,2]", true},
      {R"({"url":"http://x/","body":"{}","method":"PUT"})", "PUT", "{}", false},
      {R"({"method":"GET","body":{},"url":"http://x/"})", "GET", "{}", true},
  };
  for (auto const& row : rows) {
    auto const j = good(row.line);
    EXPECT_EQ(j.method, row.method) << row.line;
    EXPECT_EQ(j.body, row.body) << row.line;
    EXPECT_EQ(j.json_body, row.json) << row.line;
  }
}

TEST(job_line, meta) {
  for (auto const* meta :
       {"1.10", "true", "null", R"("a \\\" b")", "[]", R"({"a":[{"b":"]}"}]})"}) {
    auto const line = std::string(R"({"meta" : )") + meta + R"( , "url":"http://x/"})";
    EXPECT_EQ(good(line).meta, meta);
  }
}

TEST(job_line, numeric_ids) {
  EXPECT_EQ(good(R"({"id":17,"url":"http://x/"})").id, "17");
  EXPECT_EQ(good(R"({"id":-1,"url":"http://x/"})").id, "-1");
  EXPECT_EQ(good(R"({"id":18446744073709551615,"url":"http://x/"})").id, "18446744073709551615");
}

TEST(job_line, timeouts) {
  for (auto const* text : {"30", "30.0", "\"30s\"", "\"30000ms\"", "3e1"})
    EXPECT_EQ(good(std::string(R"({"url":"http://x/","timeout":)") + text + "}").timeout, 30s);
}

TEST(job_line, byte_order_mark_is_skipped_at_the_start) {
  auto const j = job_parser(line_options{}).parse("\xef\xbb\xbfhttp://x/", 1);
  ASSERT_TRUE(j);
  EXPECT_EQ(j->url, "http://x/");
  EXPECT_NE(parse("\xef\xbb\xbfhttp://x/").error, "");
}

TEST(job_line, refused) {
  std::string const url = R"({"url":"http://x/",)";
  struct {
    std::string line;
    std::string_view says;
  } const rows[] = {
      {"{", "JSON over several lines; want one object a line: jq -c ."},
      {"{} x", "not valid JSON"},
      {"{\"url\":\"http://x/\"", "not valid JSON"},
      {"{\"url\":\"http://\xff/\"}", "not valid JSON"},
      {"{}", "url is missing"},
      {R"({"url":7})", "url is 7; want a string"},
      {url + R"("urls":1})",
       "unknown key \"urls\"; did you mean \"url\"?; known: url, id, method,"},
      {url + R"("url":"http://x/"})", "key \"url\" is given twice"},
      {url + R"("id":1.5})", "id is 1.5; want a string"},
      {url + R"("id":""})", "id is \"\"; want a string of 1 to"},
      {url + R"("id":true})", "id is true; want"},
      {url + R"("id":"a\u001b[2J"})", R"(id is "a\x1b[2J"; want)"},
      {url + R"("method":"G T"})", "method is \"G T\"; want an HTTP method"},
      {url + R"("method":"connect"})", "method is \"connect\"; want"},
      {url + R"("method":1})", "method is 1; want"},
      {url + R"("headers":["a"]})", "headers is an array; want an object"},
      {url + R"("headers":{"A":1}})", "header \"A\" is not a string"},
      {url + R"("headers":{"A b":"c"}})", "header \"A b\" is not a name"},
      {url + R"("headers":{"":"c"}})", "header \"\" is not a name"},
      {url + R"("headers":{"A":"secret\r\nB: c"}})", "header \"A\" has a control character"},
      {url + R"("headers":{"A":"b\u0000"}})", "header \"A\" has a control character"},
      {url + R"("headers":{"A":"b","a":"c"}})", "header \"a\" is given twice"},
      {url + R"("headers":{"content-length":"1"}})", "is set from the body"},
      {url + R"("headers":{"Idempotency-Key":"1"},"idempotency_key":"2"})", "want one of them"},
      {url + R"("idempotency_key":"2","headers":{"idempotency-key":"1"}})", "want one of them"},
      {url + R"("body":1})", "body is 1; want a string, an object or an array"},
      {url + R"("body":null})", "body is null; want"},
      {url + R"("body_file":"../x"})", "body_file is \"../x\"; want a path below"},
      {url + R"("body_file":"a/../../x"})", "want a path below"},
      {url + R"("body_file":"/etc/passwd"})", "want a path below"},
      {url + R"("body_file":"not-there"})", "want a file that can be read"},
      {url + R"("body_file":"."})", "want a file that can be read"},
      {url + R"("cost":0})", "cost is 0; want a whole number from 1 to 1000000000"},
      {url + R"("cost":-1})", "cost is -1; want"},
      {url + R"("cost":1.0})", "cost is 1.0; want"},
      {url + R"("cost":1000000001})", "cost is 1000000001; want"},
      {url + R"("cost":"1"})", "cost is \"1\"; want"},
      {url + R"("cost":{"tokens":0}})", "cost is not an object of 1 to 16 \"quota\": whole number"},
      {url + R"("cost":{}})", "such as {\"tokens\": 350}"},
      {url + R"("scope":[]})", "scope is an array; want"},
      {url + R"("timeout":0})", "timeout is 0; want 0.001 to 86400 seconds"},
      {url + R"("timeout":-1})", "timeout is -1; want"},
      {url + R"("timeout":86401})", "timeout is 86401; want"},
      {url + R"("timeout":"30"})", "timeout is \"30\"; want"},
      {url + R"("timeout":"30 s"})", "timeout is \"30 s\"; want"},
      {url + R"("timeout":"nans"})", "timeout is \"nans\"; want"},
      {url + R"("timeout":{}})", "timeout is an object; want"},
      {url + R"("idempotency_key":"a\nb"})", "want a string of 1 to"},
      {"\xff\xfeh", "must be written as %FF"},
  };
  for (auto const& row : rows) {
    auto const error = parse(row.line).error;
    EXPECT_TRUE(error.starts_with("JOBS:7: ")) << row.line << "\n" << error;
    EXPECT_NE(error.find(row.says), error.npos) << row.line << "\n" << error;
    EXPECT_EQ(error.find("secret"), error.npos) << error;
  }
}

TEST(job_line, too_long) {
  auto const error = parse(std::string(line_bytes_max + 1, ' ')).error;
  EXPECT_EQ(error, "JOBS:7: the line has 67108865 bytes; want at most 67108864");
}

TEST(job_line, base_url) {
  line_options const options{.base_url = "https://api.example/v1/"};
  struct {
    char const* line;
    char const* url;
  } const rows[] = {
      {"/chat", "https://api.example/v1/chat"},
      {"chat", "https://api.example/v1/chat"},
      {"?q=http://other/", "https://api.example/v1?q=http://other/"},
      {"//other/x", "https://api.example/v1//other/x"},
      {"@other/x", "https://api.example/v1/@other/x"},
      {"models:generate", "https://api.example/v1/models:generate"},
      {"http://other/x", "http://other/x"},
      {R"({"url":""})", "https://api.example/v1/"},
      {R"({"url":"/x"})", "https://api.example/v1/x"},
  };
  for (auto const& row : rows) EXPECT_EQ(good(row.line, options).url, row.url);
}

TEST(job_line, base_url_refused) {
  for (auto const* base :
       {"api.example", "ftp://x/", "http://x/?a=b", "http://x/#a", "http://u:p@x/"})
    EXPECT_THROW(job_parser({.base_url = base}), fatal) << base;
}

TEST(job_line, body_file) {
  auto const folder = std::filesystem::path(testing::TempDir()) / "headway_job_test";
  std::filesystem::create_directories(folder / "in");
  std::ofstream(folder / "in" / "body.bin") << "x";
  auto const j =
      good(R"({"url":"http://x/","body_file":"./in/../in/body.bin"})", {.folder = folder});
  EXPECT_EQ(j.body_file, folder / "in" / "body.bin");
  EXPECT_EQ(j.method, "POST");
  auto const both =
      parse(R"({"url":"http://x/","body_file":"in/body.bin","body":""})", {.folder = folder});
  EXPECT_NE(both.error.find("body and body_file are both given"), both.error.npos) << both.error;
  std::filesystem::remove_all(folder);
}

TEST(job_line, openai_batch) {
  auto const j = good(
      R"({"custom_id": "request-1", "method": "POST", "url": "/v1/chat/completions",)"
      R"( "body": {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "top_p": 1.0}})",
      {.base_url = "https://api.example"});
  EXPECT_EQ(j.id, "request-1");
  EXPECT_EQ(j.method, "POST");
  EXPECT_EQ(j.url, "https://api.example/v1/chat/completions");
  EXPECT_EQ(j.body, R"({"model":"m","messages":[{"role":"user","content":"Hi"}],"top_p":1.0})");
  EXPECT_TRUE(j.json_body);
  EXPECT_NE(parse(R"({"custom_id":"a","url":"/x"})").error.find("a path with --base-url"),
            std::string::npos);
  for (auto const* both : {R"({"custom_id":"a","id":"b","url":"http://x/"})",
                           R"({"id":"b","custom_id":"a","url":"http://x/"})"})
    EXPECT_EQ(parse(both).error, "JOBS:7: id and custom_id are both given; want one of them");
  EXPECT_TRUE(parse(R"({"custom_id":"","url":"http://x/"})")
                  .error.starts_with("JOBS:7: custom_id is \"\"; want"));
}

TEST(job_line, vegeta) {
  auto const j =
      good(R"({"method":"POST","url":"http://x/","body":"eyJhIjoxfQA=","header":)"
           R"({"X-A":["1","2"],"Content-Type":["text/plain"],"Idempotency-Key":["k"],"X-B":[]}})");
  EXPECT_EQ(j.method, "POST");
  EXPECT_EQ(j.body, std::string("{\"a\":1}\0", 8));
  EXPECT_FALSE(j.json_body);
  EXPECT_EQ(j.headers, (std::vector<std::string>{"X-A: 1", "X-A: 2", "Content-Type: text/plain"}));
  EXPECT_EQ(j.idempotency_key, "k");
  EXPECT_FALSE(good(R"({"method":"GET","url":"http://x/","header":{}})").body);

  line_options const vegeta{.format = line_format::vegeta};
  EXPECT_EQ(good(R"({"method":"PUT","url":"http://x/","body":"Zm8="})", vegeta).body, "fo");
  EXPECT_EQ(good(R"({"method":"PUT","url":"http://x/","body":"Zm8="})").body, "Zm8=");
}

TEST(job_line, vegeta_refused) {
  std::string const target = R"({"method":"POST","url":"http://x/",)";
  struct {
    std::string line;
    std::string_view says;
  } const rows[] = {
      {target + R"("body":"secret!","header":{}})", "body is not base64"},
      {target + R"("header":{},"body":{"secret":1}})", "body is not base64"},
      {target + R"("header":["a"]})", "header is an array; want an object of at most 100"},
      {target + R"("header":{"A":"secret"}})", "header \"A\" is not an array of at most 100"},
      {target + R"("header":{"A":[1]}})", "header \"A\" is not a string"},
      {target + R"("header":{"A":["secret\n"]}})", "header \"A\" has a control character"},
      {target + R"("header":{"A":["b"],"a":["c"]}})", "header \"a\" is given twice"},
      {target + R"("header":{"Idempotency-Key":["1","2"]}})", "want one of them"},
  };
  for (auto const& row : rows) {
    auto const error = parse(row.line).error;
    EXPECT_TRUE(error.starts_with("JOBS:7: ")) << row.line << "\n" << error;
    EXPECT_NE(error.find(row.says), error.npos) << row.line << "\n" << error;
    EXPECT_EQ(error.find("secret"), error.npos) << error;
  }
  EXPECT_EQ(parse("http://x/", {.format = line_format::vegeta}).error,
            "JOBS:7: want a target of vegeta, a JSON object");
}

TEST(job_line, is_itself_the_body) {
  line_options const options{.url = "https://api.example/v1/x"};
  struct {
    char const* line;
    char const* body;
    char const* meta;
  } const rows[] = {
      {R"( {"model": "m", "n": 1.10, "input": "a \" b"} )",
       R"({"model":"m","n":1.10,"input":"a \" b"})", ""},
      {R"({"metadata": {"row": 1.0 }, "model": "m"})", R"({"model":"m"})", R"({"row":1.0})"},
      {R"({"a": {"metadata": 1}, "metadata" : 7, "b": [ ]})", R"({"a":{"metadata":1},"b":[]})",
       "7"},
      {R"({"id": "x", "metadata": null})", R"({"id":"x"})", "null"},
      {R"({"\u006detadata": "m"})", "{}", R"("m")"},
      {"{}", "{}", ""},
  };
  for (auto const& row : rows) {
    auto const j = good(row.line, options);
    EXPECT_EQ(j.url, "https://api.example/v1/x");
    EXPECT_EQ(j.method, "POST");
    EXPECT_EQ(j.id, "7");
    EXPECT_EQ(j.body, row.body) << row.line;
    EXPECT_EQ(j.meta, row.meta) << row.line;
    EXPECT_TRUE(j.json_body);
  }
  EXPECT_EQ(good("{}", {.url = "http://x/", .method = "put"}).method, "PUT");
  EXPECT_EQ(good("{}", {.base_url = "http://x/v1/", .url = "/y"}).url, "http://x/v1/y");
  EXPECT_EQ(parse(R"({"metadata":1,"metadata":2})", options).error,
            "JOBS:7: key \"metadata\" is given twice");

  auto const own = good(R"({"url":"http://own/","id":"a"})", options);
  EXPECT_EQ(own.url, "http://own/");
  EXPECT_EQ(own.method, "GET");
  EXPECT_EQ(good("http://own/", options).url, "http://own/");
}

/// What the lines of `text` become: "line id method url body", or the error.
std::string records(std::string_view text, line_options options) {
  std::string read;
  try {
    job_parser parser(std::move(options));
    for (std::int64_t line = 1; !text.empty(); ++line) {
      auto const end = std::min(text.find('\n'), text.size());
      if (auto const j = parser.parse(text.substr(0, end), line))
        read += std::to_string(j->line) + " " + j->id + " " + j->method + " " + j->url + " " +
                j->body.value_or("-") + "\n";
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    parser.finish();
  } catch (fatal const& e) {
    EXPECT_EQ(e.code, exit_usage);
    read += e.what();
  }
  return read;
}

TEST(job_template, csv) {
  line_options const options{.url = "http://x/{{n}}", .body = R"({"n":{{n}},"t":"<{{t}}>"})"};
  EXPECT_EQ(records("\xef\xbb\xbfn,t\n\n1,a\n\"2 \"\"\",\"b\n\nc\"\n#3,\n", options),
            "3 3 POST http://x/1 {\"n\":\"1\",\"t\":\"<a>\"}\n"
            "4 4 POST http://x/2%20%22 {\"n\":\"2 \\\"\",\"t\":\"<b\\n\\nc>\"}\n"
            "7 7 POST http://x/%233 {\"n\":\"#3\",\"t\":\"<>\"}\n");
  EXPECT_EQ(records("n,t,id\n1,a,x\n", options),
            "2 x POST http://x/1 {\"n\":\"1\",\"t\":\"<a>\"}\n");
}

TEST(job_template, json_lines) {
  line_options const options{.url = "http://x/", .body = R"([{{a}},"{{a}}"])", .method = "put"};
  EXPECT_EQ(records("\n{\"a\":1.10}\n# note\n{\"a\":{ \"b\":\"c\"},\"id\":17}\n", options),
            "2 2 PUT http://x/ [1.10,\"1.10\"]\n"
            "4 17 PUT http://x/ [{\"b\":\"c\"},\"{\\\"b\\\":\\\"c\\\"}\"]\n");
}

TEST(job_template, without_body) {
  EXPECT_EQ(records("n\n1\n", {.url = "http://x/{{n}}"}), "2 2 GET http://x/1 -\n");
  EXPECT_EQ(records("n\n1\n", {.base_url = "http://x", .url = "/{{n}}", .method = "DELETE"}),
            "2 2 DELETE http://x/1 -\n");
}

TEST(job_template, json_body_is_marked) {
  job_parser json({.url = "http://x/", .body = " [{{a}}]"});
  EXPECT_TRUE(json.parse(R"({"a":1})", 1)->json_body);
  job_parser text({.url = "http://x/", .body = "a={{a}}"});
  EXPECT_FALSE(text.parse(R"({"a":1})", 1)->json_body);
}

TEST(job_template, refused) {
  line_options const options{.url = "http://x/", .body = R"({"a":{{a}}})"};
  struct {
    std::string_view text;
    std::string_view error;
  } const rows[] = {
      {"b\n1\n", "JOBS:1: there is no column \"a\", which the template asks for; known: \"b\""},
      {"\na,b\n1\n", "JOBS:3: the record has 1 fields; want 2 as in the header"},
      {"a\n\"1\n2\n", "JOBS:2: the record that begins here ends within quotes"},
      {"a\n1\"\n", "JOBS:2: field 1 has a quote but does not begin with one"},
      {"a,id\n1,\n", "JOBS:2: id is \"\"; want a string of 1 to 1024 bytes"},
      {"a\n\xff\n", "JOBS:2: the template filled with this record is not valid JSON"},
      {"{\"b\":1}\n", "JOBS:1: there is no key \"a\", which the template asks for; known: \"b\""},
      {"{\"a\":1", "JOBS:1: not valid JSON"},
      {"{\"a\":1,\"id\":1.5}", "JOBS:1: id is 1.5; want a string"},
      {"{\"a\":1,\"id\":true}", "JOBS:1: id is true; want a string"},
  };
  for (auto const& row : rows)
    EXPECT_TRUE(records(row.text, options).starts_with(row.error)) << row.text << "\n"
                                                                   << records(row.text, options);
  EXPECT_TRUE(records("a\n1\n", {.url = "http://x/", .body = "{\"a\":{{a}}"})
                  .starts_with("JOBS:2: the template filled with this record is not valid JSON"));
  EXPECT_TRUE(records("a\n1 2\n", {.url = "http://{{a}}/"})
                  .starts_with("JOBS:2: url \"http://1%202/\": want a host of"));
}

TEST(job_template, options_refused) {
  struct {
    line_options options;
    std::string_view error;
  } const rows[] = {
      {{.body = "{}"}, "--body and --method are for lines that go to --url"},
      {{.method = "PUT"}, "--body and --method are for lines that go to --url"},
      {{.url = "ftp://x/"}, "--url: url \"ftp://x/\": want http or https"},
      {{.url = "/x"}, "--url: url \"/x\": want http"},
      {{.url = "http://x/{{"}, "--url: \"{{\" is not a {{field}}"},
      {{.url = "http://x/", .body = "{{a"}, "--body: \"{{a\" is not a {{field}}"},
      {{.url = "http://x/", .method = "G T"}, "--method is \"G T\"; want an HTTP method"},
      {{.url = "http://x/", .format = line_format::vegeta}, "--format vegeta is for lines with"},
  };
  for (auto const& row : rows)
    EXPECT_TRUE(records("", row.options).starts_with(row.error)) << records("", row.options);
}

TEST(job_template, fingerprint) {
  EXPECT_EQ(fingerprint({}), "");
  EXPECT_EQ(fingerprint({.file = "a", .base_url = "http://x/"}), "");
  std::vector<line_options> const all = {
      {.url = "a"},
      {.url = "a", .body = ""},
      {.url = "a", .body = "b"},
      {.url = "b", .body = "a"},
      {.url = "a", .method = "b"},
      {.url = "a", .body = "b", .method = "b"},
      {.format = line_format::vegeta},
  };
  std::vector<std::string> prints = {""};
  for (auto const& options : all) {
    auto const print = fingerprint(options);
    EXPECT_EQ(std::count(prints.begin(), prints.end(), print), 0) << print;
    prints.push_back(print);
  }
}

TEST(job, idempotent) {
  struct {
    char const* method;
    char const* key;
    bool repeatable;
  } const rows[] = {{"GET", "", true},    {"HEAD", "", true},    {"PUT", "", true},
                    {"DELETE", "", true}, {"OPTIONS", "", true}, {"TRACE", "", true},
                    {"POST", "", false},  {"PATCH", "", false},  {"POST", "k", true},
                    {"REPORT", "", false}};
  for (auto const& row : rows) {
    job j;
    j.method = row.method;
    j.idempotency_key = row.key;
    EXPECT_EQ(idempotent(j), row.repeatable) << row.method;
  }
  EXPECT_TRUE(
      idempotent(good(R"({"url":"http://x/","body":"","headers":{"idempotency-key":"k"}})")));
}

}  // namespace
}  // namespace headway::app
