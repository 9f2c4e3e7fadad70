import type { PodEvent } from '../../src/pod/index.ts';
import type { DoorClient, Prompt, WireName } from './clients/client.ts';
import type { SharedSession } from './shared-session.ts';
import type { Action } from './table.ts';

/** A scenario that every door takes part in: acting if its protocol supports it, otherwise watching. */
export interface Scenario {
  readonly name: string;
  /** What the acting client does besides its first prompt. */
  readonly action?: Action;
  readonly first: Prompt;
  /** Whether a door with pipes is also watched over the pipes of its program; each is a process. */
  readonly hasPipes?: boolean;
  /** `actor` is the client of the acting door; `restart` kills the daemon and starts it again. */
  readonly run?: (session: SharedSession, actor: DoorClient, restart: () => Promise<void>) => Promise<void>;
  /** What the log must contain at the end, besides what all doors sent. */
  readonly ends: (log: readonly PodEvent[]) => boolean;
}

/** Text in chunks, slow enough for other actions in between. */
const SLOW: Prompt = { text: `[[sim text='${'one two '.repeat(20)}' size=8 delay=25]]`, hasTools: false };
/** So long that only a cancel or a kill ends it. */
const ENDLESS: Prompt = { text: '[[sim deltas=4000 size=6 delay=15]]', hasTools: false };
const ASKS: Prompt = { text: asking('made'), hasTools: true };
const DECISION_TEXT = "[[sim text='Then something else.' size=5 delay=0]]";

function asking(file: string): string {
  return `[[sim tool=bash args='{"command":"touch ${file}"}' text='That was all.' size=5 delay=0]]`;
}

const isPiece = ({ type }: PodEvent): boolean => type === 'block-delta';
const endsWith = (status: string) => (log: readonly PodEvent[]) => outcomes(log).at(-1) === status;

function outcomes(log: readonly PodEvent[]): readonly string[] {
  return log.flatMap((event) => (event.type === 'run-end' ? [event.outcome.status] : []));
}

function settlements(log: readonly PodEvent[]): readonly string[] {
  return log.flatMap((event) => (event.type === 'approval-response' ? [event.status] : []));
}

