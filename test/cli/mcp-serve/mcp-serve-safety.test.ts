import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { call, textAnswer } from '../daemon.ts';
import { start } from '../polypod.ts';
import { mcpFixture } from './fixture.ts';

const TOUCH = call('bash', { command: 'touch made' });
const names = async ({ client }: { client: { listTools: () => Promise<{ tools: { name: string }[] }> } }) =>
  (await client.listTools()).tools.map(({ name }) => name);

describe('the tools of polypod mcp serve', () => {
  it('contain approve_call only with --allow-approvals', async () => {
    const fixture = await mcpFixture([TOUCH]);
    const host = await fixture.host();
    expect(await names(host)).toEqual([
      'list_sessions',
      'read_session',
      'prompt',
      'wait',
      'cancel',
      'list_approvals',
      'deny_call',
    ]);
    const { session } = await host.call('prompt', { text: 'Go' });
    const { approvals } = await host.call('wait', { session });
    await expect(host.call('approve_call', { approval: approvals[0].approval })).rejects.toThrow(
      'there is no tool "approve_call"',
    );
    expect(await host.call('list_approvals')).toMatchObject({ total: 1 });
  });

  it('only read with --read-only', async () => {
    const fixture = await mcpFixture();
    const host = await fixture.host(['--read-only']);
    expect(await names(host)).toEqual(['list_sessions', 'read_session', 'wait', 'list_approvals']);
    await expect(host.call('prompt', { text: 'Go' })).rejects.toThrow('there is no tool "prompt"');
  });

  it('declare whether they change something', async () => {
    const fixture = await mcpFixture();
    const { client } = await fixture.host(['--allow-approvals']);
    const { tools } = await client.listTools();
    const hints = tools.map(({ name, annotations = {} }) => [
      name,
      annotations.readOnlyHint,
      annotations.destructiveHint,
    ]);
    expect(hints).toEqual([
      ['list_sessions', true, undefined],
      ['read_session', true, undefined],
      ['prompt', false, true],
      ['wait', true, undefined],
      ['cancel', false, true],
      ['list_approvals', true, undefined],
      ['approve_call', false, true],
      ['deny_call', false, false],
    ]);
  });

  it('refuse invalid arguments with the field and the next step', async () => {
    const fixture = await mcpFixture();
    const { refused, client } = await fixture.host();
    expect(await refused('prompt', { txt: 'Go' })).toContain(
      'text is missing; txt is not a key: did you mean "text"?',
    );
    expect(await refused('prompt', { text: '  ' })).toContain('text must be text, not blank');
    expect(await refused('prompt', { text: 'Go', session: 'nothing' })).toContain('list_sessions lists them');
    expect(await refused('prompt', { text: 'Go', session: 'x', mode: 'read-only' })).toContain('mode');
    expect(await refused('wait', { session: 'x', timeout_seconds: 601 })).toContain('must be at most 600');
    expect(await refused('read_session', { session: 'x', after: -1 })).toContain('after must be');
    expect(await refused('list_sessions', { state: 'busy' })).toContain('must be one of idle');
    expect(await refused('deny_call', { approval: 'x' })).toContain('comment is missing');
    expect(await refused('deny_call', { approval: 'x', comment: 'No.' })).toContain('no pending approval');
    await expect(client.callTool({ name: 'nothing', arguments: {} })).rejects.toThrow(
      'there is no tool "nothing"',
    );
  });
});

