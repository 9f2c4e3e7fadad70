import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { arrayOf, objectOf, stringOf } from '../../src/base/index.ts';
import { type SimAnswer, startSim } from '../../src/sim/index.ts';
import { RpcClient } from '../doors/clients/rpc.ts';
import { Daemon } from '../doors/daemon.ts';
import { brokenRules } from '../doors/invariants.ts';
import { connectLines } from '../doors/lines.ts';
import { SharedSession } from '../doors/shared-session.ts';
import { scripted } from '../mcp/fixture.ts';
import { AGENTS, isInstalled } from './contract/agents.ts';

const [CLAUDE] = AGENTS.filter(({ name }) => name === 'claude');
if (CLAUDE === undefined) throw new Error('Claude Code is not among the agents for tests');
const { bash, prepare, command } = CLAUDE;

const text = (words: string): SimAnswer => ({ parts: [{ text: words }], pace: { chunkSize: 5 } });
const touch = (file: string) => ({ toolCall: bash(`touch ${file}`) });

/** A daemon with all doors, and Claude Code, whose model gives these answers in order. */
async function daemonWith(answers: readonly SimAnswer[]): Promise<Daemon> {
  let next = 0;
  const sim = await startSim({
    // Requests without tools are not part of the conversation.
    script: ({ tools }) => (tools.length === 0 ? text('word') : (answers[next++] ?? text('nothing'))),
  });
  onTestFinished(() => sim.close());
  const daemon = await Daemon.start((home) => {
    const backends = { claude: { command, env: prepare(home, sim.url) } };
    // JSON is YAML.
    return `titles: off\nbackends: ${JSON.stringify(backends)}\n`;
  });
  onTestFinished(async () => {
    await daemon.stop();
    await daemon.remove();
  });
  return daemon;
}

/** Watches the session over the control socket, as `polypod attach` does: a snapshot, then all later events. */
async function watched(
  daemon: Daemon,
  pod: string,
): Promise<{ readonly numbers: number[]; readonly from: number }> {
  const link = await connectLines(daemon.control);
  onTestFinished(() => link.close());
  const numbers: number[] = [];
  link.onLine = (line) => {
    for (const event of arrayOf(objectOf(line.watched).events)) numbers.push(Number(objectOf(event).seq));
  };
  link.send({ method: 'watch', params: { pod } });
  const first = await link.next((line) => objectOf(line.watched).type === 'snapshot');
  return { numbers, from: Number(objectOf(objectOf(first.watched).snapshot).seq) };
}

