import { describe, expect, it } from 'vitest';
import { objectOf } from '../../../src/base/index.ts';
import type { ExtensionLink, RpcExtensions } from '../../../src/protocols/index.ts';
import { NO_EXTENSIONS } from '../../../src/protocols/rpc/parts.ts';
import { gist } from './gist.ts';
import { type Client, type Line, stage } from './stage.ts';

/** An extension that has the test's own hand on the link. */
async function extended(more: Partial<RpcExtensions> = {}) {
  let link: ExtensionLink | undefined;
  const extensions = {
    ...NO_EXTENSIONS,
    start: async (given: ExtensionLink) => {
      link = given;
    },
    ...more,
  };
  const { client } = await stage([{ parts: [{ text: 'ok' }] }], { parts: { extensions } });
  await client.ask('get_commands');
  if (link === undefined) throw new Error('the extension was not started');
  return { client, link, ui: link.ui };
}

const request = (client: Client, method: string): Promise<Line> =>
  client.hear((line) => line.type === 'extension_ui_request' && line.method === method);

describe('a question of an extension', () => {
  it('is put to the client and answered by it', async () => {
    const { client, ui } = await extended();
    const name = ui.text({ method: 'input', title: 'Branch name', placeholder: 'feature/...' });
    const asked = await request(client, 'input');
    expect(asked).toEqual({
      type: 'extension_ui_request',
      id: asked.id,
      method: 'input',
      title: 'Branch name',
      placeholder: 'feature/...',
    });
    client.send({ type: 'extension_ui_response', id: asked.id, value: 'feature/rpc-host' });
    expect(await name).toBe('feature/rpc-host');
  });

  it.each([
    [{ confirmed: true }, true],
    [{ confirmed: false }, false],
    [{ cancelled: true }, false],
    [{ value: 'yes' }, false],
  ])('is confirmed by %j: %s', async (reply, answer) => {
    const { client, ui } = await extended();
    const confirmed = ui.confirm({ title: 'Confirm', message: 'Continue?' });
    const { id } = await request(client, 'confirm');
    client.send({ type: 'extension_ui_response', id: 'somebody else', confirmed: true });
    client.send({ type: 'extension_ui_response', id, ...reply });
    expect(await confirmed).toBe(answer);
    client.send({ type: 'extension_ui_response', id, confirmed: true });
    await client.ask('get_state');
    expect(gist(client.lines).slice(1)).toEqual(['extension_ui_request confirm', 'get_state ok']);
  });

  it('that nobody answers in time has its default', async () => {
    const { client, ui } = await extended();
    const chosen = ui.text({ method: 'select', title: 'Which?', options: ['a', 'b'], timeout: 20 });
    expect(await request(client, 'select')).toMatchObject({ options: ['a', 'b'], timeout: 20 });
    expect(await chosen).toBeUndefined();
    expect(await ui.confirm({ title: 'T', message: 'M', timeout: 1 })).toBe(false);
  });

  it('that is taken back is told only of an editor', async () => {
    const { client, ui } = await extended();
    const stop = new AbortController();
    const texts = [
      ui.text({ method: 'editor', title: 'Edit', prefill: 'x' }, stop.signal),
      ui.text({ method: 'input', title: 'Say' }, stop.signal),
    ];
    const editor = await request(client, 'editor');
    stop.abort();
    expect(await Promise.all(texts)).toEqual([undefined, undefined]);
    expect(await request(client, 'cancel')).toMatchObject({ targetId: editor.id });
    expect(client.lines.filter(({ method }) => method === 'cancel')).toHaveLength(1);
  });
});

describe('a switch that an extension objects to', () => {
  it.each([
    [true, false],
    [false, true],
  ])('is asked about: confirmed %s', async (confirmed, cancelled) => {
    const held: { link?: ExtensionLink } = {};
    const extensions = {
      ...NO_EXTENSIONS,
      start: async (link: ExtensionLink) => {
        held.link = link;
      },
      cancelsSwitch: async () => !(await held.link?.ui.confirm({ title: 'Leave?', message: 'Really?' })),
    };
    const { client } = await stage([], { parts: { extensions } });
    client.send({ id: 'n', type: 'new_session' });
    const { id } = await request(client, 'confirm');
    client.send({ type: 'extension_ui_response', id, confirmed });
    expect(await client.hear((line) => line.id === 'n')).toMatchObject({
      success: true,
      data: { cancelled },
    });
  });
});

