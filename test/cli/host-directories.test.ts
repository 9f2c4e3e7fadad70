import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hostDirectories, piDirectoryName, xcshDirectoryName } from '../../src/cli/rpc/host-directories.ts';
import { temporaryDirectory } from './polypod.ts';

describe('the directory for the sessions of a working directory', () => {
  it.each([
    ['/srv/my project', '--srv-my project--', '--srv-my project--'],
    ['/home/ada', '--home-ada--', '-'],
    ['/home/ada/code/app', '--home-ada-code-app--', '-code-app'],
    ['/home/adams', '--home-adams--', '--home-adams--'],
    ['/var/tmp', '--var-tmp--', '-tmp'],
    ['/var/tmp/x', '--var-tmp-x--', '-tmp-x'],
  ])('%s has the names of pi and of xcsh', (cwd, pi, xcsh) => {
    expect(piDirectoryName(cwd)).toBe(pi);
    expect(xcshDirectoryName(cwd, { home: '/home/ada', temporary: '/var/tmp' })).toBe(xcsh);
  });

  it('is set by the variables of the host', () => {
    const HOME = '/home/ada';
    const cwd = '/home/ada/code';
    const sessions = (env: Readonly<Record<string, string>>): unknown =>
      hostDirectories({ HOME, ...env }, cwd).sessions;
    expect(sessions({})).toBeUndefined();
    expect(sessions({ PI_CODING_AGENT_DIR: '' })).toBeUndefined();
    expect(sessions({ PI_CODING_AGENT_DIR: '/agent' })).toBe('/agent/sessions/--home-ada-code--');
    expect(sessions({ PI_CODING_AGENT_DIR: '~/.pi' })).toBe('/home/ada/.pi/sessions/--home-ada-code--');
    expect(sessions({ XCSH_CODING_AGENT_DIR: '/agent' })).toBe('/agent/sessions/-code');
    expect(sessions({ PI_CONFIG_DIR: '.omp' })).toBe('/home/ada/.omp/agent/sessions/-code');
    expect(sessions({ PI_CODING_AGENT_SESSION_DIR: '~/mine', PI_CODING_AGENT_DIR: '/agent' })).toBe(
      '/home/ada/mine',
    );
    const { dataPaths } = hostDirectories({ HOME, PI_CODING_AGENT_DIR: '/agent' }, cwd);
    expect(dataPaths.dataDirectory).toBe('/agent/polypod');
  });

  it('is that of xcsh if only that one exists', () => {
    const [agent, cwd] = [temporaryDirectory(), temporaryDirectory()];
    mkdirSync(join(agent, 'sessions', '-'), { recursive: true });
    const env = { HOME: cwd, PI_CODING_AGENT_DIR: agent };
    expect(hostDirectories(env, cwd).sessions).toBe(join(agent, 'sessions', '-'));
    mkdirSync(join(agent, 'sessions', piDirectoryName(cwd)));
    expect(hostDirectories(env, cwd).sessions).toBe(join(agent, 'sessions', piDirectoryName(cwd)));
  });
});
