import { writeFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { PolypodError } from '../../../base/index.ts';
import { anyTextIn } from '../arguments.ts';
import { TEXTS } from '../errors.ts';
import type { CommandHandler } from './command.ts';

/** Returns the path as the client sent it. */
export const exportHtml: CommandHandler = async (request, session) => {
  const { host, sessions, version } = session.parts;
  if (sessions.inMemory) throw new PolypodError('conflict', TEXTS.memoryExport);
  const file = host.fileOf(session.pod.id);
  const path = anyTextIn(request, 'outputPath') ?? `polypod-session-${basename(file, '.jsonl')}.html`;
  const [snapshot, messages] = await Promise.all([
    session.pod.snapshot(),
    host.history.messages(session.pod.id),
  ]);
  // Imported on demand, to keep start-up fast.
  const { exportPage } = await import('../export/page.ts');
  const page = exportPage({ snapshot, messages: messages.map(({ message }) => message), version });
  await writeFile(resolve(sessions.cwd, path), page, { mode: 0o600 });
  return { path };
};