describe('an extension', () => {
  it('tells things without being answered', async () => {
    const { client, ui } = await extended();
    const from = client.lines.length;
    ui.tell({ method: 'notify', message: 'hi', notifyType: 'warning' });
    ui.tell({ method: 'setStatus', statusKey: 'k' });
    ui.tell({ method: 'setWidget', widgetKey: 'w', widgetLines: ['a'], widgetPlacement: 'aboveEditor' });
    ui.tell({ method: 'setTitle', title: 't' });
    ui.tell({ method: 'set_editor_text', text: 'x' });
    await client.ask('get_state');
    expect(client.lines.slice(from, -1).map(({ id: _, type: _type, ...rest }) => rest)).toEqual([
      { method: 'notify', message: 'hi', notifyType: 'warning' },
      { method: 'setStatus', statusKey: 'k' },
      { method: 'setWidget', widgetKey: 'w', widgetLines: ['a'], widgetPlacement: 'aboveEditor' },
      { method: 'setTitle', title: 't' },
      { method: 'set_editor_text', text: 'x' },
    ]);
  });

  it('runs its command without a run, and cannot be queued', async () => {
    const ran: string[] = [];
    const { client } = await extended({
      commands: () => [{ name: 'deploy', description: 'Deploys', path: '/x.js' }],
      run: (name, args) => name === 'deploy' && ran.push(args) > 0,
    });
    expect(await client.get('prompt', { message: '/deploy now please' })).toEqual({ disposition: 'handled' });
    expect(ran).toEqual(['now please']);
    expect(await client.ask('steer', { message: '/deploy' })).toMatchObject({
      success: false,
      error:
        'Extension command "/deploy" cannot be queued. Use prompt() or execute the command when not streaming.',
    });
    expect(await client.get('get_commands')).toMatchObject({
      commands: [{ name: 'deploy', description: 'Deploys', source: 'extension' }],
    });
    expect(client.types.filter((type) => type === 'agent_start')).toEqual([]);
    const lines = await client.run('/unknown is text');
    expect(gist(lines)).toContain('agent_end user assistant');
  });

  it('that fails is told of, and one that wants an end gets it after the next answer', async () => {
    const { client, link } = await extended();
    link.failed('/x.js', 'command', 'boom');
    expect(await client.hear(({ type }) => type === 'extension_error')).toEqual({
      type: 'extension_error',
      extensionPath: '/x.js',
      event: 'command',
      error: 'boom',
    });
    link.shutdown();
    expect(await client.ask('get_state')).toMatchObject({ success: true });
    await client.over;
  });
});

describe('an approval', () => {
  const ASK = { parts: [{ toolCall: { name: 'bash', arguments: { command: 'touch made' } } }] };
  const DONE = { parts: [{ text: 'done' }] };
  const asking = { agent: { rules: [] } };

  it('is asked of the client, who may allow it once', async () => {
    const { client } = await stage([ASK, DONE], asking);
    client.send({ type: 'prompt', message: 'go' });
    const asked = await client.hear(({ type }) => type === 'extension_ui_request');
    expect(asked).toMatchObject({ method: 'select' });
    expect(asked.title).toContain('touch made');
    expect(await client.get('get_state')).toMatchObject({ isStreaming: true });
    client.send({ type: 'extension_ui_response', id: asked.id, value: 'Allow once' });
    await client.hear(({ type }) => type === 'agent_settled');
    expect(client.lines.find(({ type }) => type === 'tool_execution_end')).toMatchObject({ isError: false });
  });

  it.each([{ value: 'Deny' }, { cancelled: true }])('is denied by %j', async (reply) => {
    const { client } = await stage([ASK, DONE], asking);
    client.send({ type: 'prompt', message: 'go' });
    const { id } = await client.hear(({ type }) => type === 'extension_ui_request');
    client.send({ type: 'extension_ui_response', id, ...reply });
    await client.hear(({ type }) => type === 'agent_settled');
    const end = client.lines.find(({ type }) => type === 'tool_execution_end');
    expect(end).toMatchObject({ isError: true });
    expect(JSON.stringify(objectOf(end?.result).content)).toContain('denied this call');
  });

  it('for the session is not asked again', async () => {
    const { client } = await stage([ASK, DONE, ASK, DONE], asking);
    client.send({ type: 'prompt', message: 'go' });
    const { id } = await client.hear(({ type }) => type === 'extension_ui_request');
    client.send({ type: 'extension_ui_response', id, value: 'Allow for this session' });
    await client.hear(({ type }) => type === 'agent_settled');
    const lines = await client.run('again');
    expect(lines.filter(({ type }) => type === 'extension_ui_request')).toEqual([]);
  });

  it('that another door decides is not waited for any longer', async () => {
    const { client, host } = await stage([ASK, DONE], asking);
    const { sessionId } = await client.get('get_state');
    client.send({ type: 'prompt', message: 'go' });
    const { id } = await client.hear(({ type }) => type === 'extension_ui_request');
    const pod = host.pod(String(sessionId));
    const [approval] = (await pod.snapshot()).approvals;
    await pod.handle(
      { type: 'decide', approvalId: approval?.approvalId ?? '', decision: 'approve' },
      { by: 'bob', door: 'other' },
    );
    await client.hear(({ type }) => type === 'agent_settled');
    client.send({ type: 'extension_ui_response', id, value: 'Deny' });
    expect(client.lines.find(({ type }) => type === 'tool_execution_end')).toMatchObject({ isError: false });
  });
});

describe('a rule of the stream', () => {
  it('cuts the answer that breaks it, and the agent begins again by the rule', async () => {
    const rules = [
      { name: 'no-any', path: '/rules/no-any.md', content: 'Never write any.', condition: [':\\s*any\\b'] },
    ];
    const prompts: string[] = [];
    const { client } = await stage(
      ({ messages }) => {
        prompts.push(messages.at(-1)?.text ?? '');
        const text = prompts.length === 1 ? `let x: any = 1; ${'more '.repeat(500)}` : 'let x: number = 1;';
        return { parts: [{ text }], pace: { delayMs: 5 } };
      },
      { parts: { rules } },
    );
    const lines = await client.run('write');
    expect(lines.find(({ type }) => type === 'ttsr_triggered')).toEqual({ type: 'ttsr_triggered', rules });
    const order = gist(lines).filter((line) => /^(?:agent|ttsr|message_end)/.test(line));
    expect(order).toEqual([
      'agent_start',
      'message_end user',
      'ttsr_triggered',
      'message_end assistant aborted',
      'agent_end user assistant',
      'agent_start',
      'message_end custom',
      'message_end assistant stop',
      'agent_end custom assistant',
      'agent_settled',
    ]);
    expect(prompts[1]).toContain('Never write any.');
  });
});
