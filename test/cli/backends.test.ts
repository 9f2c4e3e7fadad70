import { describe, expect, it } from 'vitest';
import { AGENTS, agentCommand } from '../../scripts/agents/agents.mjs';
import { AGENTS as TESTED, isInstalled } from '../backends/contract/agents.ts';
import { fakeAgent, withBackends } from '../backends/fake-agent.ts';
import { cliFixture } from './daemon.ts';

const MISSING = ['/nowhere/agent'];
const claude = TESTED.find(({ name }) => name === 'claude');

describe('polypod backends', () => {
  it('prints the version, the command and what was checked of each agent', async () => {
    const fixture = await cliFixture();
    fixture.configure(withBackends({ fake: fakeAgent(), gemini: fakeAgent() }, { backend: 'fake' }));
    const { code, stdout, stderr } = await fixture.polypod('backends', 'fake', 'gemini');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toBe(
      `ok  fake  fake: 1.2.3, sign-in unknown, cannot be checked for approvals, default\n      ${fakeAgent().join(' ')}\n` +
        `ok  gemini  Gemini CLI: 1.2.3, signed in, asks for approval\n      ${fakeAgent().join(' ')}\n`,
    );
  });

  it('prints a JSON list', async () => {
    const fixture = await cliFixture();
    fixture.configure(JSON.stringify({ backends: { fake: { command: fakeAgent(), trust_project: true } } }));
    const { code, stdout } = await fixture.polypod('backends', 'fake', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual([
      {
        name: 'fake',
        title: 'fake',
        command: fakeAgent(),
        version: '1.2.3',
        signedIn: 'unknown',
        probe: { status: 'not-supported' },
        trustsProject: true,
      },
    ]);
    const unchecked = await fixture.polypod('backends', 'fake', '--json', '--no-probe');
    expect(JSON.parse(unchecked.stdout)[0]).not.toHaveProperty('probe');
  });

  it('lists all agents without a name, and exits with 0 although some are not installed', async () => {
    const fixture = await cliFixture();
    const missing = Object.fromEntries(
      ['claude', 'codex', 'gemini', 'opencode', 'goose', 'claude-acp', 'codex-acp', 'pi'].map((name) => [
        name,
        MISSING,
      ]),
    );
    fixture.configure(withBackends({ ...missing, fake: fakeAgent() }));
    const { code, stdout } = await fixture.polypod('backends', '--json', '--no-probe');
    expect(code).toBe(0);
    expect(
      JSON.parse(stdout).map(({ name, version }: { name: string; version?: string }) => [name, version]),
    ).toEqual([...Object.keys(missing).map((name) => [name, undefined]), ['fake', '1.2.3']]);
  });

  it('rejects an unknown name with those that exist', async () => {
    const fixture = await cliFixture();
    fixture.configure(withBackends({ fake: fakeAgent() }));
    const { code, stdout, stderr } = await fixture.polypod('backends', 'nope');
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('there is no back end "nope": there are claude, codex,');
    expect(stderr).toContain('fake');
  });

  it.each(['claude', 'codex', 'pi', 'opencode', 'fake'])(
    'says how to install %s if it is missing, and exits with 1',
    async (name) => {
      const fixture = await cliFixture();
      fixture.configure(withBackends({ [name]: MISSING }));
      const { code, stdout } = await fixture.polypod('backends', name);
      expect(code).toBe(1);
      expect(stdout).toContain('not installed');
      const { packages } = AGENTS[name] ?? { packages: ['correct its command in config.yaml'] };
      const [wanted = ''] = packages;
      expect(stdout).toMatch(/next: /);
      expect(stdout).toContain(wanted.replace(/(?<=.)@[^@]*$/, ''));
    },
  );

  it('exits with 1 if a named agent has no user', async () => {
    const fixture = await cliFixture();
    fixture.configure(withBackends({ gemini: fakeAgent('signed-out') }));
    const { code, stdout } = await fixture.polypod('backends', 'gemini', '--no-probe');
    expect(code).toBe(1);
    expect(stdout).toContain('!!  gemini  Gemini CLI: 1.2.3, not signed in');
    expect(stdout).toContain('next: Gemini CLI is not signed in: set GEMINI_API_KEY');
  });

  it('reports an agent that runs tools without approval, and exits with 1', async () => {
    const fixture = await cliFixture();
    fixture.configure(withBackends({ gemini: fakeAgent('unasked') }));
    const { code, stdout } = await fixture.polypod('backends', 'gemini');
    expect(code).toBe(1);
    expect(stdout).toContain('!!  gemini  Gemini CLI: 1.2.3, signed in, RUNS TOOLS WITHOUT APPROVAL');
    expect(stdout).toContain('although nobody had allowed it');
  });

  it.skipIf(claude === undefined || !isInstalled(claude))('checks the real Claude Code', async () => {
    const fixture = await cliFixture();
    const env = AGENTS.claude?.prepare(fixture.home, fixture.sim.url);
    fixture.configure(JSON.stringify({ backends: { claude: { command: agentCommand('claude'), env } } }));
    const { code, stdout, stderr } = await fixture.polypod('backends', 'claude', '--json');
    expect([code, stderr]).toEqual([0, '']);
    const version = AGENTS.claude?.packages[0]?.split('@').at(-1);
    expect(JSON.parse(stdout)).toMatchObject([{ name: 'claude', version, probe: { status: 'asks' } }]);
  });
});

describe('polypod doctor', () => {
  it('checks the configured back ends, and starts no others', async () => {
    const fixture = await cliFixture();
    fixture.configure(withBackends({ fake: fakeAgent(), claude: MISSING }, { backend: 'other' }));
    const { stdout } = await fixture.polypod('doctor');
    expect(stdout).toMatch(/ok +back end: fake 1\.2\.3/);
    expect(stdout).toMatch(/warning +back end: Claude Code is not installed/);
    expect(stdout).toContain('npm install -g @anthropic-ai/claude-code');
    expect(stdout).toContain('config.yaml names other, which is not known');
    expect(stdout).not.toContain('Codex');
  });

  it('prints nothing about back ends if none is configured', async () => {
    const fixture = await cliFixture();
    expect((await fixture.polypod('doctor')).stdout).not.toContain('back end');
  });
});
