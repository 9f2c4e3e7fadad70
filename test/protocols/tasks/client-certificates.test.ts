import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { agentSite, endLater } from './binary.ts';
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
    const here = await agentSite([textAnswer('Hello.')]);
    selfSignedFiles(here.home);
    const good = clientFiles(here.home, 'good');
    const other = clientFiles(here.home, 'other');
    const tls = ['--tls-cert', join(here.home, 'cert.pem'), '--tls-key', join(here.home, 'key.pem')];
    const started = await here.polypod(
      'agent',
      'start',
      '--port',
      '0',
      ...tls,
      '--client-ca',
      good.cert,
      '--cwd',
      here.project,
    );
    expect([started.code, started.stderr]).toEqual([0, expect.stringContaining('is up at https://')]);
    endLater(here.record().pid);
    expect((await here.polypod('agent', 'status')).code).toBe(0);
    const submit = (...more: readonly string[]) =>
      here.polypod('task', 'submit', '--type', 'chat', '--wait', ...more, 'Say hello.');
    const done = await submit('--cert', good.cert, '--key', good.key);
    expect([done.code, done.stdout.trim()]).toEqual([0, 'Hello.']);
    const without = await submit();
    expect([without.code, without.stderr]).toEqual([3, expect.stringContaining('certificate')]);
    expect(without.stderr).toContain('--cert');
    const wrong = await submit('--cert', other.cert, '--key', other.key);
    // Node.js only closes these connections.
    expect([wrong.code, wrong.stderr]).toEqual([3, expect.stringContaining('cannot reach')]);
    // The certificate alone is not enough.
    writeFileSync(join(here.home, 'wrong.key'), 'ppk_000000000000_wrong\n');
    const keyless = await submit(
      '--cert',
      good.cert,
      '--key',
      good.key,
      '--key-file',
      join(here.home, 'wrong.key'),
    );
    expect([keyless.code, keyless.stderr]).toEqual([2, expect.stringContaining('the key is invalid')]);
    expect((await here.polypod('agent', 'stop')).code).toBe(0);
  });

  it('reports what is missing on the command line', async () => {
    const here = await agentSite();
    const lacking = await here.polypod('agent', 'start', '--client-ca', 'ca.pem');
    expect([lacking.code, lacking.stderr]).toEqual([2, expect.stringContaining('--tls-cert')]);
    const half = await here.polypod('task', 'list', '--url', 'https://127.0.0.1:9', '--cert', 'c.pem');
    expect([half.code, half.stderr]).toEqual([2, expect.stringContaining('--cert and --key')]);
    const mistaken = await here.polypod('task', 'list', '--url', 'https://127.0.0.1:9', '--key', 'ppk_123');
    expect([mistaken.code, mistaken.stderr]).toEqual([2, expect.stringContaining('--key-file')]);
    expect(mistaken.stderr).not.toContain('ppk_123');
  });
});
