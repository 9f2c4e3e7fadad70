import { spawn } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type AuditEvent,
  auditFiles,
  type AuditLimits,
  AuditLog,
  listAuditFiles,
  readEntry,
  verifyAudit,
} from '../../src/audit/index.ts';
import { temporaryDirectory } from '../cli/polypod.ts';

interface AuditFixture {
  readonly files: ReturnType<typeof auditFiles>;
  readonly open: (limits?: Partial<AuditLimits>, now?: () => Date) => AuditLog;
  /** Records events with one writer and closes it. */
  readonly write: (events: readonly AuditEvent[], limits?: Partial<AuditLimits>) => Promise<void>;
  readonly lines: () => string[];
  readonly problems: () => readonly string[];
}

function auditFixture(): AuditFixture {
  const files = auditFiles(temporaryDirectory());
  const open: AuditFixture['open'] = (limits, now) =>
    new AuditLog({
      files,
      makeDirectory: (path) => void mkdirSync(path, { recursive: true }),
      ...(limits && { limits }),
      ...(now && { now }),
    });
  return {
    files,
    open,
    write: async (events, limits) => {
      const log = open(limits);
      for (const event of events) log.record(event);
      expect(await log.close()).toBe(true);
    },
    lines: () => listAuditFiles(files).flatMap((file) => readFileSync(file, 'utf8').trimEnd().split('\n')),
    problems: () =>
      verifyAudit(files).problems.map(({ file, line, problem }) => `${basename(file)}:${line}: ${problem}`),
  };
}

const made = (count: number, from = 0): readonly AuditEvent[] =>
  Array.from({ length: count }, (_, at) => ({ event: 'key.created', by: 'ada', target: `key${from + at}` }));

