import { chmodSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { giveTo, homeOf, type Identity, polypodAs, startAs, USERS } from '../../ordinary-user.ts';
import { selfSigned } from '../../protocols/tasks/certificate.ts';

interface Home {
  readonly home: string;
  /** Writes a file with this mode, owned by the user. */
  readonly put: (path: string, text: string, mode: number) => string;
  readonly polypod: (...args: readonly string[]) => ReturnType<typeof polypodAs>;
}

function homeFor(identity: Identity): Home {
  const home = homeOf(identity);
  return {
    home,
    put: (path, text, mode) => {
      const file = join(home, path);
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      writeFileSync(file, text);
      chmodSync(file, mode);
      giveTo(identity, home);
      return file;
    },
    polypod: (...args) => polypodAs(identity, args, { HOME: home }),
  };
}

describe.each(USERS)('as $name', ({ identity }) => {
  it('rejects a configuration that every user can change, with the command that fixes it', async () => {
    const { put, polypod, home } = homeFor(identity);
    const file = put('.config/polypod/config.yaml', 'model: sim/any\n', 0o666);
    for (const command of [
      ['mcp', 'list'],
      ['serve', '--offline'],
      ['agent', 'start', '--offline', '--port', '0'],
    ]) {
      const { code, stderr } = await polypod(...command);
      expect([command, code, stderr]).toEqual([
        command,
        2,
        expect.stringContaining(
          `every user of this machine can change the configuration ${file}: run chmod o-w ${file}`,
        ),
      ]);
    }
    chmodSync(file, 0o664);
    expect((await polypod('mcp', 'list')).code).toBe(0);
    const directory = dirname(file);
    chmodSync(directory, 0o777);
    expect((await polypod('mcp', 'list')).stderr).toContain(`run chmod o-w ${directory}`);
    chmodSync(directory, 0o700);
    // Also through a symbolic link.
    const open = join(home, 'open');
    mkdirSync(open);
    chmodSync(open, 0o777);
    renameSync(file, join(open, 'config.yaml'));
    symlinkSync(join(open, 'config.yaml'), file);
    giveTo(identity, home);
    expect((await polypod('mcp', 'list')).stderr).toContain(`run chmod o-w ${open}`);
  });

  it('rejects an agent-config.yaml, a key file and a rules file that every user can change', async () => {
    const { put, polypod } = homeFor(identity);
    const config = put('agent-config.yaml', 'port: 0\n', 0o646);
    const started = await polypod('agent', 'start', '--offline', '--config', config);
    expect([started.code, started.stderr]).toEqual([2, expect.stringContaining(`run chmod o-w ${config}`)]);
    expect((await polypod('keys', 'create', '--owner', 'ci')).code).toBe(0);
    const keys = put('.local/share/polypod/tasks/keys.json', '{"version":1,"keys":[]}', 0o602);
    for (const args of [
      ['keys', 'create', '--owner', 'ci'],
      ['agent', 'start', '--offline', '--port', '0'],
    ]) {
      const { code, stderr } = await polypod(...args);
      expect([args, code, stderr]).toEqual([args, 2, expect.stringContaining(`run chmod o-w ${keys}`)]);
    }
    const rules = put('.config/polypod/rules.json', '[]', 0o602);
    const ran = await polypod('run', '--no-daemon', '--offline', 'Say hello.');
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining(`run chmod o-w ${rules}`)]);
  });

  it('rejects a TLS key that every user can read, but not one that a group can read', async () => {
    const { put, polypod, home } = homeFor(identity);
    const { cert, key } = selfSigned();
    const certificate = put('cert.pem', cert, 0o644);
    const file = put('key.pem', key, 0o644);
    const start = [
      'agent',
      'start',
      '--offline',
      '--port',
      '0',
      '--tls-cert',
      certificate,
      '--tls-key',
      file,
    ];
    const refused = await polypod(...start);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(`run chmod 600 ${file}`)]);
    chmodSync(file, 0o660);
    expect((await polypod(...start)).stderr).toContain(`run chmod g-w ${file}`);
    chmodSync(file, 0o640);
    const child = startAs(identity, [...start, '--foreground', '--json'], { HOME: home });
    const output = await new Promise<string>((resolve) => {
      child.stdout.once('data', (bytes: Buffer) => resolve(bytes.toString()));
      child.on('close', () => resolve('it ended'));
    });
    expect(output).toContain('https://');
  });

  it('an agent without keys warns on stderr and in the log, at every start', async () => {
    const { polypod, home, put } = homeFor(identity);
    const warning = 'no key is required: every program on this machine can submit tasks to this agent';
    const start = ['agent', 'start', '--offline', '--port', '0', '--no-auth'];
    for (let count = 1; count <= 2; count += 1) {
      const started = await polypod(...start);
      expect([started.code, started.stderr]).toEqual([0, expect.stringContaining(`warning: ${warning}`)]);
      const { stdout } = await polypod('logs', '--lines', '1000');
      expect(stdout.split(warning).length - 1).toBe(count);
      expect((await polypod('agent', 'stop')).code).toBe(0);
    }
    put('.config/polypod/config.yaml', 'tasks: { no_auth: true, port: 0 }\n', 0o600);
    const detached = await polypod('serve', '--offline', '--detach');
    expect([detached.code, detached.stderr]).toEqual([0, expect.stringContaining(`warning: ${warning}`)]);
    expect((await polypod('stop')).code).toBe(0);
    const child = startAs(identity, ['serve', '--offline', '--json'], { HOME: home });
    await new Promise<void>((resolve, reject) => {
      let output = '';
      child.stderr.on('data', (bytes: Buffer) => {
        output += bytes.toString();
        if (output.includes(warning)) resolve();
      });
      child.on('close', () => reject(new Error(output)));
    });
  });
});
