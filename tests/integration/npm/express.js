// One application for each mode of express-rate-limit's headers, all with the same limit:
// express.js WINDOW_MS LIMIT FOLDER. Writes "MODE PORT" to standard output, and FOLDER/MODE.log.
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
  const server = app.listen(0, "127.0.0.1", () => console.log(mode, server.address().port));
}