const OTHERS: Readonly<Record<string, WireName>> = {
  pod: 'hld',
  hld: 'tasks WebSocket',
  'tasks SSE': 'rpc',
  rpc: 'pod',
  acp: 'rpc',
};

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'prompt to completion',
    action: 'prompt',
    first: {
      text: "[[sim thinking='Let me think.' text='Paris, I believe.' size=4 delay=0]]",
      hasTools: false,
    },
    ends: endsWith('finished'),
  },
  {
    name: 'tool call',
    action: 'prompt',
    hasPipes: true,
    first: {
      text: `[[sim tool=ls args='{"path":"."}' calls=2 text='Nothing is here.' size=6 delay=0]]`,
      hasTools: true,
    },
    ends: (log) => log.filter(({ type }) => type === 'tool-end').length === 2 && endsWith('finished')(log),
  },
  {
    name: 'approval allowed',
    action: 'decide',
    first: ASKS,
    run: async (session, actor) => {
      await session.untilState('waiting');
      await session.decide(actor, 'approve');
    },
    ends: (log) => settlements(log).join() === 'approved' && endsWith('finished')(log),
  },
  {
    name: 'approval denied',
    action: 'decide',
    hasPipes: true,
    first: ASKS,
    run: async (session, actor) => {
      await session.untilState('waiting');
      await session.decide(actor, 'deny');
    },
    ends: (log) => settlements(log).join() === 'denied' && endsWith('finished')(log),
  },
  {
    name: 'approval withdrawn',
    action: 'withdraw',
    first: ASKS,
    run: async (session, actor) => {
      await session.untilState('waiting');
      await session.expect(actor.cancel?.(), 'accepted');
    },
    ends: (log) => settlements(log).join() === 'cancelled' && endsWith('cancelled')(log),
  },
  {
    name: 'cancel',
    action: 'cancel',
    first: { text: `[[sim tool=bash args='{"command":"sleep 30"}']]`, hasTools: true },
    run: async (session, actor) => {
      await session.until('the call runs', ({ type }) => type === 'tool-start');
      await session.expect(actor.cancel?.(), 'accepted');
    },
    ends: endsWith('cancelled'),
  },
  {
    name: 'steer',
    action: 'steer',
    first: { text: asking('steered'), hasTools: true },
    run: async (session, actor) => {
      await session.untilState('waiting');
      await session.expect(actor.steer?.(DECISION_TEXT), 'accepted');
      await session.decide(session.client('pod'), 'approve');
    },
    ends: (log) => log.some((event) => event.type === 'input' && event.origin === 'steer'),
  },
  {
    name: 'queue',
    action: 'queue',
    first: SLOW,
    run: async (session, actor) => {
      await session.prompt(actor.queue, { text: DECISION_TEXT, hasTools: false });
      await session.until('the second answer', ({ type }) => type === 'llm-end', 2);
    },
    ends: (log) => log.some(({ type }) => type === 'queued') && endsWith('finished')(log),
  },
  {
    name: 'late client',
    action: 'late',
    first: SLOW,
    run: async (session) => {
      await session.until('text', isPiece);
      await Promise.all(LATE.map((wire) => session.join(wire, false)));
    },
    ends: endsWith('finished'),
  },
  {
    name: 'resume after a cut',
    action: 'resume',
    first: SLOW,
    run: async (session) => {
      await session.until('text', isPiece, 3);
      for (const client of session.clients) client.cut();
      await session.until('more text', isPiece, 8);
      await Promise.all(session.clients.map((client) => client.connect()));
    },
    ends: endsWith('finished'),
  },
  {
    name: 'resume after a daemon kill',
    action: 'resume',
    hasPipes: true,
    first: ENDLESS,
    run: async (session, _, restart) => {
      await session.until('text', isPiece, 3);
      await restart();
      await Promise.all(session.clients.map((client) => client.connect()));
      await session.prompt(session.client('pod').prompt, { text: DECISION_TEXT, hasTools: false });
      await session.until('the next answer', ({ type }) => type === 'llm-end', 1);
    },
    ends: (log) => outcomes(log).join() === 'interrupted,finished',
  },
  {
    name: 'slow client',
    first: { text: '[[sim deltas=300 size=1000 delay=0]]', hasTools: false },
    run: async (session, actor) => {
      actor.pauseReading();
      await session.untilState('idle');
      actor.resumeReading();
    },
    ends: endsWith('finished'),
  },
  {
    name: 'malformed input',
    first: SLOW,
    run: async (session, actor) => {
      for (let choice = 0; choice < 7; choice += 1)
        await session.expect(actor.sendMalformed(choice), 'refused');
    },
    ends: endsWith('finished'),
  },
  {
    name: 'two clients on different doors',
    action: 'decide',
    first: ASKS,
    run: async (session, actor) => {
      await session.untilState('waiting');
      const other = session.client(OTHERS[actor.wire] ?? 'pod');
      // Both decide concurrently: the first decision wins, and every client learns whose it was.
      await Promise.all([session.decideOnce(actor, 'approve'), session.decideOnce(other, 'deny')]);
    },
    ends: (log) => settlements(log).length === 1 && endsWith('finished')(log),
  },
  {
    name: 'interruption in mid-text',
    action: 'cancel',
    first: ENDLESS,
    run: async (session, actor) => {
      await session.until('text', isPiece, 3);
      await session.expect(actor.cancel?.(), 'accepted');
      await session.untilState('idle');
      await session.prompt(session.client('pod').prompt, { text: DECISION_TEXT, hasTools: false });
      await session.until('the next run ends', ({ type }) => type === 'run-end', 2);
    },
    ends: (log) => outcomes(log).join() === 'cancelled,finished',
  },
  {
    name: 'restart while an approval is pending',
    action: 'decide',
    first: ASKS,
    run: async (session, actor, restart) => {
      await session.untilState('waiting');
      await restart();
      await Promise.all(session.clients.map((client) => client.connect()));
      await session.untilState('waiting');
      await session.decide(actor, 'approve');
    },
    ends: (log) => settlements(log).join() === 'approved' && endsWith('finished')(log),
  },
];

const LATE: readonly WireName[] = ['pod', 'pod plain', 'rpc', 'hld', 'acp', 'tasks SSE', 'tasks WebSocket'];
