import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { call, textAnswer, cliFixture } from '../cli/daemon.ts';
import { polypod } from '../cli/polypod.ts';

/** An MCP server that writes its answers by hand, which no library would send. */
function server({ schema = '{"type":"object"}', result = '{"content":[]}' }): string {
  return `
    const answers = {
      initialize: ({ params }) => JSON.stringify({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'h', version: '1' } }),
      'tools/list': () => '{"tools":[{"name":"echo","inputSchema":' + ${schema} + '}]}',
      'tools/call': () => ${result},
    };
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const message = JSON.parse(line);
      const answer = answers[message.method];
      if (answer) process.stdout.write('{"jsonrpc":"2.0","id":' + JSON.stringify(message.id) + ',"result":' + answer(message) + '}\\n');
    });`;
}

const DEEP = `'{"a":'.repeat(5000) + '1' + '}'.repeat(5000)`;

async function run(code: string) {
  const fixture = await cliFixture([call('mcp__hostile__echo', {}), textAnswer('Done.')]);
  const file = join(fixture.home, 'server.cjs');
  writeFileSync(file, code);
  fixture.configure(`mcp_servers:\n  hostile: { command: ${process.execPath}, args: ["${file}"] }\n`);
  const ended = await polypod(
    ['run', '-m', 'anthropic/x', '-C', fixture.project, '--mode', 'full-access', 'Go.'],
    { env: fixture.env },
  );
  return { ...ended, requestBodies: fixture.sim.requests.map(({ body }) => JSON.stringify(body)) };
}

test.each([
  ['structured content', `'{"structuredContent":' + ${DEEP} + ',"content":[]}'`],
  ['content', `'{"content":[' + ${DEEP} + ']}'`],
  ['an image without end', `'{"content":[{"type":"image","mimeType":"image/png","data":' + ${DEEP} + '}]}'`],
])('an MCP server that answers with %s nested 5,000 levels deep fails only that call', async (_, result) => {
  const { code, stdout, stderr, requestBodies } = await run(
    server({ schema: `'{"type":"object"}'`, result }),
  );
  expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: 'Done.\n' });
  expect(requestBodies.at(-1)).toContain('at most 128 levels deep');
});

test('an MCP server whose tool has a schema nested 5,000 levels deep is unavailable, and the run continues', async () => {
  const { code, stdout, stderr, requestBodies } = await run(
    server({ schema: DEEP, result: `'{"content":[]}'` }),
  );
  expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: 'Done.\n' });
  expect(requestBodies.at(-1)).toContain('mcp__hostile__echo');
  expect(requestBodies.at(-1)).not.toContain('"a":{"a":{"a":');
});
