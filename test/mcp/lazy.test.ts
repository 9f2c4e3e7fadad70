import { expect, test, vi } from 'vitest';
import { McpServers, readMcpConfig } from '../../src/mcp/index.ts';
import { scripted, mcpFixture } from './fixture.ts';

const loaded = vi.hoisted(() => ({ times: 0 }));

vi.mock('@modelcontextprotocol/client', (original) => {
  loaded.times += 1;
  return original();
});

test('the client library is loaded only when tools are requested', async () => {
  const toolContext = { env: {}, secretEnv: [], cwd: '/', clientVersion: '0', onChange: () => {} };
  const none = new McpServers(readMcpConfig({}), toolContext);
  expect(await none.tools()).toEqual([]);
  await none.close();
  const { servers } = mcpFixture([scripted('')]);
  expect(servers.status()).toEqual([{ name: 'test', transport: 'stdio', state: 'idle', tools: 0 }]);
  expect(loaded.times).toBe(0);
  await servers.tools();
  expect(loaded.times).toBe(1);
});
