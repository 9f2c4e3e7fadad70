import { describe, expect, it } from 'vitest';
import type { Client, Line } from '../client.ts';
import { gist } from '../gist.ts';
import type { OpenRpcFixture, RpcFixtureOptions } from '../fixture.ts';
import { describeOnEach } from '../each-connection.ts';

/** An extension that calls the requested method of its user interface, and reports the result. */
const EXTENSION = `
  export default function ({ ui, registerCommand, on, send }) {
    const report = (answer) => ui.notify('answer ' + JSON.stringify(answer ?? null));
    registerCommand('ui', {
      description: 'Calls a method.',
      handler: async (text) => {
        const [method, ...args] = JSON.parse(text);
        report(await ui[method](...args));
      },
    });
    registerCommand('take-back', {
      handler: async () => {
        const { signal, abort } = { signal: undefined, abort: undefined, ...stopper() };
        const texts = [ui.editor('Edit', 'x', { signal }), ui.input('Say', undefined, { signal })];
        setImmediate(abort);
        report(await Promise.all(texts.map(async (text) => (await text) ?? 'nothing')));
      },
    });
    registerCommand('fail', { handler: () => { throw new Error('boom'); } });
    registerCommand('send', { handler: (text) => send(text) });
    registerCommand('send-number', { handler: () => send(7) });
    let isAsking = false;
    registerCommand('guard', { handler: () => { isAsking = true; } });
    on('session_before_switch', async ({ reason }) =>
      isAsking ? { cancel: !(await ui.confirm('Leave?', reason)) } : undefined);
  }
  function stopper() {
    const controller = new AbortController();
    return { signal: controller.signal, abort: () => controller.abort() };
  }
`;

async function extended(openFixture: OpenRpcFixture, more: RpcFixtureOptions = {}): Promise<Client> {
  const { client } = await openFixture([{ parts: [{ text: 'ok' }] }], { extension: EXTENSION, ...more });
  return client;
}

/** Makes the extension call a method of its user interface; returns what the client receives. */
async function call(client: Client, method: string, ...args: readonly unknown[]): Promise<Line> {
  const from = client.lines.length;
  client.send({ type: 'prompt', message: `/ui ${JSON.stringify([method, ...args])}` });
  return client.waitFor(({ type }) => type === 'extension_ui_request', from);
}

/** The result that the extension received. */
async function answerOn(client: Client, from = 0): Promise<unknown> {
  const { message } = await client.waitFor(({ message }) => String(message).startsWith('answer '), from);
  return JSON.parse(String(message).slice('answer '.length)) as unknown;
}

/** A method, its arguments, and the result. */
type Row<T = object> = readonly [string, readonly unknown[], T];

