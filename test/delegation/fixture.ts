import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { SimAnswer, SimRequest } from '../../src/sim/index.ts';
import { call, type CliFixture, cliFixture, textAnswer } from '../cli/daemon.ts';

/** What a model answers in a role; `turn` is the number of its answers in the conversation so far. */
export type Act = (request: SimRequest, turn: number) => SimAnswer;

export interface Family {
  readonly parent: Act;
  readonly child?: Act;
}

/** A model that plays a parent and its sub-agents. */
export function family({ parent, child = () => textAnswer('Done.') }: Family) {
  return (request: SimRequest): SimAnswer => {
    const turn = request.messages.filter(({ role }) => role === 'assistant').length;
    return (isChild(request) ? child : parent)(request, turn);
  };
}

/** A home directory with such a model. */
export function familyFixture(roles: Family): Promise<CliFixture> {
  return cliFixture(family(roles));
}

/** Delegates first, then answers with the results. */
export const reports =
  (work: Readonly<Record<string, Work>>): Act =>
  (request, turn) =>
    turn === 0 ? delegates(work) : textAnswer(results(request).join(' | ') || 'Nothing.');

/** Makes one call, then answers with its result. */
export const tries =
  (name: string, args: object): Act =>
  (request, turn) =>
    turn === 0 ? call(name, args) : textAnswer(`Tried: ${results(request).join()}`);

export const isChild = ({ system }: SimRequest): boolean => system.includes('You are a sub-agent');

/** The results of the last turn, in call order. */
export const results = ({ messages }: SimRequest): readonly string[] =>
  messages.at(-1)?.toolResults.map(({ text }) => text) ?? [];

/** The text of the first message, which tells several sub-agents apart. */
export const task = ({ messages }: SimRequest): string => messages[0]?.text ?? '';

export interface Work {
  readonly prompt?: string;
  readonly type?: string;
}

/** An answer that gives work to sub-agents, by description. */
export const delegates = (work: Readonly<Record<string, Work>>): SimAnswer => ({
  parts: Object.entries(work).map(([description, { prompt = description, ...rest }]) => ({
    toolCall: { name: 'subagent', arguments: { description, prompt, ...rest } },
  })),
});

export interface ListedSession {
  readonly id: string;
  readonly parentId?: string;
  readonly spawned?: boolean;
  readonly annotations?: { readonly subagent?: string };
  readonly state: string;
  readonly totals: Readonly<Record<string, number>>;
  readonly lastRun?: { readonly status: string };
  readonly approvals: readonly { readonly approvalId: string; readonly podName?: string }[];
}

export const run = (fixture: CliFixture, ...args: readonly string[]) =>
  fixture.polypod('run', '-C', fixture.project, '-m', 'anthropic/x', ...args, 'Go');

export function write(directory: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
}

/** All sessions, those of sub-agents included. */
export async function sessions(fixture: CliFixture): Promise<readonly ListedSession[]> {
  const { stdout } = await fixture.polypod('ls', '--all', '--json');
  return JSON.parse(stdout) as readonly ListedSession[];
}
