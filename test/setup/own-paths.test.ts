import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DEFAULT_CONFIG, dataPathsFrom } from '../../src/setup/index.ts';
import { ownPaths } from '../../src/setup/agents/own-paths.ts';
import { temporaryDirectory } from '../tools/fixture.ts';

const listed = async (env: Readonly<Record<string, string>>, cwd = '/somewhere', config = DEFAULT_CONFIG) =>
  ownPaths({ env, dataPaths: dataPathsFrom(env), config }, cwd);

describe('the paths that belong to Polypod', () => {
  test('are configuration, data, cache and the HLD directory below the home directory', async () => {
    expect(await listed({ HOME: '/home/ada' })).toEqual([
      '/home/ada/.cache/polypod',
      '/home/ada/.config/polypod',
      '/home/ada/.config/polypod/config.yaml',
      '/home/ada/.config/polypod/models.json',
      '/home/ada/.config/polypod/rules.json',
      '/home/ada/.humanlayer',
      '/home/ada/.humanlayer/daemon.sock',
      '/home/ada/.local/share/polypod',
      '/home/ada/.local/share/polypod/run',
    ]);
  });

  test('include the paths of environment variables, beside the default directories', async () => {
    const paths = await listed({
      HOME: '/home/ada',
      POLYPOD_CONFIG: '/srv/pod.yaml',
      POLYPOD_DATA_DIR: '/srv/pod-data',
      POLYPOD_RUNTIME_DIR: '/srv/pod-run',
      POLYPOD_AGENT_CONFIG: '/srv/agent-config.yaml',
      POLYPOD_API_KEY_FILE: '/srv/client.key',
      GOOGLE_APPLICATION_CREDENTIALS: '/srv/google.json',
      HUMANLAYER_DAEMON_SOCKET: '~/hl.sock',
    });
    expect(paths).toEqual(
      expect.arrayContaining([
        '/srv/pod.yaml',
        '/srv/rules.json',
        '/srv/models.json',
        '/srv/pod-data',
        '/srv/pod-run',
        '/srv/agent-config.yaml',
        '/srv/client.key',
        '/srv/google.json',
        '/home/ada/hl.sock',
        '/home/ada/.humanlayer',
        '/home/ada/.local/share/polypod',
        '/home/ada/.config/polypod',
      ]),
    );
    // Other files beside the configuration file are not Polypod's.
    expect(paths).not.toContain('/srv');
  });

  test('include the sockets of every data directory in XDG_RUNTIME_DIR', async () => {
    const base = temporaryDirectory();
    mkdirSync(join(base, 'polypod-0123456789ab'));
    mkdirSync(join(base, 'pulse'));
    const paths = await listed({ HOME: '/home/ada', XDG_RUNTIME_DIR: base });
    expect(paths).toEqual(expect.arrayContaining([`${base}/polypod`, `${base}/polypod-0123456789ab`]));
    expect(paths).not.toContain(`${base}/pulse`);
  });

  test('include the key files that the configuration names', async () => {
    const config = {
      ...DEFAULT_CONFIG,
      accounts: [
        { name: 'a', key: { text: 'k', source: '/keys/a' } },
        { name: 'b', key: { text: 'k', source: 'accounts.b.key in /x' } },
      ],
      webSearch: { provider: 'brave', key: { text: 'k', source: '/keys/search' } } as const,
      daemon: {
        ...DEFAULT_CONFIG.daemon,
        tasks: {
          tls: { cert: 'cert.pem', key: 'key.pem' },
          webhooks: [{ url: 'https://h.example', secret_file: '~/hook' }],
        },
      },
    };
    const paths = await listed({ HOME: '/home/ada' }, '/somewhere', config);
    expect(paths).toEqual(
      expect.arrayContaining([
        '/keys/a',
        '/keys/search',
        '/home/ada/.config/polypod/key.pem',
        '/home/ada/hook',
      ]),
    );
    expect(paths.join()).not.toContain('accounts.b');
  });

  test('are listed with their real path if a link leads elsewhere', async () => {
    const home = temporaryDirectory();
    mkdirSync(join(home, 'dotfiles'));
    mkdirSync(join(home, '.config'));
    symlinkSync(join(home, 'dotfiles'), join(home, '.config/polypod'));
    expect(await listed({ HOME: home })).toEqual(
      expect.arrayContaining([`${home}/.config/polypod`, `${home}/dotfiles`, `${home}/dotfiles/rules.json`]),
    );
  });

  test('leave the working directory usable if it is inside one of them', async () => {
    const env = { HOME: '/home/ada', POLYPOD_DATA_DIR: '/srv/pod' };
    const paths = await listed(env, '/srv/pod/project');
    expect(paths).not.toContain('/srv/pod');
    expect(paths).toEqual(expect.arrayContaining(['/srv/pod/sessions', '/srv/pod/tasks', '/srv/pod/run']));
    expect(await listed(env, '/srv/pod')).toEqual(expect.arrayContaining(['/srv/pod/sessions']));
  });
});
