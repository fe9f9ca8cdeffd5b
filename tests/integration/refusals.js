// HTTP/2 that says "not now" in its own words: node refusals.js CERTIFICATE. Prints its port, then
// "SECONDS METHOD PATH" of each request. The first part of a path is how it is answered, "once-"
// before that the first time only.
const fs = require('fs')
const http2 = require('http2')
const { NGHTTP2_REFUSED_STREAM, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_INTERNAL_ERROR, NGHTTP2_HTTP_1_1_REQUIRED } =
  http2.constants

const how = {
  ok: stream => stream.resume().on('end', () => { stream.respond({ ':status': 200 }); stream.end('ok') }),
  refused: stream => stream.close(NGHTTP2_REFUSED_STREAM),
  calm: stream => stream.close(NGHTTP2_ENHANCE_YOUR_CALM),
  broken: stream => stream.close(NGHTTP2_INTERNAL_ERROR),
  old: stream => stream.close(NGHTTP2_HTTP_1_1_REQUIRED),
  // All before this stream was acted on. node cannot say so of the first one.
  below: stream => goaway(stream, 0),
  'calm-below': stream => goaway(stream, NGHTTP2_ENHANCE_YOUR_CALM),
  above: stream => { stream.session.goaway(0, stream.id); stream.session.destroy() },
  cut: stream => { stream.respond({ ':status': 200 }); stream.write('o'); setTimeout(() => stream.destroy(new Error("cut")), 5) },
  death: stream => tcp.get(stream.session.socket.remotePort).destroy(),
  reset: stream => tcp.get(stream.session.socket.remotePort).resetAndDestroy()
}

const goaway = (stream, error) => stream.id > 1 ? stream.session.goaway(error, stream.id - 2) : how.ok(stream)

const both = fs.readFileSync(process.argv[2])
const server = http2.createSecureServer({ key: both, cert: both, allowHTTP1: true })
const tcp = new Map() // connections by the port of the client
const seen = new Set()
const hear = (method, path) => {
  console.log(`${process.hrtime.bigint()} ${method} ${path}`)
  const kind = path.split('/')[1]
  if (!kind.startsWith('once-')) return kind
  const known = seen.has(path)
  seen.add(path)
  return known ? 'ok' : kind.slice('once-'.length)
}
server.on('stream', (stream, headers) => {
  stream.on('error', () => {})
  how[hear(headers[':method'], headers[':path'])](stream)
})
server.on('request', (request, response) => {
  if (request.httpVersionMajor > 1) return
  hear(request.method, request.url)
  response.end('ok')
})
server.on('connection', socket => tcp.set(socket.remotePort, socket))
server.on('sessionError', () => {})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
