import type { PodCommand, PodSettings, PodEventOf } from '../../../pod/index.ts';
import type { CompactionResult, RunOutcome } from '../../../worker/index.ts';
import { callName } from '../../output/call-name.ts';
import type { ToolCard } from './card.ts';
import { notice, type Print } from './print.ts';

import { nameAndDoor, formatOtherOrigin, type Running, type View } from './view.ts';

/** Notices for commands of other clients that cause no event of their own. */
export const COMMAND_NOTICES: Readonly<Partial<Record<PodCommand['type'], string>>> = {
  cancel: 'cancelled',
  pause: 'a pause was requested',
  'abort-retry': 'the retry was stopped',
  'abort-shell': 'the command was stopped',
  'end-background': 'background commands were ended',
  compact: 'a summary was requested',
};

export function endOfRun(outcome: RunOutcome, calls: readonly Running[]): readonly Print[] {
  // A call that was cut off has no end event.
  const left = calls.map(({ title, text }): Print => ({ type: 'card', card: cutOff(title, text) }));
  switch (outcome.status) {
    case 'finished':
      return left;
    case 'cancelled':
      return [...left, notice('cancelled', 'warning')];
    case 'interrupted':
      return [...left, notice('interrupted: the process ended during the run', 'warning')];
    case 'paused':
      return [...left, notice('paused: /continue resumes the run', 'warning')];
    case 'failed':
      return [...left, notice(outcome.failure.message, 'error')];
    case 'limited':
      return [...left, notice(`stopped: ${outcome.message}`, 'warning')];
  }
}

function cutOff(title: string, output: string): ToolCard {
  return { type: 'tool', title, status: 'cancelled', durationMs: undefined, summary: '', diff: '', output };
}

export function compacted(result: CompactionResult): Print {
  switch (result.status) {
    case 'compacted':
      return notice(`summarised: ${result.tokensBefore} tokens became ${result.tokensAfter}`);
    case 'skipped':
      return notice('there is nothing to summarise');
    case 'cancelled':
      return notice('the summary was cancelled', 'warning');
    case 'failed':
      return notice(`the summary failed: ${result.failure.message}`, 'error');
  }
}

/** Who decided what: `approved: bash npm test`, `ada approved through hld: bash npm test`. */
export function decisionPrint(
  { me, decided, approvals }: View,
  event: PodEventOf<'approval-response'>,
): Print {
  const { approvalId, status, by, door, comment, remember, updatedArguments } = event;
  const about = approvals.find((approval) => approval.approvalId === approvalId);
  const call = about === undefined ? '' : `: ${callName(about)}`;
  if (status === 'expired') return notice(`the approval expired${call}`, 'warning');
  if (status === 'cancelled') return notice(`the approval was withdrawn${call}`);
  const who = decided.has(approvalId) ? formatOtherOrigin(me, { by, door }) : nameAndDoor({ by, door });
  const [name, ...through] = who?.split(' through ') ?? [];
  const verb = `${status}${updatedArguments === undefined ? '' : ' with changed arguments'}${FOR_HOW_LONG[remember ?? 'once']}`;
  const text = name === undefined ? verb : [`${name} ${verb}`, ...through].join(' through ');
  return notice(comment === undefined || comment === '' ? `${text}${call}` : `${text}${call} (${comment})`);
}

/** What a rewind did with files. The conversation has its own notice. */
export function rewoundNotices(
  { me, cwd }: View,
  { files, by, door }: PodEventOf<'rewound'>,
): readonly Print[] {
  const from = formatOtherOrigin(me, { by, door });
  const who = from === undefined ? '' : ` by ${from}`;
  const name = (path: string): string => (path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path);
  const named = (outcome: string): readonly string[] =>
    files.filter((file) => file.outcome === outcome).map(({ path }) => name(path));
  const [restored, removed] = [named('restored'), named('removed')];
  return [
    ...(restored.length === 0 ? [] : [notice(`restored${who}: ${restored.join(', ')}`)]),
    ...(removed.length === 0 ? [] : [notice(`removed${who}: ${removed.join(', ')}`)]),
    ...files.flatMap(({ path, outcome, reason = '' }) =>
      outcome === 'skipped' ? [notice(`not restored: ${name(path)}: ${reason}`, 'warning')] : [],
    ),
    ...(from === undefined ? [] : [notice(`rewound by ${from}`)]),
  ];
}

const FOR_HOW_LONG = {
  once: '',
  session: ', also for the rest of this session',
  always: ', always in this project',
};

/** The settings that have changed. */
export function settingsNotices(
  { me, settings: before }: View,
  after: PodSettings,
  origin: { readonly by?: string | undefined; readonly door?: string | undefined },
): readonly Print[] {
  const from = formatOtherOrigin(me, origin);
  return SHOWN.flatMap(([name, valueOf]) => {
    const value = valueOf(after);
    if (value === valueOf(before)) return [];
    return [notice(`${name} is now ${value ?? 'as usual'}${from === undefined ? '' : `, by ${from}`}`)];
  });
}

const SHOWN: readonly (readonly [string, (settings: PodSettings) => string | undefined])[] = [
  ['the model', ({ model }) => model && `${model.provider}/${model.modelId}`],
  ['the mode', ({ mode }) => mode],
  ['thinking', ({ thinking }) => thinking],
  ['the name', ({ name }) => name],
  ['accepting edits', ({ acceptEdits }) => (acceptEdits ? 'on' : 'off')],
];
