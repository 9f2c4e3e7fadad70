import { describe, expect, it } from 'vitest';
import { errorOf, phaseOf, type PhaseInput } from '../../../src/protocols/hld/sessions/status.ts';

const run = (status: string, message?: string) => ({
  runId: 'r',
  status,
  ...(message === undefined ? {} : { message }),
});
const notes = (more: object = {}) => ({ hld: { query: 'q', launch: 'l', ...more } });
const standing = (more: Partial<PhaseInput>): PhaseInput => ({
  state: 'idle',
  queued: 0,
  approvals: [],
  isInterrupting: false,
  isLaunching: false,
  isClosed: false,
  ...more,
});

describe('the phase of a session', () => {
  it.each<[string, Partial<PhaseInput>]>([
    ['draft', {}],
    ['discarded', { isClosed: true }],
    ['starting', { queued: 1 }],
    ['starting', { annotations: notes(), isLaunching: true }],
    ['failed', { annotations: notes(), isLaunching: false }],
    ['failed', { annotations: notes({ error: 'no key' }), isLaunching: true }],
    ['running', { lastRun: run('running') }],
    ['running', { state: 'running', lastRun: run('running') }],
    ['running', { state: 'running', lastRun: run('finished') }],
    ['interrupting', { state: 'running', lastRun: run('running'), isInterrupting: true }],
    ['interrupting', { state: 'waiting', lastRun: run('running'), isInterrupting: true }],
    ['waiting_input', { state: 'waiting', lastRun: run('running') }],
    ['waiting_input', { state: 'waiting', lastRun: run('interrupted') }],
    ['waiting_input', { state: 'running', lastRun: run('running'), approvals: [{}] }],
    ['paused', { state: 'paused', lastRun: run('paused') }],
    ['waiting_input', { state: 'paused', lastRun: run('paused'), approvals: [{}] }],
    ['completed', { lastRun: run('finished') }],
    ['completed', { lastRun: run('finished'), approvals: [{}] }],
    ['completed', { lastRun: run('finished'), isClosed: true }],
    ['interrupted', { lastRun: run('cancelled') }],
    ['failed', { lastRun: run('failed') }],
    ['failed', { lastRun: run('limited') }],
    ['failed', { lastRun: run('interrupted') }],
  ])('is %s: %j', (status, more) => {
    expect(phaseOf(standing(more))).toBe(status);
  });

  it.each<[string, Partial<PhaseInput>]>([
    ['no credit', { lastRun: run('failed', 'no credit') }],
    ['the run ended as failed, and the provider gave no reason', { lastRun: run('failed', ' ') }],
    ['daemon restarted while session was active', { lastRun: run('interrupted') }],
    ['daemon restarted while session was active', { annotations: notes() }],
    ['no key', { annotations: notes({ error: 'no key' }) }],
  ])('has the reason "%s": %j', (reason, more) => {
    expect(errorOf(standing(more))).toBe(reason);
  });
});
