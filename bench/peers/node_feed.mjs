// The simplest feed that can be written for Node: GET /sub is a stream, POST /pub goes to all of them. An event is
// serialised once, and every stream is written the same bytes.
//
// usage: node node_feed.mjs        prints {"url"} when it listens on a port of the kernel's choice
import http from 'node:http';

const streams = new Set();

const subscribe = (response) => {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' });
  response.write(': hello\n\n');
  streams.add(response);
  response.once('close', () => streams.delete(response));
};

const publish = (request, response) => {
  const pieces = [];
  request.on('data', (piece) => pieces.push(piece));
  request.once('end', () => {
    const event = Buffer.concat([Buffer.from('data: '), ...pieces, Buffer.from('\n\n')]);
    for (const stream of streams) stream.write(event);
    response.writeHead(204).end();
  });
};

const server = http.createServer((request, response) => {
  if (request.method === 'POST') publish(request, response);
  else subscribe(response);
});
server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` }));
});
