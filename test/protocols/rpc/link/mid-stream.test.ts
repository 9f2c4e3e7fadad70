import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryDirectory } from '../../../cli/polypod.ts';
import { Program } from '../program.ts';

const sse = (...payloads: readonly object[]): string =>
  payloads.map((payload) => `data: ${JSON.stringify(payload)}\n\n`).join('');

const anthropic = {
  begin: sse(
    { type: 'message_start', message: { id: 'm', model: 'x', usage: { input_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Half' } },
  ),
  end: sse(
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ),
};
const chat = {
  begin: sse({ id: 'c', choices: [{ index: 0, delta: { role: 'assistant', content: 'Half' } }] }),
  end: `${sse({ id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}data: [DONE]\n\n`,
};
const responses = {
  begin: sse(
    { type: 'response.created', response: { id: 'r' } },
    { type: 'response.output_item.added', output_index: 0, item: { type: 'message', id: 'i' } },
    { type: 'response.output_text.delta', output_index: 0, content_index: 0, item_id: 'i', delta: 'Half' },
  ),
  end: sse(
    { type: 'response.output_text.done', output_index: 0, content_index: 0, item_id: 'i', text: 'Half' },
    { type: 'response.output_item.done', output_index: 0, item: { type: 'message', id: 'i' } },
    { type: 'response.completed', response: { id: 'r', status: 'completed', output: [] } },
  ),
};

/** A provider whose first answer fails within the stream, and whose second is complete. */
async function failingOnce(first: string, second: string): Promise<{ url: string; requests: () => number }> {
  let requests = 0;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      requests += 1;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(requests === 1 ? first : second);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests: () => requests };
}

describe('a failure in the middle of an answer is retried by the built program', () => {
  it.each([
    ['anthropic', anthropic, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }],
    ['anthropic', anthropic, { type: 'error', error: { type: 'rate_limit_error', message: 'slower' } }],
    [
      'openai-chat',
      chat,
      { error: { message: 'slower', type: 'tokens', code: 'rate_limit_exceeded', param: null } },
    ],
    ['openai-chat', chat, { error: { message: 'Overloaded', type: 'overloaded_error', code: 'x-1305' } }],
    [
      'openai-responses',
      responses,
      {
        type: 'response.failed',
        response: {
          id: 'r',
          status: 'failed',
          error: { code: 'rate_limit_exceeded', message: 'Rate limit reached. Please try again in 20ms.' },
        },
      },
    ],
  ])('%s: %#', async (wire, { begin, end }, failure) => {
    const provider = await failingOnce(begin + sse(failure), begin + end);
    const home = temporaryDirectory();
    const configFile = join(home, 'config.yaml');
    const accounts = { mine: { wire, base_url: provider.url, key: 'any' } };
    writeFileSync(configFile, JSON.stringify({ accounts }), { mode: 0o600 });
    const program = new Program(['--no-session', '--model', 'mine/x'], {
      HOME: home,
      POLYPOD_CONFIG: configFile,
    });
    const lines = await program.run('go');
    const retryLines = lines.filter(({ type }) => type.startsWith('auto_retry') || type === 'agent_end');
    expect(retryLines).toMatchObject([
      { type: 'agent_end' },
      { type: 'auto_retry_start', attempt: 1 },
      { type: 'auto_retry_end', success: true },
      { type: 'agent_end', messages: [{ role: 'assistant', stopReason: 'stop' }] },
    ]);
    expect(provider.requests()).toBe(2);
  });
});
