// One application for each mode of express-rate-limit's headers, all with the same limit:
// express.js WINDOW_MS LIMIT FOLDER. Writes "MODE PORT" to standard output, and FOLDER/MODE.log.
// GET answers "ok". POST /items/KEY {"name", "price"} makes an item of that key, once.
const express = require("express");
const fs = require("fs");
const morgan = require("morgan");
const { rateLimit } = require("express-rate-limit");

const [windowMs, limit, folder] = process.argv.slice(2);

morgan.token("end", () => Date.now().toString());

for (const mode of ["legacy", "draft-6", "draft-7", "draft-8"]) {
  const app = express();
  const log = fs.createWriteStream(`${folder}/${mode}.log`);
  app.use(morgan(":end :total-time :status :method :url -", { stream: log }));
  app.use(
    rateLimit({
      windowMs: Number(windowMs),
      limit: Number(limit),
      legacyHeaders: mode === "legacy",
      standardHeaders: mode === "legacy" ? false : mode,
    }),
  );
  app.get("*", (_, answer) => answer.send("ok"));
  const names = new Set(["taken"]);
  app.post("/items/:key", express.json(), ({ body: { name, price } }, answer) => {
    if (price < 0) return answer.status(400).send("price must be >= 0");
    if (name === "cursed") return answer.status(500).send("no such table");
    if (names.has(name)) return answer.status(409).send(`there is a ${name}`);
    names.add(name);
    answer.send("ok");
  });
  const server = app.listen(0, "127.0.0.1", () => console.log(mode, server.address().port));
}
