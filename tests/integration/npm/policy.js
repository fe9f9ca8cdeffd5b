// A server that tells its policy by draft-ietf-httpapi-ratelimit-headers-11:
// policy.js LIMIT SECONDS FOLDER. Prints its port, and writes FOLDER/policy.log.
const fs = require("fs");
const http = require("http");

const [limit, seconds, folder] = process.argv.slice(2);
const log = fs.createWriteStream(`${folder}/policy.log`);
const callers = ":Y2FsbGVyLTE=:";

let left = Number(limit);
let ends = 0; // of the window, which begins with its first request

const server = http.createServer((request, answer) => {
  const now = Date.now();
  if (now >= ends) {
    left = Number(limit);
    ends = now + 1000 * seconds;
  }
  const accepted = left > 0;
  if (accepted) left -= 1;
  answer.setHeader("RateLimit-Policy", `"default";q=${limit};w=${seconds};qu="requests";pk=${callers}`);
  answer.setHeader("RateLimit", `"default";r=${left};t=${Math.ceil((ends - now) / 1000)};pk=${callers}`);
  answer.statusCode = accepted ? 200 : 429;
  if (!accepted) answer.setHeader("Content-Type", "application/problem+json");
  answer.end(
    accepted
      ? "ok"
      : JSON.stringify({
          type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
          title: "too many requests",
          "violated-policies": ["default"],
        }),
  );
  log.write(`${Date.now()} 0 ${answer.statusCode} ${request.method} ${request.url} -\n`);
});
server.keepAliveTimeout = 60000;
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
