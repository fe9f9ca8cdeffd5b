// @fastify/rate-limit that bans: ban.js LIMIT WINDOW_MS REFUSALS FOLDER. After so many refusals in a
// window it answers 403 for the rest of it. It tells nothing. Prints its port, and writes
// FOLDER/ban.log.
const fs = require("fs");
const fastify = require("fastify");

const [limit, windowMs, refusals, folder] = process.argv.slice(2);
const log = fs.createWriteStream(`${folder}/ban.log`);
const silent = {
  "x-ratelimit-limit": false,
  "x-ratelimit-remaining": false,
  "x-ratelimit-reset": false,
  "retry-after": false,
};

const app = fastify({ keepAliveTimeout: 60000 });
app.addHook("onResponse", async (request, reply) => {
  log.write(`${Date.now()} 0 ${reply.statusCode} ${request.method} ${request.url} -\n`);
});
app.register(require("@fastify/rate-limit"), {
  max: Number(limit),
  timeWindow: Number(windowMs),
  ban: Number(refusals),
  addHeaders: silent,
  addHeadersOnExceeding: silent,
});
app.after(() => app.get("/*", async () => "ok"));
app.listen({ port: 0, host: "127.0.0.1" }).then(() => console.log(app.server.address().port));