describe('the audit log', () => {
  it('numbers and chains its entries across consecutive writers', async () => {
    const fixture = auditFixture();
    await fixture.write(made(3));
    await fixture.write(made(2, 3));
    const entries = fixture.lines().map((line) => readEntry(line));
    expect(entries.map((entry) => entry?.event)).toEqual(['audit.started', ...Array(5).fill('key.created')]);
    expect(entries.map((entry) => entry?.seq)).toEqual([1, 2, 3, 4, 5, 6]);
    for (const [at, entry] of entries.entries())
      expect(entry?.prev).toBe(entries[at - 1]?.hash ?? '0'.repeat(64));
    expect(verifyAudit(fixture.files)).toMatchObject({
      files: 1,
      entries: 6,
      first: 1,
      torn: 0,
      problems: [],
    });
    expect((statSync(fixture.files.current).mode & 0o777).toString(8)).toBe('600');
  });

  it.each([
    [
      'a changed value',
      (lines: string[]) => lines.with(2, lines[2]?.replace('key1', 'key7') ?? ''),
      'audit.jsonl:3: the line was changed',
    ],
    [
      'a removed line',
      (lines: string[]) => lines.toSpliced(2, 1),
      'audit.jsonl:3: entries 3 to 3 are missing',
    ],
    [
      'swapped lines',
      (lines: string[]) => [lines[0], lines[2], lines[1], ...lines.slice(3)],
      'audit.jsonl:2: entries 2 to 2 are missing',
    ],
    [
      'a removed first line',
      (lines: string[]) => lines.slice(1),
      'audit.jsonl:1: entries 1 to 1 are missing',
    ],
    [
      'removed last lines',
      (lines: string[]) => lines.slice(0, -2),
      'audit.jsonl:5: the last entries are missing: the chain ends with 4, and 6 was written',
    ],
    [
      'a repeated line',
      (lines: string[]) => [...lines.slice(0, 3), lines[2], ...lines.slice(3)],
      'audit.jsonl:4: entry 3 comes after entry 3',
    ],
    [
      'half of the last line',
      (lines: string[]) => lines.with(5, lines[5]?.slice(0, 50) ?? ''),
      'audit.jsonl:6: the line is incomplete',
    ],
  ])('fails verification with %s', async (_, change, problem) => {
    const fixture = auditFixture();
    await fixture.write(made(5));
    const before = fixture.lines();
    writeFileSync(fixture.files.current, `${change(before).join('\n')}\n`);
    expect(fixture.problems()[0]).toContain(problem);
    writeFileSync(fixture.files.current, `${before.join('\n')}\n`);
    expect(fixture.problems()).toEqual([]);
  });

  it('fails verification after a rewrite, or with an expected entry if audit.head was rewritten too', async () => {
    const [fixture, forged] = [auditFixture(), auditFixture()];
    await fixture.write(made(5));
    const { head } = verifyAudit(fixture.files);
    await forged.write(made(5, 100));
    writeFileSync(fixture.files.current, readFileSync(forged.files.current));
    expect(fixture.problems()).toEqual([
      'audit.jsonl:6: entry 6 is not the one that was recorded in audit.head: the chain was rewritten',
    ]);
    writeFileSync(fixture.files.head, readFileSync(forged.files.head));
    expect(fixture.problems()).toEqual([]);
    expect(verifyAudit(fixture.files, { expect: head }).problems).toMatchObject([
      { problem: 'entry 6 is not the one that was expected: the chain was rewritten' },
    ]);
  });

  it('reports removed lines at the end, also after new entries', async () => {
    const fixture = auditFixture();
    await fixture.write(made(5));
    writeFileSync(fixture.files.current, `${fixture.lines().slice(0, 3).join('\n')}\n`);
    await fixture.write(made(1, 9));
    expect(fixture.problems()).toEqual([
      'audit.jsonl:4: entries 4 to 6 are missing: removed, or lost in a power cut',
    ]);
    expect(readEntry(fixture.lines()[3] ?? '')).toMatchObject({
      event: 'audit.gap',
      details: { missing: { from: 4, to: 6 } },
    });
    expect(verifyAudit(fixture.files, { from: 7 }).problems).toEqual([]);
    rmSync(fixture.files.current);
    await fixture.write(made(1, 10));
    expect(fixture.problems()[0]).toContain('entries 1 to 8 are missing');
  });

  it('records a line that a crash cut off, also inside a character', async () => {
    const fixture = auditFixture();
    await fixture.write(made(2));
    const torn = Buffer.from('{"seq":4,"time":"2026-01-01T00:00:00Z","by":"é');
    appendFileSync(fixture.files.current, torn.subarray(0, -1));
    await fixture.write(made(1, 7));
    expect(readEntry(fixture.lines().at(-2) ?? '')).toMatchObject({
      event: 'audit.torn',
      details: { bytes: torn.length - 1 },
    });
    expect(verifyAudit(fixture.files)).toMatchObject({ entries: 5, torn: 1, problems: [] });
    // A complete line without a newline is an entry.
    const { length } = fixture.lines();
    truncateSync(fixture.files.current, statSync(fixture.files.current).size - 1);
    await fixture.write(made(1, 8));
    expect(verifyAudit(fixture.files)).toMatchObject({ entries: length, torn: 1, problems: [] });
  });

  it('continues the chain in a new file, and records removed files', async () => {
    const fixture = auditFixture();
    const limits = { fileBytes: 2_000, keptFiles: 2 };
    for (let round = 0; round < 6; round += 1) await fixture.write(made(10, round * 10), limits);
    const names = readdirSync(fixture.files.directory).filter((name) => name.endsWith('.jsonl'));
    expect(names).toHaveLength(3);
    const verdict = verifyAudit(fixture.files);
    expect(verdict.problems).toEqual([]);
    expect(verdict.first).toBeGreaterThan(1);
    const [oldest = '', next = ''] = listAuditFiles(fixture.files);
    expect(statSync(next).size).toBeLessThan(3_000);
    const kept = readFileSync(next);
    rmSync(next);
    expect(fixture.problems()[0]).toMatch(/entries \d+ to \d+ are missing/);
    writeFileSync(next, kept);
    rmSync(oldest);
    expect(fixture.problems()[0]).toMatch(/entries 1 to \d+ are missing/);
  });

  it('starts a new file when the old one exceeds its maximum age', async () => {
    const fixture = auditFixture();
    let now = Date.parse('2026-01-01T00:00:00Z');
    const log = fixture.open({ fileAgeMs: 1_000 }, () => new Date(now));
    log.record({ event: 'key.created' });
    await log.close();
    now += 2_000;
    const later = fixture.open({ fileAgeMs: 1_000 }, () => new Date(now));
    later.record({ event: 'key.revoked' });
    await later.close();
    expect(listAuditFiles(fixture.files)).toHaveLength(2);
    expect(fixture.problems()).toEqual([]);
  });

  it('keeps the lines of versions without a chain', async () => {
    const fixture = auditFixture();
    mkdirSync(fixture.files.directory);
    writeFileSync(
      fixture.files.current,
      '{"time":"2026-01-01T00:00:00.000Z","action":"POST /submit_task"}\n',
    );
    await fixture.write(made(1));
    expect(readFileSync(join(fixture.files.directory, 'audit-unchained.jsonl'), 'utf8')).toContain(
      '/submit_task',
    );
    expect(readEntry(fixture.lines()[0] ?? '')).toMatchObject({
      event: 'audit.started',
      details: { unchained: 'audit-unchained.jsonl' },
    });
    expect(fixture.problems()).toEqual([]);
  });

  it('truncates long values, escapes unprintable characters, and redacts secrets', async () => {
    const fixture = auditFixture();
    const key = `ppk_0123456789ab_${'x'.repeat(43)}`;
    await fixture.write([
      { event: 'request.refused', action: `GET /${'a'.repeat(1_000_000)}` },
      { event: 'request.refused', by: 'a\u202eb\u0007\nc', clientRequestId: key },
      {
        event: 'request.accepted',
        details: Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [at, at])),
      },
    ]);
    const text = readFileSync(fixture.files.current, 'utf8');
    expect(text.length).toBeLessThan(4_000);
    expect(text).not.toContain('x'.repeat(20));
    expect(text).toContain('[redacted]');
    expect(text).toContain('a\\u202eb\\u0007\\nc');
    expect(text).toContain('(1000005 characters)');
    expect(fixture.problems()).toEqual([]);
  });

  it('records a flood of refusals as a few entries and a count', async () => {
    const fixture = auditFixture();
    const refusal = (remote: string): AuditEvent => ({
      event: 'request.refused',
      remote,
      outcome: 'unauthorized',
    });
    await fixture.write([
      ...Array.from({ length: 50_000 }, () => refusal('10.0.0.1')),
      ...Array.from({ length: 50_000 }, (_, at) => refusal(`10.1.${at % 250}.${at % 199}`)),
      { event: 'approval.denied', by: 'ada' },
    ]);
    expect(statSync(fixture.files.current).size).toBeLessThan(200_000);
    const entries = fixture.lines().map((line) => readEntry(line));
    const refused = entries.filter((entry) => entry?.event === 'request.refused');
    expect(refused.reduce((sum, entry) => sum + (entry?.count ?? 1), 0)).toBe(100_000);
    expect(refused.filter((entry) => entry?.remote === '10.0.0.1').at(-1)).toMatchObject({ count: 49_980 });
    expect(entries.some((entry) => entry?.event === 'approval.denied')).toBe(true);
    expect(fixture.problems()).toEqual([]);
  });

  it('is one chain when several processes write concurrently and one is killed', async () => {
    const fixture = auditFixture();
    const program = `
      import { mkdirSync } from 'node:fs';
      import { AuditLog, auditFiles } from ${JSON.stringify(join(process.cwd(), 'dist/audit/index.js'))};
      const log = new AuditLog({ files: auditFiles(process.argv[1]), makeDirectory: (path) => mkdirSync(path, { recursive: true }), limits: { fileBytes: 20000, keptFiles: 100 } });
      for (let at = 0; at < 200; at += 1) {
        log.record({ event: 'key.created', by: process.argv[2], target: String(at) });
        if (at % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      }
      if (process.argv[2] === 'killed') process.kill(process.pid, 'SIGKILL');
      await log.close();`;
    const directory = join(fixture.files.directory, '..');
    const run = (name: string): Promise<void> =>
      new Promise((resolve) => {
        spawn(process.execPath, ['--input-type=module', '-e', program, directory, name], {
          stdio: 'inherit',
        }).on('close', () => resolve());
      });
    await Promise.all(['one', 'two', 'three', 'killed'].map(run));
    const entries = fixture.lines().map((line) => readEntry(line));
    for (const name of ['one', 'two', 'three'])
      expect(entries.filter((entry) => entry?.by === name).map((entry) => entry?.target)).toEqual(
        Array.from({ length: 200 }, (_, at) => String(at)),
      );
    expect(fixture.problems()).toEqual([]);
    expect(listAuditFiles(fixture.files).length).toBeGreaterThan(3);
  });

  it('keeps events while it cannot be written, and reports the failure once', async () => {
    const fixture = auditFixture();
    const reasons: string[] = [];
    let isBroken = true;
    const log = new AuditLog({
      files: fixture.files,
      makeDirectory: (path) => {
        if (isBroken) throw new Error('no space left');
        mkdirSync(path, { recursive: true });
      },
      onFailure: (reason) => reasons.push(reason),
    });
    log.record({ event: 'key.created', target: 'first' });
    await expect.poll(() => reasons).toEqual(['no space left']);
    isBroken = false;
    log.record({ event: 'key.created', target: 'second' });
    expect(await log.close()).toBe(true);
    expect(fixture.lines().map((line) => readEntry(line)?.target)).toEqual([undefined, 'first', 'second']);
    expect(reasons).toHaveLength(1);
  });
});
