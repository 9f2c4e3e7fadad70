import { PolypodError } from '../../../base/index.ts';
import { type PodHandle, remotePod } from '../../../control/index.ts';
import { daemonLink } from '../../../daemon/index.ts';
import type { FilePreview, PodEventOf, RewindParts, RewindPoint } from '../../../pod/index.ts';
import type { Row } from '../../../pod/sessions.ts';
import { sanitizeFullLines, sanitizeLine } from '../../../terminal/index.ts';
import { EXIT, type ExitCode, type CommandContext } from '../../command.ts';
import { ownerOf } from '../../hosting/index.ts';
import { openHostInProcess } from '../../hosting/host-in-process.ts';
import { callerIn, type SessionsCall, findSessions } from './sessions-call.ts';

export interface RewindCall extends SessionsCall {
  /** The entry of a prompt; by default the last. */
  readonly to: string | undefined;
  readonly parts: RewindParts;
  readonly isOverwriting: boolean;
  readonly isDryRun: boolean;
}

/** `polypod sessions rewind`: restores files and returns the conversation to the point before a prompt. */
export async function rewind(call: RewindCall, context: CommandContext): Promise<ExitCode> {
  if (call.words.length > 1) throw new PolypodError('bad-request', 'rewind takes one session');
  const [row] = findSessions(call, 'rewind');
  if (row === undefined) throw new PolypodError('internal', 'no session was resolved');
  return withPod(row, call, context, async (pod) => {
    const { points } = await pod.rewindPoints();
    const point = pointIn(points, call.to);
    const files = await pod.previewRewind(point.entryId);
    if (call.isDryRun) {
      show({ points, point, files }, call, context);
      return EXIT.ok;
    }
    const conflicts = files.flatMap(({ path, status }) => (status === 'conflict' ? [path] : []));
    const rewound = await rewindPod(
      pod,
      { entryId: point.entryId, parts: call.parts, overwrite: call.isOverwriting ? conflicts : [] },
      context,
    );
    report(rewound, point, call, context);
    return rewound.files.some(({ outcome }) => outcome === 'skipped') ? EXIT.failed : EXIT.ok;
  });
}

/** Uses the process that has the session open, or this one without a model. */
async function withPod<T>(
  row: Row,
  { dataPaths }: RewindCall,
  context: CommandContext,
  use: (pod: PodHandle) => Promise<T>,
): Promise<T> {
  const link = (await ownerOf(row, dataPaths)?.connect()) ?? (await daemonLink(dataPaths));
  if (link !== undefined) {
    try {
      return await use(await remotePod(row.id, link));
    } finally {
      link.close();
    }
  }
  const { host, close } = await openHostInProcess({ dataPaths, offline: true }, context);
  try {
    return await use(host.pod(row.id));
  } finally {
    await close();
  }
}

function pointIn(points: readonly RewindPoint[], to: string | undefined): RewindPoint {
  const point = to === undefined ? points.at(-1) : points.find(({ entryId }) => entryId === to);
  if (point !== undefined) return point;
  const problem = to === undefined ? 'the session has no prompts' : `there is no prompt ${to}`;
  throw new PolypodError('not-found', `${problem}: polypod sessions rewind --dry-run lists them`);
}

/** Resolves with the event, which contains what happened to each file. */
async function rewindPod(
  pod: PodHandle,
  command: { readonly entryId: string; readonly parts: RewindParts; readonly overwrite: readonly string[] },
  context: CommandContext,
): Promise<PodEventOf<'rewound'>> {
  const done = new AbortController();
  const watching = pod.watch({ signal: done.signal });
  try {
    await watching.next();
    await pod.handle({ type: 'rewind', ...command }, callerIn(context));
    for await (const watched of watching) {
      const events = watched.type === 'events' ? watched.batch.events : [];
      for (const event of events) if (event.type === 'rewound') return event;
    }
  } finally {
    done.abort();
  }
  throw new PolypodError('unreachable', 'the session was closed during the rewind');
}

interface Preview {
  readonly points: readonly RewindPoint[];
  readonly point: RewindPoint;
  readonly files: readonly FilePreview[];
}

function show({ points, point, files }: Preview, { isJson }: RewindCall, { stdout }: CommandContext): void {
  if (isJson) {
    stdout.write(`${JSON.stringify({ points, to: point.entryId, files }, null, 2)}\n`);
    return;
  }
  const prompts = points.map(({ entryId, text, files: count }) => {
    const mark = entryId === point.entryId ? '*' : ' ';
    return `${mark} ${entryId}  ${count === 1 ? '1 file ' : `${count} files`}  ${sanitizeLine(text)}`;
  });
  const previews = files.flatMap(({ label, action, status, reason, diff }) => [
    `${action} ${sanitizeLine(label)}${status === 'ready' ? '' : ` (${status}: ${sanitizeLine(reason ?? '')})`}`,
    ...sanitizeFullLines(diff.trimEnd()),
  ]);
  stdout.write(
    `${[...prompts, '', ...(files.length === 0 ? ['no files to restore'] : previews)].join('\n')}\n`,
  );
}

function report(
  { files, parts }: PodEventOf<'rewound'>,
  { entryId, text }: RewindPoint,
  { isJson }: RewindCall,
  { stdout, stderr }: CommandContext,
): void {
  if (isJson) {
    stdout.write(`${JSON.stringify({ to: entryId, parts, files, prompt: text })}\n`);
    return;
  }
  for (const { path, outcome, reason } of files)
    stderr.write(`polypod: ${outcome} ${sanitizeLine(path)}${reason === undefined ? '' : `: ${reason}`}\n`);
  if (files.length === 0) stderr.write('polypod: no files to restore\n');
  if (parts !== 'files')
    stderr.write(`polypod: the conversation is before "${sanitizeLine(text).slice(0, 200)}"\n`);
}
