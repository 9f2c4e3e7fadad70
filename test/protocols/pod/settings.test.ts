import { describe, expect, it } from 'vitest';
import { CLEARABLE } from '../../../src/pod/settings.ts';
import { podFixture } from './fixture.ts';

/** A client with the extras, and the answers to its requests. */
async function client() {
  const fixture = await podFixture([]);
  const one = await fixture.socketClient();
  await one.sendRequest('subscribe', {});
  let ids = 0;
  const ask = async (method: string, params: object) => {
    const id = (ids += 1);
    await one.send(JSON.stringify({ method, params, request_id: id }));
    return one.waitFor(({ request_id }) => request_id === id);
  };
  const settings = async (change: object) => {
    const from = one.received.length;
    await one.sendRequest('configure', change);
    return (await one.waitFor(({ event }) => event === 'settings', from)).data;
  };
  const refusal = async (method: string, params: object) => {
    const { event, data } = await ask(method, params);
    expect(event).toBe('error');
    return (data as { message: string }).message;
  };
  return { settings, refusal };
}

describe('settings', () => {
  it('are set, sent and cleared in snake_case', async () => {
    const { settings } = await client();
    const set = {
      rules: [{ tool: 'bash', action: 'ask' }],
      fallback_rules: [{ tool: 'bash', action: 'auto' }],
      accept_edits: true,
      skip_permissions_until: '2030-01-31T12:00:00Z',
      skip_permissions_for_ms: 1000,
      tool_limit: { without: ['mcp__*'] },
      context_files: false,
      delivery: { steering: 'all', follow_ups: 'all', interrupt: 'wait' },
      auto_compaction: false,
      auto_retry: false,
      append_system: 'Be brief.',
      mcp_context: { env: { API_TOKEN: 'x', max_turns: '3' }, headers: { 'X-Model': 'modelId' } },
      permission_tool: 'mcp__gate__ask',
    };
    expect(await settings({ set })).toMatchObject({ settings: set });
    const clear = CLEARABLE.map((name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
    const cleared = await settings({ clear });
    for (const name of clear) expect(cleared).not.toHaveProperty(`settings.${name}`);
    expect(JSON.stringify(cleared)).not.toMatch(/"[a-z]+[A-Z]\w*":/);
  });

  it('preserve the keys of annotations and MCP servers', async () => {
    const { settings } = await client();
    const set = {
      annotations: { max_turns: 1, modelId: { accept_edits: true } },
      mcp_config: {
        mcpServers: { files: { command: 'none', args: [], env: { model_id: 'x', modelId: 'y' } } },
      },
    };
    expect(await settings({ set })).toMatchObject({ settings: set });
  });

  it.each([
    ['configure', { set: { accept_edits: 'yes' } }, 'set.accept_edits must be true or false, not text'],
    [
      'configure',
      { set: { accept_edit: true } },
      'set.accept_edit is not a key: did you mean "accept_edits"?',
    ],
    [
      'configure',
      { set: { acceptEdits: true } },
      'set.acceptEdits is not a key: did you mean "accept_edits"?',
    ],
    ['configure', { set: { mcpConfig: {} } }, 'set.mcpConfig is not a key: did you mean "mcp_config"?'],
    ['configure', { set: { permission_tool: 7 } }, 'set.permission_tool must be text'],
    ['configure', { set: { model: { provider: 'x' } } }, 'set.model.model_id is missing'],
    ['configure', { set: { delivery: { followUps: 'all' } } }, 'did you mean "follow_ups"?'],
    ['configure', { clear: ['permission_tol'] }, 'did you mean "permission_tool"?'],
    ['configure', { clear: ['fallbackRules'] }, 'did you mean "fallback_rules"?'],
    ['run', { input: 'x', overrides: { max_turns: 0 } }, 'overrides.max_turns must be a whole number'],
    ['run', { input: 'x', overrides: { maxTurns: 1 } }, 'did you mean "max_turns"?'],
    [
      'run',
      { input: 'x', images: [{ media_type: 'text/plain', data: 'aa' }] },
      'images.0.media_type must be',
    ],
    ['run', { input: 'x', images: [{ media_type: 'image/png', data: '!' }] }, 'images.0.data must be base64'],
  ])('%s %j reports the invalid key as the client sent it', async (method, params, message) => {
    const { refusal } = await client();
    expect(await refusal(method, params)).toContain(message);
  });

  it('are listed in snake_case if no name is similar', async () => {
    const { refusal } = await client();
    for (const params of [{ set: { zzzzzzzz: 1 } }, { clear: ['zzzzzzzz'] }]) {
      const message = await refusal('configure', params);
      expect(message).toContain('permission_tool');
      expect(message).not.toMatch(/[a-z][A-Z]/);
    }
  });
});
