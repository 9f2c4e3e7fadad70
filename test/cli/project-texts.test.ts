import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type CliFixture, call, cliFixture, textAnswer } from './daemon.ts';
import { polypod } from './polypod.ts';

function write(directory: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
}

/** What the models received, as JSON. */
const sent = ({ sim }: CliFixture): readonly string[] => sim.requests.map(({ body }) => JSON.stringify(body));

const run = ({ polypod: command, project }: CliFixture, prompt: string, cwd = project) =>
  command('run', '-C', cwd, '-m', 'anthropic/x', prompt);

describe('instructions', () => {
  it('come from the user, the root of the repository and the working directory, in this order', async () => {
    const fixture = await cliFixture([textAnswer('Done.')]);
    write(fixture.home, { '.config/polypod/AGENTS.md': 'Rule of the user.', 'AGENTS.md': 'Outside.' });
    write(fixture.project, {
      '.git/HEAD': 'ref: refs/heads/main\n',
      'CLAUDE.md': 'Rule of the root.',
      'part/AGENTS.md': 'Rule of the part.',
      'part/CLAUDE.md': 'Not used beside AGENTS.md.',
    });
    expect((await run(fixture, 'Look', join(fixture.project, 'part'))).code).toBe(0);
    const [request = ''] = sent(fixture);
    expect(request).toMatch(/Rule of the user\..*Rule of the root\..*Rule of the part\./);
    expect(request).toContain('from ../CLAUDE.md');
    expect(request).not.toContain('Outside.');
    expect(request).not.toContain('Not used');
  });

  it('of the user may be a link, but not those of a project that lead out of it', async () => {
    const fixture = await cliFixture([textAnswer('Done.')]);
    write(fixture.home, {
      'dotfiles/rules.md': 'Rule of the user.',
      'notes.md': 'stolen',
      '.config/polypod/x': '',
    });
    symlinkSync(join(fixture.home, 'dotfiles/rules.md'), join(fixture.home, '.config/polypod/AGENTS.md'));
    symlinkSync(join(fixture.home, 'notes.md'), join(fixture.project, 'AGENTS.md'));
    expect((await run(fixture, 'Look')).code).toBe(0);
    expect(sent(fixture)[0]).toContain('Rule of the user.');
    expect(sent(fixture)[0]).not.toContain('stolen');
  });

  it('do not come from directories above one that is not in a repository', async () => {
    const fixture = await cliFixture([textAnswer('Done.')]);
    write(fixture.home, { 'AGENTS.md': 'Outside.' });
    expect((await run(fixture, 'Look')).code).toBe(0);
    expect(sent(fixture)[0]).not.toContain('Outside.');
  });
});

describe('custom commands', () => {
  const REVIEW =
    '---\ndescription: Reviews a file.\nargument-hint: FILE\n---\nReview $1 of "$ARGUMENTS" please.\n';

  it('of the user and the project are prompts of chat, with their arguments', async () => {
    const fixture = await cliFixture([textAnswer('One.'), textAnswer('Two.'), textAnswer('Three.')]);
    write(fixture.home, {
      '.config/polypod/commands/review.md': REVIEW,
      '.config/polypod/commands/ship.md': 'Not this one.',
      '.config/polypod/commands/help.md': 'Never used: built-in commands take precedence.',
    });
    write(fixture.project, {
      '.polypod/commands/ship.md': 'Ship it.',
      '.claude/commands/tidy.md': 'Tidy up.',
    });
    const { stdout, code } = await polypod(['chat', '--cwd', fixture.project, '-m', 'anthropic/x'], {
      env: fixture.env,
      input: '/help\n/review a.ts now\n/ship to Berlin\n/tidy\n/revie\n',
    });
    expect(code).toBe(2);
    expect(stdout).toMatch(/\/review FILE +Reviews a file\. \(user\)\n/);
    expect(stdout).toMatch(/\/ship +Ship it\. \(project\)\n/);
    expect(stdout).not.toContain('Never used');
    expect(stdout).toContain('there is no command /revie; did you mean /review?');
    expect(sent(fixture)[0]).toContain('Review a.ts of \\"a.ts now\\" please.');
    expect(sent(fixture)[1]).toContain('Ship it.\\n\\nArguments: to Berlin');
    expect(sent(fixture)[2]).toContain('Tidy up.');
  });

  it('with a long hint do not displace the texts of /help', async () => {
    const fixture = await cliFixture();
    const hint = 'LONG'.repeat(10);
    write(fixture.project, { '.polypod/commands/ship.md': `---\nargument-hint: ${hint}\n---\nShip it.` });
    const chat = ['chat', '--cwd', fixture.project, '-m', 'anthropic/x'];
    const { stdout } = await polypod(chat, { env: fixture.env, input: '/help\n' });
    expect(stdout).toContain(`/ship ${hint}  Ship it. (project)`);
    expect(stdout).toMatch(/\/quit {5,30}exit\n/);
    // Everything fits into 80 columns.
    expect(stdout).not.toContain('…');
  });

  it('are prompts of run, also in the daemon', async () => {
    const fixture = await cliFixture([textAnswer('One.'), textAnswer('Two.')]);
    await fixture.serve();
    write(fixture.project, { '.polypod/commands/ship.md': 'Ship it.' });
    expect((await run(fixture, '/ship')).code).toBe(0);
    expect((await run(fixture, '/unknown thing')).code).toBe(0);
    expect(sent(fixture)[0]).toContain('Ship it.');
    expect(sent(fixture)[1]).toContain('/unknown thing');
  });

  it('attach images only if the user has typed their paths', async () => {
    const fixture = await cliFixture([textAnswer('One.'), textAnswer('Two.')]);
    write(fixture.home, { 'passport.png': 'private' });
    write(fixture.project, {
      '.polypod/commands/look.md': `Look at $1 and @${join(fixture.home, 'passport.png')} please.`,
      'logo.png': 'public',
    });
    await polypod(['chat', '--cwd', fixture.project, '-m', 'anthropic/x'], {
      env: fixture.env,
      input: '/look this\n/look @logo.png\n',
    });
    const [first = '', second = ''] = sent(fixture);
    expect(first).toContain('Look at this');
    expect(first + second).not.toContain(Buffer.from('private').toString('base64'));
    expect(second).toContain(Buffer.from('public').toString('base64'));
  });

  it('of a project do not follow links out of the project', async () => {
    const fixture = await cliFixture([textAnswer('One.')]);
    write(fixture.home, { 'notes.md': 'stolen' });
    mkdirSync(join(fixture.project, '.polypod/commands'), { recursive: true });
    symlinkSync(join(fixture.home, 'notes.md'), join(fixture.project, '.polypod/commands/leak.md'));
    expect((await run(fixture, '/leak')).code).toBe(0);
    expect(sent(fixture)[0]).not.toContain('stolen');
  });
});

