// Each SDK as its documentation calls it, with another base URL and no retries of its own.
// usage: node clients.js NAME BASE-URL   (NODE_PATH: where they were fetched); prints a line of JSON.
const path = require("path");
const { pathToFileURL } = require("url");
const [name, base] = process.argv.slice(2);
const fetched = (file) => import(pathToFileURL(path.join(process.env.NODE_PATH, file)).href);

const talk = [{ role: "user", content: "hello" }];

const clients = {
  async openai() {
    const client = new (require("openai"))({ apiKey: "key-openai", baseURL: `${base}/v1`, maxRetries: 0 });
    const whole = await client.chat.completions.create({ model: "m", messages: talk });
    let streamed = "";
    for await (const chunk of await client.chat.completions.create({ model: "m", messages: talk, stream: true }))
      streamed += chunk.choices[0]?.delta?.content ?? "";
    return { whole: whole.choices[0].message.content, streamed };
  },
  async openai_aborted() {
    const client = new (require("openai"))({ apiKey: "key-openai-aborted", baseURL: `${base}/v1`, maxRetries: 0 });
    let chunks = 0;
    const stream = await client.chat.completions.create({ model: "endless", messages: talk, stream: true });
    for await (const _ of stream) if (++chunks === 3) break;  // the SDK aborts the request
    return { chunks };
  },
  async anthropic() {
    const client = new (require("@anthropic-ai/sdk"))({ apiKey: "key-anthropic", baseURL: base, maxRetries: 0 });
    const whole = await client.messages.create({ model: "m", max_tokens: 9, messages: talk });
    let streamed = "";
    for await (const event of client.messages.stream({ model: "m", max_tokens: 9, messages: talk }))
      if (event.type === "content_block_delta") streamed += event.delta.text;
    return { whole: whole.content[0].text, streamed };
  },
  async anthropic_aborted() {
    const client = new (require("@anthropic-ai/sdk"))({ apiKey: "key-anthropic-aborted", baseURL: base, maxRetries: 0 });
    let chunks = 0;
    const stream = await client.messages.create({ model: "endless", max_tokens: 9, messages: talk, stream: true });
    for await (const _ of stream) if (++chunks === 3) break;
    return { chunks };
  },
  async stripe() {
    const { hostname, port } = new URL(base);
    const client = new (require("stripe"))("sk_test_1", { host: hostname, port, protocol: "http", maxNetworkRetries: 0, telemetry: false });
    return { id: (await client.customers.create({ name: "Ada" })).id };
  },
  async octokit() {
    const { Octokit } = await fetched("@octokit/core/dist-src/index.js");
    const { paginateRest } = await fetched("@octokit/plugin-paginate-rest/dist-bundle/index.js");
    const client = new (Octokit.plugin(paginateRest))({ auth: "key-octokit", baseUrl: base });
    const all = await client.paginate("GET /repos/{owner}/{repo}/issues", { owner: "o", repo: "r", per_page: 2 });
    return { numbers: all.map((issue) => issue.number) };
  },
  async dynamodb() {
    const { DynamoDBClient, CreateTableCommand, PutItemCommand, GetItemCommand } = require("@aws-sdk/client-dynamodb");
    const client = new DynamoDBClient({
      endpoint: base, region: "us-east-1", maxAttempts: 1, credentials: { accessKeyId: "AK", secretAccessKey: "SK" },
    });
    await client.send(new CreateTableCommand({
      TableName: "sdk", BillingMode: "PAY_PER_REQUEST",
      AttributeDefinitions: [{ AttributeName: "k", AttributeType: "S" }], KeySchema: [{ AttributeName: "k", KeyType: "HASH" }],
    }));
    for (let i = 0; i < 50; ++i) {  // until the table is there
      try {
        await client.send(new PutItemCommand({ TableName: "sdk", Item: { k: { S: "a" }, v: { N: "7" } } }));
        break;
      } catch (error) {
        if (error.name !== "ResourceNotFoundException") throw error;
        await new Promise((done) => setTimeout(done, 100));
      }
    }
    return { v: (await client.send(new GetItemCommand({ TableName: "sdk", Key: { k: { S: "a" } } }))).Item.v.N };
  },
};

clients[name]().then((answer) => console.log(JSON.stringify(answer)), (error) => {
  console.error(error);
  process.exit(1);
});
