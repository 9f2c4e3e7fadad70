import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
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
