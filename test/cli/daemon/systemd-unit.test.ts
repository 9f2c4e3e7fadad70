import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../polypod.ts';

const FOLDER = 'docs/systemd';
const analyze = (...args: readonly string[]) => spawnSync('systemd-analyze', args, { encoding: 'utf8' });
const isInstalled = analyze('--version').status === 0;

describe.each(readdirSync(FOLDER))('%s', (name) => {
  const text = readFileSync(join(FOLDER, name), 'utf8');

  it('grants no capability and no new privilege, and allows bubblewrap its namespaces', () => {
    for (const line of ['NoNewPrivileges=yes', 'CapabilityBoundingSet=', 'UMask=0077'])
      expect(text.split('\n')).toContain(line);
    expect(text).toMatch(/^RestrictNamespaces=.*\buser\b.*\bmnt\b.*\bpid\b.*\bnet\b/m);
    // Each of them covers a part of /proc, after which no other /proc can be mounted.
    expect(text).not.toMatch(
      /^(?:ProtectKernelTunables|ProtectKernelLogs|ProtectProc|ProcSubset|ProtectHostname)=/m,
    );
  });

  it.runIf(isInstalled)('is valid in every line for systemd', () => {
    const unit = join(temporaryDirectory(), 'polypod.service');
    // The program is not installed there.
    writeFileSync(unit, text.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`));
    const { status, stderr } = analyze('verify', unit);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });
});
