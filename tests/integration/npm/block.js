// A limit that a refusal shuts for a while: block.js KIND LIMIT SECONDS BLOCK_SECONDS FOLDER. KIND is flexible
// (rate-limiter-flexible: LIMIT in SECONDS) or bottleneck (LIMIT a second, its BLOCK strategy). It tells nothing. Prints
// its port, and writes FOLDER/block.log.
const fs = require("fs");
const http = require("http");
const Bottleneck = require("bottleneck");
const { RateLimiterMemory } = require("rate-limiter-flexible");

const [kind, limit, seconds, blocked, folder] = process.argv.slice(2);
const log = fs.createWriteStream(`${folder}/block.log`);

function flexible() {
  const limiter = new RateLimiterMemory({ points: +limit, duration: +seconds, blockDuration: +blocked });
  return () => limiter.consume("all");
}

function bottleneck() {
  const limiter = new Bottleneck({
    reservoir: +limit,
    reservoirRefreshAmount: +limit,
    reservoirRefreshInterval: 1000 * seconds,
    highWater: 0,
    strategy: Bottleneck.strategy.BLOCK,
    penalty: 1000 * blocked,
  });
  return () => limiter.schedule(async () => {});
}

const take = { flexible, bottleneck }[kind]();
const server = http.createServer(async (request, answer) => {
  const status = await take().then(() => 200, () => 429);
  setTimeout(() => {
    answer.statusCode = status;
    answer.end();
    log.write(`${Date.now()} 0 ${status} ${request.method} ${request.url} -\n`);
  }, 20);
});
server.keepAliveTimeout = 60000;
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
