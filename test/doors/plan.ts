import { Random } from '../hostile-input/random.ts';
import type { Prompt, WireName } from './clients/client.ts';

/** One action of a client in a schedule. */
export type Act =
  | 'prompt'
  | 'queue'
  | 'steer'
  | 'cancel'
  | 'prompt and cancel'
  | 'approve'
  | 'deny'
  | 'connect'
  | 'cut'
  | 'read slowly'
  | 'malformed input';

export interface Step {
  /** The index of the client. */
  readonly client: number;
  readonly act: Act;
  readonly prompt: Prompt;
  readonly choice: number;
  /** The delay before it. */
  readonly waitMs: number;
}

/** One session, its clients, and their actions. The seed determines everything except the timing. */
export interface Plan {
  readonly creator: WireName;
  readonly first: Prompt;
  readonly clients: readonly { readonly wire: WireName; readonly fromStart: boolean }[];
  readonly steps: readonly Step[];
}

/** Sessions that share a daemon, and when it is killed. */
export interface Round {
  readonly plans: readonly Plan[];
  /** The time after the last start, or the beginning, in milliseconds. */
  readonly kills: readonly number[];
}

const CREATORS: readonly WireName[] = ['pod', 'rpc', 'hld', 'acp', 'tasks SSE', 'tasks WebSocket'];
/** Each is a process. */
const PIPES: readonly WireName[] = ['rpc stdio', 'acp stdio'];
const WIRES: readonly WireName[] = [
  'pod',
  'pod',
  'pod plain',
  'rpc',
  'rpc',
  'hld',
  'hld',
  'acp',
  'acp',
  'tasks SSE',
  'tasks WebSocket',
];
const ACTS: readonly Act[] = [
  ...[
    'prompt',
    'prompt',
    'queue',
    'queue',
    'steer',
    'cancel',
    'prompt and cancel',
    'approve',
    'approve',
    'deny',
  ],
  ...['connect', 'connect', 'cut', 'cut', 'read slowly', 'malformed input'],
] as Act[];

export function roundFor(seed: number, number: number, size: number): Round {
  const random = new Random((seed ^ Math.imul(number + 1, 0x9e3779b1)) >>> 0);
  const kills = Array.from({ length: 1 + random.below(3) }, () => 100 + random.below(1_500));
  const plans = Array.from({ length: size }, (_, at) => planFor(random, `${number}-${at}`));
  return { plans, kills };
}

function planFor(random: Random, name: string): Plan {
  let count = 0;
  const prompt = (): Prompt => {
    count += 1;
    const mark = `s${name}p${count}`;
    return { ...promptFor(random, mark), key: mark };
  };
  const clients = Array.from({ length: 2 + random.below(3) }, () => ({
    wire: random.pick(random.chance(0.03) ? PIPES : WIRES),
    fromStart: random.chance(0.6),
  }));
  const steps = Array.from({ length: 5 + random.below(10) }, () => ({
    client: random.below(clients.length),
    act: random.pick(ACTS),
    prompt: prompt(),
    choice: random.below(100),
    waitMs: random.chance(0.4) ? 0 : random.below(120),
  }));
  return { creator: random.pick(CREATORS), first: prompt(), clients, steps };
}

/** `mark` makes the prompt unique. */
function promptFor(random: Random, mark: string): Prompt {
  const roll = random.next();
  const call = (command: string, calls = 1): Prompt => ({
    text: `${mark} [[sim tool=bash args='{"command":"${command}"}' calls=${calls} text='done ${mark}' size=7 delay=0]]`,
    hasTools: true,
  });
  if (roll < 0.25) return call(`touch ${mark}`);
  if (roll < 0.32) return call(`touch ${mark}`, 2);
  if (roll < 0.42)
    return {
      text: `${mark} [[sim tool=ls args='{"path":"."}' text='seen ${mark}' size=7 delay=0]]`,
      hasTools: true,
    };
  if (roll < 0.5) return call(`sleep 0.2; echo ${mark}`);
  // The provider fails once, and the request is retried.
  if (roll < 0.53)
    return { text: `${mark} [[sim text='late ${mark}' fault=529 times=1 size=6 delay=0]]`, hasTools: false };
  // Ends only when it is cancelled, or the daemon is killed.
  if (roll < 0.6) return { text: `${mark} [[sim deltas=4000 size=6 delay=12]]`, hasTools: false };
  if (roll < 0.75)
    return {
      text: `${mark} [[sim thinking='why' text='answer ${mark} in pieces' size=3 delay=12]]`,
      hasTools: false,
    };
  return { text: `${mark} [[sim text='answer ${mark}' size=6 delay=0]]`, hasTools: false };
}
