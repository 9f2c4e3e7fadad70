import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { arrayOf } from '../../../src/base/index.ts';
import { sealRecords } from '../../../src/store/index.ts';
import { Program } from '../../protocols/rpc/program.ts';
import { textAnswer, cliFixture } from '../daemon.ts';
import { polypod } from '../polypod.ts';

const ID = '0198a000-0000-7000-8000-000000000001';
const ROUNDS = 5000;
const ENTRIES = 4 * ROUNDS;

/** A chain of 20,000 entries: prompts, calls, results and answers. */
function longSession(cwd: string): Buffer {
  const at = '2026-01-01T00:00:00.000Z';
  const header = { type: 'session', version: 3, id: ID, timestamp: at, cwd };
  const parts = [Buffer.from(sealRecords([JSON.stringify(header)]))];
  let last: string | null = null;
  let count = 0;
  const add = (message: object): void => {
    const id = (count += 1).toString(16).padStart(8, '0');
    const entry = { type: 'message', id, parentId: last, timestamp: at, message };
    parts.push(Buffer.from(sealRecords([JSON.stringify(entry)])));
    last = id;
  };
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost };
  const answer = (content: object[], stopReason: string): void =>
    add({
      role: 'assistant',
      content,
      api: 'anthropic-messages',
      provider: 'anthropic',
      model: 'x',
      usage,
      stopReason,
      timestamp: 1,
    });
  for (let round = 0; round < ROUNDS; round += 1) {
    add({ role: 'user', content: [{ type: 'text', text: `question ${round}` }], timestamp: 1 });
    answer([{ type: 'toolCall', id: `call_${round}`, name: 'ls', arguments: { path: '.' } }], 'toolUse');
    add({
      role: 'toolResult',
      toolCallId: `call_${round}`,
      toolName: 'ls',
      content: [{ type: 'text', text: 'a.txt' }],
      isError: false,
      timestamp: 1,
    });
    answer([{ type: 'text', text: `answer ${round}` }], 'stop');
  }
  return Buffer.concat(parts);
}

describe('a session of 20,000 entries', () => {
  it('works with every command and door', async () => {
    const fixture = await cliFixture([textAnswer('Rpc.'), textAnswer('A summary.'), textAnswer('Chat.')]);
    const { dataDirectory, env, home, project } = fixture;
    const directory = join(dataDirectory, 'sessions');
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const file = join(directory, `${ID}.jsonl`);
    const bytes = longSession(project);
    // One line is missing, so the repair has to walk the complete chain.
    const before = bytes.indexOf('\n', 5000) + 1;
    const after = bytes.indexOf('\n', before) + 1;
    writeFileSync(file, Buffer.concat([bytes.subarray(0, before), bytes.subarray(after)]), { mode: 0o600 });
    expect(await fixture.polypod('log', 'repair', file)).toMatchObject({ code: 0 });

    const daemon = await fixture.serve();
    const rpc = new Program(['--session', file], env);
    expect(arrayOf((await rpc.get('get_messages')).messages).length).toBeGreaterThan(ENTRIES - 3);
    await rpc.get('get_tree');
    await rpc.get('get_session_stats');
    await rpc.get('export_html', { outputPath: join(home, 'page.html') });
    expect(readFileSync(join(home, 'page.html'), 'utf8')).toContain(`answer ${ROUNDS - 1}`);
    expect(await hldConversation(join(home, '.humanlayer/daemon.sock'))).toContain(`answer ${ROUNDS - 1}`);
    await rpc.run('hello');
    await rpc.get('compact');
    expect(arrayOf((await rpc.get('get_messages')).messages)[0]).toMatchObject({ role: 'compactionSummary' });
    await rpc.get('branch', { entryId: '00004001' });
    await rpc.end();

    const chat = await fixture.polypod('chat', '--plain', '--resume', ID, 'hello');
    expect(chat).toMatchObject({ code: 0, stdout: expect.stringContaining('Chat.') });
    expect(await polypod(['attach', '--plain', ID], { env })).toMatchObject({ code: 0 });
    expect(daemon.output().stderr).not.toMatch(/ (?:warn|error) /);
  }, 180_000);
});

/** The answer of the HLD door, as text. */
function hldConversation(socket: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const link = connect(socket);
    const pieces: string[] = [];
    link.setEncoding('utf8').on('data', (piece: string) => {
      pieces.push(piece);
      if (piece.includes('\n')) link.end();
    });
    link.on('close', () => resolve(pieces.join(''))).on('error', reject);
    const request = { jsonrpc: '2.0', id: 1, method: 'getConversation', params: { session_id: ID } };
    link.write(`${JSON.stringify(request)}\n`);
  });
}
