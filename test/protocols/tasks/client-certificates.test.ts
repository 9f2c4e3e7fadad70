import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { agentFixture, endLater } from './binary.ts';
import { selfSigned, selfSignedFiles } from './certificate.ts';
import { textAnswer } from './fixture.ts';

/** A self-signed client certificate and its key. */
function clientFiles(directory: string, name: string): { readonly cert: string; readonly key: string } {
  const { cert, key } = selfSigned();
  const files = { cert: join(directory, `${name}.pem`), key: join(directory, `${name}.key`) };
  writeFileSync(files.cert, cert, { mode: 0o644 });
  writeFileSync(files.key, key, { mode: 0o600 });
  return files;
}

describe('an agent with --client-ca', () => {
  it('accepts tasks only from clients with a certificate of that authority and a key', async () => {
    const fixture = await agentFixture([textAnswer('Hello.')]);
    selfSignedFiles(fixture.home);
    const good = clientFiles(fixture.home, 'good');
    const other = clientFiles(fixture.home, 'other');
    const tls = ['--tls-cert', join(fixture.home, 'cert.pem'), '--tls-key', join(fixture.home, 'key.pem')];
    const started = await fixture.polypod(
      'agent',
      'start',
      '--port',
      '0',
      ...tls,
      '--client-ca',
      good.cert,
      '--cwd',
      fixture.project,
    );
    expect([started.code, started.stderr]).toEqual([0, expect.stringContaining('is up at https://')]);
    endLater(fixture.record().pid);
    expect((await fixture.polypod('agent', 'status')).code).toBe(0);
    const submit = (...more: readonly string[]) =>
      fixture.polypod('task', 'submit', '--type', 'chat', '--wait', ...more, 'Say hello.');
    const done = await submit('--cert', good.cert, '--key', good.key);
    expect([done.code, done.stdout.trim()]).toEqual([0, 'Hello.']);
    const without = await submit();
    expect([without.code, without.stderr]).toEqual([3, expect.stringContaining('certificate')]);
    expect(without.stderr).toContain('--cert');
    const wrong = await submit('--cert', other.cert, '--key', other.key);
    // Node.js only closes these connections.
    expect([wrong.code, wrong.stderr]).toEqual([3, expect.stringContaining('cannot reach')]);
    // The certificate alone is not enough.
    writeFileSync(join(fixture.home, 'wrong.key'), 'ppk_000000000000_wrong\n');
    const keyless = await submit(
      '--cert',
      good.cert,
      '--key',
      good.key,
      '--key-file',
      join(fixture.home, 'wrong.key'),
    );
    expect([keyless.code, keyless.stderr]).toEqual([2, expect.stringContaining('the key is invalid')]);
    expect((await fixture.polypod('agent', 'stop')).code).toBe(0);
  });

  it('reports what is missing on the command line', async () => {
    const fixture = await agentFixture();
    const lacking = await fixture.polypod('agent', 'start', '--client-ca', 'ca.pem');
    expect([lacking.code, lacking.stderr]).toEqual([2, expect.stringContaining('--tls-cert')]);
    const half = await fixture.polypod('task', 'list', '--url', 'https://127.0.0.1:9', '--cert', 'c.pem');
    expect([half.code, half.stderr]).toEqual([2, expect.stringContaining('--cert and --key')]);
    const mistaken = await fixture.polypod(
      'task',
      'list',
      '--url',
      'https://127.0.0.1:9',
      '--key',
      'ppk_123',
    );
    expect([mistaken.code, mistaken.stderr]).toEqual([2, expect.stringContaining('--key-file')]);
    expect(mistaken.stderr).not.toContain('ppk_123');
  });
});