describe('skills', () => {
  const skill = (name: string, text: string) =>
    `---\nname: ${name}\ndescription: How to make ${name}.\n---\n${text}\n`;

  it('are listed for the model, which reads them with the tool skill', async () => {
    const fixture = await cliFixture([
      call('skill', { name: 'pdf' }),
      call('skill', { name: 'pdf', file: 'forms.md' }),
      call('skill', { name: 'pdf', file: '../../config.yaml' }),
      call('skill', { name: 'tea' }),
      textAnswer('Done.'),
    ]);
    fixture.configure('# of the user\nmodel: anthropic/x\n');
    write(fixture.home, {
      '.config/polypod/skills/pdf/SKILL.md': skill('pdf', 'Use a printer.'),
      '.config/polypod/skills/pdf/forms.md': 'Fill in the forms.',
    });
    write(fixture.project, { '.claude/skills/tea/SKILL.md': skill('tea', 'Boil water.') });
    expect((await run(fixture, 'Look')).code).toBe(0);
    const requests = sent(fixture);
    expect(requests[0]).toContain('- pdf: How to make pdf.\\n- tea: How to make tea.');
    expect(requests[0]).not.toContain('Use a printer.');
    expect(requests[1]).toContain('Use a printer.\\n\\n[in its folder: forms.md]');
    expect(requests[2]).toContain('Fill in the forms.');
    expect(requests[3]).toContain('has no text file ../../config.yaml in its folder');
    expect(requests[3]).not.toContain('of the user\\n');
    expect(requests[4]).toContain('Boil water.');
  });

  it('cannot be turned into links to other folders during a run', async () => {
    const fixture = await cliFixture([
      call('bash', { command: 'rm -r .polypod/skills/tea && ln -s "$HOME/private" .polypod/skills/tea' }),
      call('skill', { name: 'tea', file: 'diary.txt' }),
      textAnswer('Done.'),
    ]);
    write(fixture.home, { 'private/SKILL.md': skill('tea', 'x'), 'private/diary.txt': 'stolen' });
    write(fixture.project, { '.polypod/skills/tea/SKILL.md': skill('tea', 'Boil water.') });
    const args = ['run', '-C', fixture.project, '-m', 'anthropic/x', '--mode', 'full-access', 'Look'];
    expect((await fixture.polypod(...args)).code).toBe(0);
    expect(sent(fixture)[2]).toContain('has no text file diary.txt in its folder');
    expect(sent(fixture)[2]).not.toContain('stolen');
  });

  it('are no tool if there are none', async () => {
    const fixture = await cliFixture([textAnswer('Done.')]);
    expect((await run(fixture, 'Look')).code).toBe(0);
    expect(sent(fixture)[0]).not.toContain('"skill"');
  });
});
