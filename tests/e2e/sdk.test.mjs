// The official JavaScript client against the daemon.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';

import { SendMessageRequest, TaskState } from '@a2a-js/sdk';
import {
  ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory, createAuthenticatingFetchWithRetry,
} from '@a2a-js/sdk/client';
import { PushNotificationNotSupportedError, TaskNotCancelableError, TaskNotFoundError } from '@a2a-js/sdk/errors';

import { ANNOTATIONS, COMMAND, EVENTS } from './contract.mjs';
import { startDaemon, userMessage, users } from './harness.mjs';
import { assertRefused } from './refusals.mjs';
import { done as completed, letIn, signIn } from './sign_in.mjs';

test('a2a_js_sdk_full_surface', async (t) => {
  const daemon = await startDaemon(t);
  const client = await new ClientFactory().createFromUrl(daemon.url);
  const contextId = randomUUID();
  const request = (text, message = {}, configuration) => SendMessageRequest.fromJSON({
    message: userMessage(text, { contextId, ...message }), configuration,
  });
  const send = (...args) => client.sendMessage(request(...args));
  const collect = async (events) => {
    const all = [];
    for await (const { payload } of events) all.push(payload);
    return all;
  };
  const lastState = (payloads) => payloads.at(-1).value.status.state;
  const listed = (params = {}) => client.listTasks({
    tenant: '', contextId, status: TaskState.TASK_STATE_UNSPECIFIED, pageToken: '', statusTimestampAfter: undefined,
    ...params,
  });
  let done;

  await t.test('card, then extended card', async () => {
    const card = await client.getAgentCard();
    assert.equal(card.name, 'tested');
    const uris = card.capabilities.extensions.map(({ uri }) => uri);
    assert.deepEqual(uris.sort(), [COMMAND, EVENTS, ANNOTATIONS].sort());
    assert.ok(card.capabilities.extensions.find(({ uri }) => uri === EVENTS).params.ring > 0);
  });

  await t.test('send: a task, and a direct message', async () => {
    done = await send('hello');
    assert.equal(done.status.state, TaskState.TASK_STATE_COMPLETED);
    assert.equal(done.contextId, contextId);
    assert.equal(done.artifacts[0].parts[0].content.$case, 'text');
    const message = await send('direct');
    assert.equal(message.parts[0].content.$case, 'text');
    assert.ok(message.messageId);
  });

  await t.test('stream: the task first, its terminal state last', async () => {
    const payloads = await collect(client.sendMessageStream(request('pieces')));
    assert.equal(payloads[0].$case, 'task');
    assert.ok(payloads.some(({ $case }) => $case === 'artifactUpdate'));
    assert.equal(lastState(payloads), TaskState.TASK_STATE_COMPLETED);
  });

  await t.test('input required and answered', async () => {
    const asked = await send('ask');
    assert.equal(asked.status.state, TaskState.TASK_STATE_INPUT_REQUIRED);
    const answered = await send('blue', { taskId: asked.id });
    assert.deepEqual([answered.id, answered.status.state], [asked.id, TaskState.TASK_STATE_COMPLETED]);
  });

  await t.test('resubscribe to a working task', async () => {
    const working = await send('slow', {}, { returnImmediately: true });
    const payloads = await collect(client.resubscribeTask({ tenant: '', id: working.id }));
    assert.equal(payloads[0].$case, 'task');
    assert.equal(lastState(payloads), TaskState.TASK_STATE_COMPLETED);
  });

  await t.test('get, with a history length', async () => {
    const get = (historyLength) => client.getTask({ tenant: '', id: done.id, historyLength });
    assert.equal((await get(undefined)).id, done.id);
    assert.equal((await get(0)).history.length, 0);
    assert.equal((await get(1)).history.length, 1);
    await assert.rejects(client.getTask({ tenant: '', id: randomUUID() }), TaskNotFoundError);
  });

  await t.test('list, with every filter and paging', async () => {
    const all = await listed();
    assert.deepEqual([all.totalSize, all.tasks.length, all.nextPageToken], [4, 4, '']);
    const pages = [];
    let pageToken = '';
    do {
      const page = await listed({ pageSize: 3, pageToken });
      assert.equal(page.pageSize, 3);
      pages.push(...page.tasks.map(({ id }) => id));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    assert.deepEqual(pages, all.tasks.map(({ id }) => id));
    assert.equal((await listed({ status: TaskState.TASK_STATE_FAILED })).totalSize, 0);
    assert.equal((await listed({ status: TaskState.TASK_STATE_COMPLETED })).totalSize, 4);
    assert.equal((await listed({ contextId: randomUUID() })).totalSize, 0);
    const { timestamp } = all.tasks[0].status;
    assert.ok((await listed({ statusTimestampAfter: timestamp })).tasks.some(({ id }) => id === all.tasks[0].id));
    assert.deepEqual((await listed({ historyLength: 0 })).tasks.flatMap(({ history }) => history), []);
    assert.ok((await listed({ includeArtifacts: true })).tasks.every(({ artifacts }) => artifacts.length > 0));
    assert.deepEqual(all.tasks.flatMap(({ artifacts }) => artifacts), []);
  });

  await t.test('cancel', async () => {
    const working = await send('forever', {}, { returnImmediately: true });
    const canceled = await client.cancelTask({ tenant: '', id: working.id, metadata: undefined });
    assert.equal(canceled.id, working.id);
    await daemon.taskIn(working.id, 'CANCELED', { ms: 2_000 });
    await assert.rejects(client.cancelTask({ tenant: '', id: done.id, metadata: undefined }), TaskNotCancelableError);
  });

  await t.test('push configuration is refused while it is not declared', async () => {
    const ref = { tenant: '', taskId: done.id, id: 'hook' };
    const config = { ...ref, url: 'https://hook.example/', token: '', authentication: undefined };
    const calls = [
      () => client.createTaskPushNotificationConfig(config),
      () => client.getTaskPushNotificationConfig(ref),
      () => client.listTaskPushNotificationConfig({ tenant: '', taskId: done.id, pageSize: 10, pageToken: '' }),
      () => client.deleteTaskPushNotificationConfig(ref),
    ];
    for (const call of calls) await assert.rejects(async () => call(), PushNotificationNotSupportedError);
    for (const [method, params] of [['CreateTaskPushNotificationConfig', config], ['GetTaskPushNotificationConfig', ref],
      ['ListTaskPushNotificationConfigs', { taskId: done.id }], ['DeleteTaskPushNotificationConfig', ref]]) {
      const answer = await daemon.rpc(method, params);
      assertRefused(answer, { code: -32003, reason: 'PUSH_NOTIFICATION_NOT_SUPPORTED' });
    }
  });
});

test('the JavaScript client signs in when it is told to, and is nobody when its session is revoked', async (t) => {
  const { tokens, options } = users([], signIn());
  const daemon = await startDaemon(t, options);
  const operator = { token: tokens.operator };
  const challenges = [];
  let session;
  const handler = {
    headers: async () => (session ? { Authorization: `Bearer ${session.token}` } : {}),
    async shouldRetryWithHeaders(_, response) {
      if (response.status !== 401) return undefined;
      challenges.push(response.headers.get('www-authenticate'));
      if (session) return undefined;
      session = await letIn({ daemon, operator }, 'ada');
      return this.headers();
    },
    onSuccessfulRetry: async () => {},
  };
  const fetchImpl = createAuthenticatingFetchWithRetry(fetch, handler);
  const client = await new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new JsonRpcTransportFactory({ fetchImpl })],
  })).createFromUrl(daemon.url);
  const hello = () => client.sendMessage(SendMessageRequest.fromJSON({ message: userMessage('hello') }));
  assert.equal((await hello()).status.state, TaskState.TASK_STATE_COMPLETED);
  await completed(daemon, 'auth.sessions.revoke', { sid: session.sid }, operator);
  await assert.rejects(hello(), /signed out/);
  assert.deepEqual(challenges, ['Bearer realm="agentd"', 'Bearer realm="agentd", error="invalid_token"']);
});
