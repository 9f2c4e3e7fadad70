import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../cli/polypod.ts';
import { Program } from '../protocols/rpc/program.ts';

it('the example of docs/extensions.md works', async () => {
  const page = readFileSync('docs/extensions.md', 'utf8');
  const [, code = ''] = /<!-- tested: extension -->\n```js\n([\s\S]*?)```/.exec(page) ?? [];
  const file = join(temporaryDirectory(), 'extension.mjs');
  writeFileSync(file, code);
  const program = new Program(['--offline', '-e', file]);
  const ticket = await program.run(`[[sim tool=ticket args='{"number":7}']]`);
  expect(ticket.find(({ type }) => type === 'tool_execution_end')).toMatchObject({
    result: { content: [{ type: 'text', text: '#7: The door squeaks.' }], details: { number: 7 } },
  });
  const push = await program.run(`[[sim tool=bash args='{"command":"git push"}']]`);
  expect(JSON.stringify(push)).toContain('Pushing is done by /deploy.');
  program.send({ type: 'prompt', message: '/deploy' });
  const input = await program.waitFor(({ method }) => method === 'input');
  program.send({ type: 'extension_ui_response', id: input.id, value: 'main' });
  const confirm = await program.waitFor(({ method }) => method === 'confirm');
  const from = program.lines.length;
  program.send({ type: 'extension_ui_response', id: confirm.id, confirmed: true });
  await program.waitFor(({ type }) => type === 'agent_settled', from);
  expect(JSON.stringify(program.lines.slice(from))).toContain('Deploy the branch main.');
});
