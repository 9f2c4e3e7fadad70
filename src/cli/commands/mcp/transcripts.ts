import { PolypodError } from '../../../base/index.ts';
import { conversation } from './encode.ts';
import { allowedRows, allowedSession, type ToolParts } from './tool.ts';

const PREFIX = 'polypod://sessions/';
/** A client that shows resources needs the recent ones. */
const LISTED = 50;
const ITEMS = 200;

export const TRANSCRIPT_TEMPLATE = {
  uriTemplate: `${PREFIX}{session}`,
  name: 'transcript',
  title: 'Transcript of a session',
  description: 'The last items of the conversation as JSON; read_session reads the others.',
  mimeType: 'application/json',
};

/** The transcripts of the sessions that changed last. */
export async function listTranscripts({ pods, directories }: ToolParts) {
  const rows = await allowedRows(await pods.rows(), directories);
  return rows.slice(0, LISTED).map(({ id, name, title, cwd }) => ({
    uri: `${PREFIX}${id}`,
    name: name ?? id,
    ...(title !== undefined && { title }),
    description: `Session in ${cwd}`,
    mimeType: TRANSCRIPT_TEMPLATE.mimeType,
  }));
}

/** Reads the end of a conversation. */
export async function readTranscript(uri: string, parts: ToolParts) {
  if (!uri.startsWith(PREFIX))
    throw new PolypodError(
      'not-found',
      `unknown resource: transcripts are ${TRANSCRIPT_TEMPLATE.uriTemplate}`,
    );
  const row = await allowedSession(uri.slice(PREFIX.length), parts);
  return conversation(await parts.pods.use(row, (pod) => pod.conversation({ limit: ITEMS })));
}
