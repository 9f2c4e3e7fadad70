import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type CliFixture, call, cliFixture, textAnswer } from './daemon.ts';

const EXTENSION = `
console.log('loaded');
export default (polypod) => {
  polypod.registerTool({
    name: 'ticket',
    description: 'Reads a ticket.',
    parameters: { type: 'object', properties: { number: { type: 'integer' } }, required: ['number'] },
    run: ({ number }) => '#' + number + ' in ' + polypod.cwd + ' ' + (process.env.ANTHROPIC_API_KEY ?? 'no key'),
  });
  polypod.on('tool_call', ({ name, input }) => {
    if (name === 'bash' && input.command.includes('push')) return { deny: 'Pushing is done by others.' };
  });
};
`;

function extension(path: string, text = EXTENSION): string {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
  return path;
}

const SCRIPT = [call('ticket', { number: 7 }), call('bash', { command: 'echo push' }), textAnswer('Done.')];

const run = ({ polypod, project }: CliFixture, ...args: readonly string[]) =>
  polypod('run', '-C', project, '-m', 'anthropic/x', '--mode', 'full-access', ...args, 'Look');

const sent = ({ sim }: CliFixture): readonly string[] => sim.requests.map(({ body }) => JSON.stringify(body));

it('run -e loads an extension in this process: its tools and its hooks for calls', async () => {
  const fixture = await cliFixture(SCRIPT);
  await fixture.serve();
  const { stdout, stderr, code } = await run(fixture, '-e', extension(join(fixture.home, 'own/ticket.mjs')));
  expect({ stdout, code }).toEqual({ stdout: 'Done.\n', code: 0 });
  expect(stderr).toContain('loaded');
  expect(sent(fixture)[1]).toContain(`#7 in ${fixture.project} no key`);
  expect(sent(fixture)[2]).toContain('Pushing is done by others.');
});

it('the daemon loads the extensions of the configuration for every session', async () => {
  const fixture = await cliFixture(SCRIPT);
  extension(join(fixture.home, '.config/polypod/extensions/ticket.mjs'));
  fixture.configure('extensions: [extensions/ticket.mjs]\n');
  await fixture.serve();
  expect((await run(fixture)).code).toBe(0);
  expect(sent(fixture)[1]).toContain(`#7 in ${fixture.project} no key`);
  expect(sent(fixture)[2]).toContain('Pushing is done by others.');
});

it('an extension that fails or that others can change is reported, and the run continues', async () => {
  const fixture = await cliFixture([textAnswer('Done.')]);
  const broken = extension(join(fixture.home, 'broken.mjs'), 'throw new Error("out of order");');
  const open = extension(join(fixture.home, 'open.mjs'), 'console.log("loaded");');
  chmodSync(open, 0o666);
  const folder = join(fixture.home, 'folder');
  chmodSync(extension(join(folder, 'index.mjs'), 'console.log("loaded");'), 0o666);
  const { stdout, stderr, code } = await run(fixture, '-e', broken, '-e', open, '-e', folder);
  expect({ stdout, code }).toEqual({ stdout: 'Done.\n', code: 0 });
  expect(stderr).toContain(`the extension ${broken} failed (load): out of order`);
  for (const file of [open, join(folder, 'index.mjs')])
    expect(stderr).toContain(`every user of this machine can change the extension ${file}`);
  expect(stderr).not.toContain('loaded');
});

it('extensions of a project are not loaded unless the configuration or -e names them', async () => {
  const fixture = await cliFixture([textAnswer('Done.')]);
  for (const folder of ['.polypod/extensions', '.pi/extensions', 'extensions'])
    extension(
      join(fixture.project, folder, 'evil.mjs'),
      `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(join(fixture.home, 'ran'))}, '');`,
    );
  expect((await run(fixture)).code).toBe(0);
  expect(existsSync(join(fixture.home, 'ran'))).toBe(false);
});

it.each(['the configuration', '-e'])(
  'an agent cannot change an extension of %s in its workspace without approval',
  async (source) => {
    const fixture = await cliFixture([
      call('write', { path: 'tool.mjs', content: 'export default () => {};' }),
      textAnswer('Done.'),
    ]);
    const file = extension(join(fixture.project, 'tool.mjs'));
    if (source !== '-e') fixture.configure(`extensions: [${file}]\n`);
    const { polypod, project } = fixture;
    const options = source === '-e' ? ['-e', file] : [];
    await polypod('run', '-C', project, '-m', 'anthropic/x', '--headless', ...options, 'Change it');
    expect(readFileSync(file, 'utf8')).toBe(EXTENSION);
  },
);
