import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cliFixture } from '../../cli/daemon.ts';
import { temporaryDirectory } from '../../cli/polypod.ts';
import type { Line } from './client.ts';
import { Program } from './program.ts';

const SIM = ['--model', 'sim/offline'];

/** A host program whose working directory and user have prompt files. */
async function hosted(where: 'in its process' | 'in the daemon', ...args: readonly string[]) {
  const fixture = where === 'in the daemon' ? await cliFixture() : undefined;
  await fixture?.serve('--offline');
  const home = realpathSync(fixture?.home ?? temporaryDirectory());
  const write = (folder: string, name: string, text: string): string => {
    mkdirSync(join(home, folder), { recursive: true });
    writeFileSync(join(home, folder, name), text);
    return join(home, folder, name);
  };
  const review = write(
    '.polypod/commands',
    'review.md',
    '---\ndescription: Reviews a file.\n---\nReview $1 [[sim text=reviewed]]',
  );
  const ship = write('.config/polypod/commands', 'ship.md', 'Ship it [[sim text=shipped]]');
  const program = new Program([...SIM, ...args], { ...fixture?.env, HOME: home });
  return { program, review, ship };
}

/** The texts of the user's messages. */
function sent(lines: readonly Line[]): readonly unknown[] {
  return lines
    .filter(({ type, message }) => type === 'message_end' && (message as { role: string }).role === 'user')
    .map(({ message }) => (message as { content: readonly { text: string }[] }).content[0]?.text);
}

describe.each(['in its process', 'in the daemon'] as const)('a prompt /NAME, %s', (where) => {
  it('sends the prompt in the file, with its arguments', async () => {
    const { program } = await hosted(where);
    const lines = await program.run('/review a.ts');
    expect(sent(lines)).toEqual(['Review a.ts [[sim text=reviewed]]']);
    expect(sent(await program.run('/ship to Berlin'))).toEqual([
      'Ship it [[sim text=shipped]]\n\nArguments: to Berlin',
    ]);
    expect(sent(await program.run('/unknown [[sim text=ok]]'))).toEqual(['/unknown [[sim text=ok]]']);
  });

  it('is expanded when it is queued', async () => {
    const { program } = await hosted(where);
    const from = program.lines.length;
    program.send({ type: 'prompt', message: '[[sim deltas=100 delay=20]]' });
    await program.waitFor(({ type }) => type === 'message_update');
    expect(await program.get('follow_up', { message: '/review b.ts' })).toEqual({ disposition: 'queued' });
    await program.quiet(from);
    expect(sent(program.lines)).toContain('Review b.ts [[sim text=reviewed]]');
  });

  it('is listed by get_commands', async () => {
    const { program, review, ship } = await hosted(where);
    const sourceInfo = { source: 'local', origin: 'top-level' };
    expect(await program.get('get_commands')).toEqual({
      commands: [
        {
          name: 'ship',
          description: 'Ship it [[sim text=shipped]]',
          source: 'prompt',
          sourceInfo: { ...sourceInfo, path: ship, scope: 'user' },
        },
        {
          name: 'review',
          description: 'Reviews a file.',
          source: 'prompt',
          sourceInfo: { ...sourceInfo, path: review, scope: 'project' },
        },
      ],
    });
  });

  it('is ordinary text with --no-prompt-templates', async () => {
    const { program } = await hosted(where, '-np');
    expect(await program.get('get_commands')).toEqual({ commands: [] });
    expect(sent(await program.run('/review [[sim text=ok]]'))).toEqual(['/review [[sim text=ok]]']);
  });
});
