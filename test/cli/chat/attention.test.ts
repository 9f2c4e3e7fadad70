import { describe, expect, it } from 'vitest';
import { newsBetween, sessionLabel, workState } from '../../../src/cli/chat/view/news.ts';
import { viewFromSnapshot } from '../../../src/cli/chat/view/joined-view.ts';
import type { View } from '../../../src/cli/chat/view/view.ts';
import { Attention } from '../../../src/cli/output/attention.ts';
import { DEFAULT_SETTINGS } from '../../../src/pod/index.ts';
import { SNAPSHOT } from './idle-snapshot.ts';

const ALL = { bell: true, title: true, desktop: false };

function attentionFixture(settings = ALL, TERM = 'xterm') {
  let [written, time] = ['', 0];
  const attention = new Attention({
    write: (bytes) => (written += bytes),
    env: { TERM },
    settings,
    now: () => time,
  });
  return {
    attention,
    pass: (ms: number) => (time += ms),
    take: () => {
      const taken = written;
      written = '';
      return taken;
    },
  };
}

describe('the attention of a person on a terminal', () => {
  it('is requested once they have not pressed a key for some seconds', () => {
    const { attention, pass, take } = attentionFixture();
    pass(9_000);
    attention.notify('done');
    expect(take()).toBe('');
    pass(2_000);
    attention.notify('done');
    expect(take()).toBe('\u0007');
    attention.attended();
    attention.notify('done');
    expect(take()).toBe('');
  });

  it('is requested by the focus, in terminals that report it', () => {
    const { attention, pass, take } = attentionFixture();
    attention.focused(false);
    attention.notify('done');
    expect(take()).toBe('\u0007');
    attention.focused(true);
    pass(60_000);
    attention.notify('done');
    expect(take()).toBe('');
  });

  it('gets the state in the title, which is restored while another program uses the terminal', () => {
    const { attention, take } = attentionFixture();
    attention.show('fix it', 'working');
    expect(take()).toContain('working · fix it');
    attention.pause();
    expect(take()).toContain('\u001b[23;0t');
    attention.show('fix it', 'idle');
    expect(take()).toBe('');
    attention.resume();
    expect(take()).toContain('\u001b[22;0t\u001b]0;idle · fix it');
  });

  it.each([
    ['the configuration disables it', { ...ALL, title: false, bell: false }, 'xterm'],
    ['the terminal has no capabilities', { ...ALL, bell: false }, 'dumb'],
  ])('gets nothing if %s', (_, settings, term) => {
    const { attention, pass, take } = attentionFixture(settings, term);
    attention.show('fix it', 'working');
    pass(60_000);
    attention.notify('done');
    attention.pause();
    expect(take()).toBe('');
  });
});

const IDLE: View = viewFromSnapshot(
  { ...SNAPSHOT, cwd: '/projects/shop' },
  { by: 'ada', door: 'cli' },
  0,
).view;
const RUNNING: View = { ...IDLE, state: 'running' };
const APPROVAL = {
  approvalId: 'a1',
  requestedAt: '2026-01-01T00:00:00Z',
  tool: 'bash',
  arguments: '{}',
  title: 'make',
  reason: '',
};
const WAITING: View = { ...RUNNING, state: 'waiting', approvals: [APPROVAL] };
const ended = (status: 'finished' | 'cancelled'): View => ({
  ...IDLE,
  lastRun: { runId: 'r1', outcome: { status } },
});

describe('the news of a pod', () => {
  it('are new approvals and the ends of runs', () => {
    expect(newsBetween(RUNNING, WAITING)).toBe('approval needed: bash make');
    expect(newsBetween(WAITING, WAITING)).toBeUndefined();
    expect(newsBetween(RUNNING, ended('finished'))).toBe('the run is finished');
    expect(newsBetween(RUNNING, ended('cancelled'))).toBe('the run was cancelled');
    expect(newsBetween(ended('finished'), ended('finished'))).toBeUndefined();
  });

  it('are none while a queued prompt follows', () => {
    const queue = [{ queueId: 'q', lane: 'prompt' as const, content: [] }];
    expect(newsBetween(RUNNING, { ...ended('finished'), queue })).toBeUndefined();
  });

  it('are none when a pod is opened', () => {
    expect(newsBetween(undefined, WAITING)).toBeUndefined();
    expect(newsBetween({ ...RUNNING, podId: 'other' }, WAITING)).toBeUndefined();
  });

  it('name the session: its name, its title, or its directory', () => {
    const titled: View = { ...IDLE, title: 'Fix the cart' };
    const named: View = { ...titled, settings: { ...DEFAULT_SETTINGS, name: 'cart' } };
    expect([IDLE, titled, named].map((view) => sessionLabel(view, true))).toEqual([
      'shop',
      'Fix the cart',
      'cart',
    ]);
    expect([titled, named].map((view) => sessionLabel(view, false))).toEqual(['shop', 'cart']);
    expect([IDLE, RUNNING, WAITING].map(workState)).toEqual(['idle', 'working', 'waiting for approval']);
  });
});