describe('the permissions of polypod mcp serve', () => {
  it('refuse a mode that is wider than the configured one', async () => {
    const fixture = await mcpFixture([textAnswer('Hi.')]);
    fixture.configure('permissions: { mode: read-only }');
    const { call: tool, refused } = await fixture.host();
    for (const mode of ['workspace-write', 'full-access'])
      expect(await refused('prompt', { text: 'Go', mode })).toContain(
        `the mode ${mode} is wider than the configured one, read-only`,
      );
    expect(await tool('list_sessions')).toMatchObject({ total: 0 });
    await tool('prompt', { text: 'Go', mode: 'read-only' });
  });

  it('limit a prompt to the configured mode, also in a session with full access', async () => {
    const fixture = await mcpFixture([TOUCH, textAnswer('Done.')]);
    await fixture.serve();
    const created = await fixture.polypod('new', '--mode', 'full-access', '--cwd', fixture.project);
    const session = created.stdout.trim();
    const { call: tool } = await fixture.host();
    await tool('prompt', { session, text: 'Go' });
    expect(await tool('wait', { session })).toMatchObject({ reason: 'approval' });
  });

  it('apply only to sessions of the allowed directories', async () => {
    const fixture = await mcpFixture([TOUCH, textAnswer('Done.')]);
    const other = join(fixture.home, 'other');
    mkdirSync(other);
    symlinkSync(other, join(fixture.project, 'link'));
    await fixture.serve();
    const confined = await fixture.host(['--allow-approvals']);
    const wide = await fixture.host(['--allow-dir', other]);
    for (const cwd of [other, '../other', 'link', '/'])
      expect(await confined.refused('prompt', { text: 'Go', cwd })).toContain('--allow-dir');
    const { session } = await wide.call('prompt', { text: 'Go', cwd: other });
    const { approvals } = await wide.call('wait', { session });
    expect(approvals).toHaveLength(1);
    expect(await confined.call('list_sessions', { all: true })).toEqual({ sessions: [], total: 0 });
    expect(await confined.call('list_approvals')).toEqual({ approvals: [], total: 0 });
    for (const [name, args] of [
      ['read_session', { session }],
      ['wait', { session }],
      ['cancel', { session }],
      ['prompt', { session, text: 'Go' }],
      ['approve_call', { approval: approvals[0].approval }],
    ] as const)
      expect(await confined.refused(name, args)).toMatch(/there is no/);
    expect((await confined.client.listResources()).resources).toEqual([]);
    await expect(confined.client.readResource({ uri: `polypod://sessions/${session}` })).rejects.toThrow();
  });

  it('need --allow-dir in the home directory', async () => {
    const fixture = await mcpFixture();
    const { code, stdout, stderr } = await fixture.polypod('mcp', 'serve');
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain('--allow-dir DIR');
    const { call: tool } = await fixture.host(['--allow-dir', fixture.project], { cwd: fixture.home });
    expect(await tool('list_sessions')).toEqual({ sessions: [], total: 0 });
  });

  it('record refused and accepted actions with the door mcp', async () => {
    const fixture = await mcpFixture([textAnswer('Hi.')]);
    const { call: tool, refused, client } = await fixture.host();
    await refused('prompt', { text: 'Go', cwd: '/' });
    const { session } = await tool('prompt', { text: 'Go' });
    await tool('wait', { session });
    await client.close();
    const { stdout } = await fixture.polypod('audit', '--json');
    const entries = stdout
      .split('\n')
      .flatMap((line) => (line.includes('tools/call') ? [JSON.parse(line)] : []));
    expect(entries).toMatchObject([
      { event: 'request.refused', door: 'mcp', by: 'ada', action: 'tools/call prompt', outcome: 'denied' },
      { event: 'request.accepted', door: 'mcp', by: 'ada', session, details: { client: 'test-host' } },
    ]);
  });

  it('keep secrets out of results', async () => {
    const key = 'sk-ant-0123456789abcdefghijklmnop';
    const fixture = await mcpFixture([textAnswer(`The key is ${key}, the password hunter2-very-secret.`)]);
    const { call: tool, client } = await fixture.host([], { env: { DB_PASSWORD: 'hunter2-very-secret' } });
    const { session } = await tool('prompt', { text: 'What is the key?' });
    const texts = JSON.stringify([
      await client.callTool({ name: 'wait', arguments: { session } }),
      await tool('read_session', { session }),
      await tool('list_sessions'),
      await client.readResource({ uri: `polypod://sessions/${session}` }),
    ]);
    expect(texts).toContain('The key is [redacted]');
    expect(texts).not.toContain(key);
    expect(texts).not.toContain('hunter2');
  });
});

describe('the command line of polypod mcp', () => {
  it('refuses options of another action', async () => {
    const fixture = await mcpFixture();
    for (const [args, message] of [
      [['list', '--read-only'], '--read-only is for polypod mcp serve'],
      [['status', '--allow-dir', '.'], '--allow-dir is for polypod mcp serve'],
      [['serve', '--json'], '--json is for list and status'],
      [['serve', '--read-only', '--allow-approvals'], 'exclude each other'],
      [['server'], 'list, status or serve'],
      [['serve', '--allow-dir', 'nowhere'], 'there is no such directory'],
    ] as const) {
      const { code, stderr } = await fixture.polypod('mcp', ...args);
      expect(stderr).toContain(message);
      expect(code).toBe(2);
    }
  });

  it('answers garbage without ending, writes only messages to stdout, and exits when the input ends', async () => {
    const fixture = await mcpFixture();
    const running = start(['mcp', 'serve', '--offline', '--allow-dir', fixture.project], fixture.env);
    const { child } = running;
    child.stdin.write('garbage\n{"jsonrpc":"2.0","id":1,"method":"nothing"}\n[]\n');
    child.stdin.write(`${JSON.stringify(INITIALIZE)}\n`);
    await running.waitForOutput('"protocolVersion"');
    child.stdin.end();
    const { code, stdout } = await running.finished;
    expect(code).toBe(0);
    for (const line of stdout.trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' });
  });
});

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 2,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};