describeOnEach((openFixture) => {
  describe('a dialog of an extension', () => {
    it.each<Row>([
      ['select', ['Which?', ['a', 'b']], { method: 'select', title: 'Which?', options: ['a', 'b'] }],
      [
        'select',
        ['Which?', ['a', 'b'], { timeout: 60_000 }],
        { method: 'select', title: 'Which?', options: ['a', 'b'], timeout: 60_000 },
      ],
      [
        'input',
        ['Branch name', 'feature/...'],
        { method: 'input', title: 'Branch name', placeholder: 'feature/...' },
      ],
      ['input', ['Branch name'], { method: 'input', title: 'Branch name' }],
      ['editor', ['Edit', 'so far'], { method: 'editor', title: 'Edit', prefill: 'so far' }],
      ['editor', ['Edit'], { method: 'editor', title: 'Edit' }],
    ])(
      'is sent to the client, and its answer is passed on unvalidated: %s %j',
      async (method, args, fields) => {
        const client = await extended(openFixture);
        const request = await call(client, method, ...args);
        expect(request).toEqual({ type: 'extension_ui_request', id: request.id, ...fields });
        client.send({ type: 'extension_ui_response', id: request.id, value: 'feature/rpc-host' });
        expect(await answerOn(client)).toBe('feature/rpc-host');
      },
    );

    it.each([
      [{ confirmed: true }, true],
      [{ confirmed: false }, false],
      [{ cancelled: true }, false],
      [{ cancelled: true, timedOut: true }, false],
      [{ value: 'yes' }, false],
      [{}, false],
    ])('is confirmed by %j: %s', async (reply, answer) => {
      const client = await extended(openFixture);
      const { id, ...asked } = await call(client, 'confirm', 'Confirm', 'Continue?', { timeout: 30_000 });
      expect(asked).toEqual({
        type: 'extension_ui_request',
        method: 'confirm',
        title: 'Confirm',
        message: 'Continue?',
        timeout: 30_000,
      });
      client.send({ type: 'extension_ui_response', id: 'somebody else', confirmed: true });
      client.send({ type: 'extension_ui_response', id, ...reply });
      expect(await answerOn(client)).toBe(answer);
      client.send({ type: 'extension_ui_response', id, confirmed: true });
      await client.ask('get_state');
      expect(gist(client.lines)).toEqual([
        'extension_ui_request confirm',
        'prompt ok',
        'extension_ui_request notify',
        'get_state ok',
      ]);
    });

    it.each<Row>([
      ['select', ['Which?', ['a']], { cancelled: true }],
      ['select', ['Which?', ['a']], { confirmed: true }],
      ['input', ['Name'], { cancelled: true }],
      ['editor', ['Edit'], { cancelled: true }],
    ])(
      'has no answer if it is dismissed or the response is invalid: %s %j %j',
      async (method, args, reply) => {
        const client = await extended(openFixture);
        const { id } = await call(client, method, ...args);
        client.send({ type: 'extension_ui_response', id, ...reply });
        expect(await answerOn(client)).toBeNull();
      },
    );

    it.each<Row<unknown>>([
      ['select', ['Which?', ['a', 'b'], { timeout: 20 }], null],
      ['input', ['Name', 'yours', { timeout: 20 }], null],
      ['confirm', ['T', 'M', { timeout: 20 }], false],
    ])('that times out returns its default, and nothing is sent: %s', async (method, args, answer) => {
      const client = await extended(openFixture);
      const request = await call(client, method, ...args);
      expect(request).toMatchObject({ method, timeout: 20 });
      expect(await answerOn(client)).toBe(answer);
      client.send({ type: 'extension_ui_response', id: request.id, value: 'late', confirmed: true });
      await client.ask('get_state');
      expect(client.lines.filter(({ method: name }) => name === 'cancel')).toEqual([]);
    });

    it('that is withdrawn is cancelled at the host', async () => {
      const client = await extended(openFixture);
      client.send({ type: 'prompt', message: '/take-back' });
      const editor = await client.waitFor(({ method }) => method === 'editor');
      const input = await client.waitFor(({ method }) => method === 'input');
      expect(await answerOn(client)).toEqual(['nothing', 'nothing']);
      const cancels = client.lines.filter(({ method }) => method === 'cancel');
      expect(cancels).toEqual([
        { type: 'extension_ui_request', id: cancels[0]?.id, method: 'cancel', targetId: editor.id },
        { type: 'extension_ui_request', id: cancels[1]?.id, method: 'cancel', targetId: input.id },
      ]);
    });
  });

  describe('a switch that an extension can prevent', () => {
    it.each([
      [true, false],
      [false, true],
    ])('is confirmed while the command waits: confirmed %s', async (confirmed, cancelled) => {
      const client = await extended(openFixture);
      await client.ask('prompt', { message: '/guard' });
      const before = await client.get('get_state');
      client.send({ id: 'n', type: 'new_session' });
      const { id, message } = await client.waitFor(({ method }) => method === 'confirm');
      expect(message).toBe('new');
      client.send({ type: 'extension_ui_response', id, confirmed });
      expect(await client.waitFor((line) => line.id === 'n')).toMatchObject({
        success: true,
        data: { cancelled },
      });
      const { sessionId } = await client.get('get_state');
      expect(sessionId === before.sessionId).toBe(cancelled);
    });

    it('by a branch keeps its text', async () => {
      const client = await extended(openFixture);
      await client.run('one');
      const { messages } = await client.get('get_branch_messages');
      const [{ entryId }] = messages as [{ entryId: string }];
      await client.ask('prompt', { message: '/guard' });
      client.send({ id: 'b', type: 'branch', entryId });
      const { id } = await client.waitFor(({ method }) => method === 'confirm');
      client.send({ type: 'extension_ui_response', id, cancelled: true });
      expect(await client.waitFor((line) => line.id === 'b')).toMatchObject({
        data: { text: 'one', cancelled: true },
      });
    });
  });

  describe('an extension', () => {
    it.each<Row>([
      ['notify', ['hi'], { method: 'notify', message: 'hi', notifyType: 'info' }],
      ['notify', ['hi', 'warning'], { method: 'notify', message: 'hi', notifyType: 'warning' }],
      ['setStatus', ['k', 'busy'], { method: 'setStatus', statusKey: 'k', statusText: 'busy' }],
      ['setStatus', ['k'], { method: 'setStatus', statusKey: 'k' }],
      [
        'setWidget',
        ['w', ['a'], 'aboveEditor'],
        { method: 'setWidget', widgetKey: 'w', widgetLines: ['a'], widgetPlacement: 'aboveEditor' },
      ],
      ['setWidget', ['w'], { method: 'setWidget', widgetKey: 'w' }],
      ['setEditorText', ['x'], { method: 'set_editor_text', text: 'x' }],
    ])('sends notices without a response: %s %j', async (method, args, fields) => {
      const client = await extended(openFixture);
      const request = await call(client, method, ...args);
      expect(request).toEqual({ type: 'extension_ui_request', id: request.id, ...fields });
      expect(request.id).toMatch(/./);
      expect(await answerOn(client)).toBeNull();
    });

    it.each([
      [true, ['setTitle', 'notify']],
      [false, ['notify']],
    ])('sets a title only for a host that supports it: %s', async (emitsTitle, methods) => {
      const client = await extended(openFixture, { emitsTitle });
      await client.ask('prompt', { message: '/ui ["setTitle","t"]' });
      expect(await answerOn(client)).toBeNull();
      const requests = client.lines.filter(({ type }) => type === 'extension_ui_request');
      expect(requests.map(({ method }) => method)).toEqual(methods);
      if (emitsTitle) expect(requests[0]).toMatchObject({ title: 't' });
    });

    it('runs its command without a run, and cannot be queued', async () => {
      const client = await extended(openFixture);
      expect(await client.get('prompt', { message: '/ui ["notify","now please"]' })).toEqual({
        disposition: 'handled',
      });
      for (const type of ['steer', 'follow_up'])
        expect(await client.ask(type, { message: '/ui x' })).toMatchObject({
          success: false,
          error:
            'Extension command "/ui" cannot be queued. Use prompt() or execute the command when not streaming.',
        });
      const { commands } = await client.get('get_commands');
      expect((commands as Line[])[0]).toMatchObject({
        name: 'ui',
        description: 'Calls a method.',
        source: 'extension',
      });
      expect(client.types.filter((type) => type === 'agent_start')).toEqual([]);
      const lines = await client.run('/unknown is text');
      expect(gist(lines)).toContain('agent_end user assistant');
    });

    it('that fails is reported', async () => {
      const client = await extended(openFixture);
      await client.ask('prompt', { message: '/fail' });
      expect(await client.waitFor(({ type }) => type === 'extension_error')).toEqual({
        type: 'extension_error',
        extensionPath: 'command:fail',
        event: 'command',
        error: 'boom',
      });
    });

    it('can prompt the agent, and the client receives only the run', async () => {
      const client = await extended(openFixture);
      await client.ask('prompt', { message: '/send hello from here' });
      await client.quiet();
      const [first] = client.lines.filter(({ type }) => type === 'message_end');
      expect(JSON.stringify(first?.message)).toContain('hello from here');
      expect(gist(client.lines).filter((line) => line.endsWith(' ok'))).toEqual(['prompt ok']);
      await client.ask('prompt', { message: '/send-number' });
      expect(await client.waitFor(({ success }) => success === false)).toEqual({
        type: 'response',
        command: 'extension_send_user',
        success: false,
        error: expect.stringMatching(/./) as unknown,
      });
    });
  });
});
