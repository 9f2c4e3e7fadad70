import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/base/index.ts';
import { task, tasksFixture, textAnswer } from './fixture.ts';

const JSON_TYPE = 'application/json';

describe('the body of a request', () => {
  it('without a declared length is limited too', async () => {
    const { client, door } = await tasksFixture([]);
    const { headers } = client();
    const status = await new Promise((resolve, reject) => {
      const sent = request(
        `${door().url}/submit_task`,
        { method: 'POST', headers: { ...headers, 'content-type': JSON_TYPE } },
        (response) => {
          response.resume();
          resolve(response.statusCode);
        },
      );
      sent.on('error', reject);
      for (let count = 0; count < 20; count += 1) sent.write(' '.repeat(100_000));
      sent.flushHeaders();
    });
    expect(status).toBe(413);
  });

  it('requires the JSON content type, with any parameters', async () => {
    const { client } = await tasksFixture(() => textAnswer('Hello.'));
    const ada = client();
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/jsonx',
      'nonsense',
      '',
    ])
      expect([type, (await ada.post('/submit_task', task(), { 'content-type': type })).status]).toEqual([
        type,
        415,
      ]);
    for (const type of [
      'application/json; charset=utf-8',
      'application/json;charset=utf-8',
      'Application/JSON',
    ])
      expect([type, (await ada.post('/submit_task', task(), { 'content-type': type })).status]).toEqual([
        type,
        200,
      ]);
  });

  it('is ignored by a route that has none', async () => {
    const { client } = await tasksFixture([textAnswer('Hello.')]);
    const ada = client();
    const taskId = await ada.submit();
    await ada.done(taskId);
    for (const type of ['text/plain', JSON_TYPE]) {
      const { status, body } = await ada.post(`/tasks/${taskId}/cancel`, 'no json', { 'content-type': type });
      expect({ status, body }).toMatchObject({ status: 409, body: { error: { code: 'task_over' } } });
    }
  });

  it('of an unknown path is not read', async () => {
    const { client } = await tasksFixture([]);
    expect((await client().post('/nowhere', 'no json', { 'content-type': 'text/plain' })).status).toBe(404);
  });
});

describe('an invalid value', () => {
  it('is described but not quoted, as it may be a secret, except for a word of a list', async () => {
    const { client } = await tasksFixture([]);
    const message = async (more: JsonObject): Promise<string> => {
      const { body } = await client().post('/submit_task', task(more));
      return (body as { error: { message: string } }).error.message;
    };
    expect(await message({ context: { maxTurns: 'sk-secret' } })).toBe(
      'the task cannot be read: context.maxTurns must be a whole number from 1 on, not text',
    );
    expect(await message({ context: { allowedPaths: ['sk-secret'] } })).toBe(
      'the task cannot be read: context.allowedPaths.0 must be an absolute path of at most 4096 characters, without null characters',
    );
    expect(await message({ context: { budget: -1 } })).toContain(
      'context.budget must be an amount of 0 or more',
    );
    expect(await message({ userPrompt: ' ' })).toBe(
      'the task cannot be read: userPrompt must be text, not blank',
    );
    expect(await message({ userPrompt: [] })).toBe(
      'the task cannot be read: userPrompt must be text, not a list',
    );
    expect(await message({ taskType: 'chatt' })).toContain(
      'taskType must be one of chat, command_execution, file_operation, complex_task, not "chatt": did you mean "chat"?',
    );
    expect(await message({ taskType: 'x'.repeat(1_000) })).toContain('complex_task, not text');
    expect(await message({ context: { files: Array(101).fill('f') } })).toContain(
      'context.files must have at most 100 elements',
    );
  });

  it('in a header is named as clients write the header', async () => {
    const { client } = await tasksFixture([]);
    const { body } = await client().post('/submit_task', task(), { 'idempotency-key': 'k'.repeat(201) });
    expect(body).toMatchObject({
      error: {
        message: 'Idempotency-Key must be text of at most 200 characters',
        details: { field: 'Idempotency-Key' },
      },
    });
  });
});
