// A reader of text/event-stream on node:http and node:https, close to the wire: the test decides when it reads, and where it is cut.
import assert from 'node:assert/strict';
import http from 'node:http';
import https from 'node:https';

export class SseStream {
  // cutAfter: take this many bytes of the body and then drop the connection, mid-frame or not.
  static open(url, { method = 'GET', headers = {}, body, cutAfter = Infinity, ms = 10_000, tls = {} } = {}) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => outgoing.destroy(new Error(`no answer within ${ms} ms: ${url}`)), ms);
      const { request } = url.startsWith('https:') ? https : http;
      const outgoing = request(url, { method, headers, agent: false, ...tls }, (incoming) => {
        clearTimeout(timer);
        resolve(new SseStream(incoming, cutAfter));
      });
      outgoing.once('error', (error) => { clearTimeout(timer); reject(error); });
      outgoing.end(body);
    });
  }

  constructor(incoming, cutAfter) {
    this.status = incoming.statusCode;
    this.headers = incoming.headers;
    this.text = '';  // of an answer that is not a stream
    this.comments = [];
    this.ended = null;  // "clean" (final chunk seen), "cut", or null
    this.partial = false;  // ended in the middle of an event
    this.bytes = 0;
    this.queue = [];
    this.waiters = [];
    this.incoming = incoming;
    this.isStream = /^text\/event-stream/.test(this.headers['content-type'] ?? '');
    let left = cutAfter;
    let rest = Buffer.alloc(0);
    let frame = { fields: [], data: [] };
    const take = (line) => {
      if (line === '') {
        if (frame.data.length) this.#deliver({ ...frame, data: frame.data.join('\n') });
        frame = { fields: [], data: [] };
      } else if (line.startsWith(':')) {
        this.comments.push({ text: line.slice(1).trim(), at: Date.now() });
        this.#wake();
      } else {
        const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line);
        frame.fields.push(field);
        if (field === 'data') frame.data.push(value);
        if (field === 'id') frame.id = value;
      }
    };
    incoming.on('data', (bytes) => {
      const taken = bytes.subarray(0, left);
      left -= taken.length;
      this.bytes += taken.length;
      if (!this.isStream) this.text += taken.toString();
      rest = Buffer.concat([rest, taken]);
      for (let at = rest.indexOf(10); at >= 0; at = rest.indexOf(10)) {
        if (this.isStream) take(rest.subarray(0, at).toString('utf8').replace(/\r$/, ''));
        rest = rest.subarray(at + 1);
      }
      if (left <= 0) this.destroy();
    });
    incoming.on('error', () => {});  // a cut; 'close' says the rest
    incoming.once('close', () => {
      this.partial = rest.length > 0 || frame.fields.length > 0;
      this.ended = incoming.complete ? 'clean' : 'cut';
      this.#wake();
    });
  }

  #deliver(frame) { this.queue.push(frame); this.#wake(); }
  #wake() { for (const waiter of this.waiters.splice(0)) waiter(); }

  pause() { this.incoming.pause(); }
  resume() { this.incoming.resume(); }
  destroy() { this.incoming.destroy(); }

  json() { return JSON.parse(this.text); }

  // Waits until `condition` holds, which is looked at whenever something arrives.
  async when(what, condition, ms = 10_000) {
    const end = Date.now() + ms;
    while (!condition()) {
      const left = end - Date.now();
      if (left <= 0) throw new Error(`not within ${ms} ms: ${what}`);
      let timer;
      await new Promise((resolve) => {
        timer = setTimeout(resolve, left);
        this.waiters.push(resolve);
      });
      clearTimeout(timer);
    }
  }

  // The next event {data, id, fields}, or null when the stream has ended.
  async next(ms) {
    await this.when('an event or the end', () => this.queue.length > 0 || this.ended, ms);
    return this.queue.shift() ?? null;
  }

  async end(ms) {
    await this.when('the end of the stream', () => this.ended, ms);
    return this.ended;
  }

  // All results of a JSON-RPC stream until its end.
  async results(ms) {
    const results = [];
    for (let frame = await this.next(ms); frame; frame = await this.next(ms)) results.push(parseResult(frame));
    return results;
  }

  async result(ms) {
    const frame = await this.next(ms);
    assert.ok(frame, 'an event before the end of the stream');
    return parseResult(frame);
  }
}

export function parseResult(frame) {
  const envelope = JSON.parse(frame.data);
  assert.equal(envelope.jsonrpc, '2.0');
  assert.ok('result' in envelope && 'id' in envelope, frame.data);
  return envelope.result;
}