test.skipIf(!isInstalled(CLAUDE))(
  'a session of Claude Code is driven over rpc, decided over HLD, and the same at every door',
  async () => {
    const daemon = await daemonWith([
      { parts: [{ thinking: 'A file.' }, { text: 'I create it.' }, touch('made')] },
      text('It is there.'),
      { parts: [{ text: 'Two more.' }, touch('second'), touch('third')] },
      text('Only one of them.'),
      { parts: [{ text: 'I begin with a long answer' }], fault: { kind: 'stall', after: 1 } },
      text('Then something else.'),
    ]);
    const { client: rpc, pod } = await RpcClient.create({ daemon, fromStart: true, name: 'rpc stdio' }, [
      '--backend',
      'claude',
    ]);
    const session = new SharedSession(daemon, pod);
    onTestFinished(() => session.leave());
    session.clients.push(rpc);
    for (const wire of ['pod', 'pod plain', 'tasks SSE', 'tasks WebSocket', 'hld'] as const)
      await session.join(wire);
    const hld = session.client('hld');

    await session.prompt(rpc.prompt, { text: 'Create the file made.', hasTools: true });
    await session.untilState('waiting');
    expect(existsSync(join(daemon.project, 'made'))).toBe(false);
    // They join while a call waits for approval.
    await session.join('acp', false);
    const attached = await watched(daemon, pod);
    await session.decide(hld, 'approve');
    await session.until('the first run ends', ({ type }) => type === 'run-end');
    expect(existsSync(join(daemon.project, 'made'))).toBe(true);

    // These join between two runs.
    await session.join('acp stdio', false);
    await session.join('rpc', false);
    await session.prompt(rpc.prompt, { text: 'Create two more.', hasTools: true });
    await session.untilState('waiting');
    await session.decide(hld, 'deny');
    await session.until('the other call waits', ({ type }) => type === 'approval-request', 3);
    await session.decide(hld, 'approve');
    await session.until('the second run ends', ({ type }) => type === 'run-end', 2);
    expect(['second', 'third'].filter((name) => existsSync(join(daemon.project, name)))).toHaveLength(1);

    await session.prompt(rpc.prompt, { text: 'Tell me everything.', hasTools: false });
    await session.until(
      'the third answer begins',
      (event) => event.type === 'block-delta' && JSON.stringify(event.delta).includes('I begin'),
    );
    await session.expect(session.client('pod').cancel?.(), 'accepted');
    await session.until('the third run ends', ({ type }) => type === 'run-end', 3);
    await session.prompt(session.client('acp').prompt, { text: 'Something else.', hasTools: false });
    await session.until('the fourth run ends', ({ type }) => type === 'run-end', 4);

    const { log, problems } = await session.settle();
    expect(problems).toEqual([]);
    expect(brokenRules(log, [])).toEqual([]);
    expect(log.flatMap((event) => (event.type === 'run-end' ? [event.outcome.status] : []))).toEqual([
      'finished',
      'finished',
      'cancelled',
      'finished',
    ]);
    expect(log.flatMap((event) => (event.type === 'tool-end' ? [event.name] : []))).toEqual([
      'Bash',
      'Bash',
      'Bash',
    ]);
    expect(
      log.flatMap((event) => (event.type === 'approval-response' ? [`${event.status} ${event.door}`] : [])),
    ).toEqual(['approved hld', 'denied hld', 'approved hld']);
    const later = log.map(({ seq }) => seq).filter((seq) => seq > attached.from);
    await expect.poll(() => attached.numbers.at(-1)).toBe(later.at(-1));
    expect(attached.numbers).toEqual(later);
  },
);

test.skipIf(!isInstalled(CLAUDE))('Claude Code connects to the MCP servers of an editor', async () => {
  const daemon = await daemonWith([
    { parts: [{ toolCall: { name: 'mcp__desk__word', arguments: {} } }] },
    text('Violet.'),
  ]);
  const { command: program, args } = scripted(
    "tools = [tool('word')]; methods['tools/call'] = () => text(process.env.WORD ?? 'none');",
  );
  const editor = await connectLines(daemon.acp);
  onTestFinished(() => editor.close());
  let id = 0;
  const request = async (method: string, params: object) => {
    const own = (id += 1);
    editor.send({ jsonrpc: '2.0', id: own, method, params });
    const line = await editor.next((one) => one.id === own && !('method' in one), 0);
    expect(line.error).toBeUndefined();
    return objectOf(line.result);
  };
  editor.onLine = (line) => {
    if (line.method !== 'session/request_permission') return;
    const result = { outcome: { outcome: 'selected', optionId: 'allow-once' } };
    editor.send({ jsonrpc: '2.0', id: line.id, result });
  };
  editor.send({ by: 'ada', setup: { command: 'polypod', args: [] } });
  await editor.next(({ open }) => open === true);
  await request('initialize', { protocolVersion: 1, clientCapabilities: {} });
  const env = [{ name: 'WORD', value: 'violet' }];
  const mcpServers = [{ name: 'desk', command: program, args, env }];
  const meta = { polypod: { backend: 'claude' } };
  const { sessionId } = await request('session/new', { cwd: daemon.project, mcpServers, _meta: meta });
  const prompt = [{ type: 'text', text: 'Which word?' }];
  expect(await request('session/prompt', { sessionId, prompt })).toMatchObject({ stopReason: 'end_turn' });
  const log = await daemon.log(stringOf(sessionId));
  const [end] = log.flatMap((event) => (event.type === 'tool-end' ? [event] : []));
  expect(end).toMatchObject({
    name: 'mcp__desk__word',
    status: 'done',
    output: { content: [{ text: 'violet' }] },
  });
});
