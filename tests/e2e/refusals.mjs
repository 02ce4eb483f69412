// What a refusal looks like on the wire (a2a.md section 4, access.md section 3).
import assert from 'node:assert/strict';

export const detail = (error, type) => (error.data ?? [])
  .find((entry) => entry['@type'] === `type.googleapis.com/google.rpc.${type}`);

// The answer is the refusal that is expected: http (200), code, reason, domain, metadata (a part of it), fields.
export function assertRefused(answer, { http: status = 200, code, reason, domain, metadata = {}, fields, id }) {
  assert.equal(answer.status, status, answer.text);
  assert.match(answer.headers['content-type'] ?? '', /^application\/json/);
  const { error } = answer.body;
  assert.equal(error?.code, code, answer.text);
  assert.equal(answer.body.jsonrpc, '2.0');
  assert.equal('result' in answer.body, false);
  assert.ok(typeof error.message === 'string' && error.message.length > 0);
  if (id !== undefined) assert.equal(answer.body.id, id);
  if (error.data !== undefined) {
    assert.ok(Array.isArray(error.data), `error.data is an array: ${answer.text}`);
    for (const entry of error.data) assert.match(entry['@type'], /^type\.googleapis\.com\/google\.rpc\./);
  }
  if (reason !== undefined) {
    const info = detail(error, 'ErrorInfo');
    assert.equal(info?.reason, reason, answer.text);
    assert.equal(info.domain, domain ?? (code <= -32001 && code >= -32099 ? 'a2a-protocol.org' : info.domain));
    for (const value of Object.values(info.metadata ?? {})) assert.equal(typeof value, 'string', answer.text);
    for (const [key, value] of Object.entries(metadata)) assert.equal(info.metadata?.[key], value, answer.text);
  }
  if (fields !== undefined) {
    const violations = detail(error, 'BadRequest')?.fieldViolations ?? [];
    assert.deepEqual(violations.map((v) => v.field).sort(), [...fields].sort(), answer.text);
  }
}
