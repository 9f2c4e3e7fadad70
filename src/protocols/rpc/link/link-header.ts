import { shape } from '../../../base/index.ts';
import { TOOL_LIMIT } from '../../../pod/index.ts';
import { readHeader } from '../../greeting.ts';

const { anyText, fields, boolean, listOf, text } = shape;

const HEADER = fields(
  {
    cwd: text(),
    /** The user who sends the commands. */
    by: text(),
  },
  {
    /** The agent that does the work of a new session. */
    backend: text(),
    provider: text(),
    model: text(),
    thinking: anyText,
    /** The available models, as in `--models`. */
    models: listOf(text()),
    resume: text(),
    fork: text(),
    isContinued: boolean,
    /** The directory for session files, if the host program sets one. */
    sessionDirectory: text(),
    system: anyText,
    appendSystem: anyText,
    toolLimit: TOOL_LIMIT,
    hasContextFiles: boolean,
    hasPrompts: boolean,
    hasMcp: boolean,
    hasRules: boolean,
    isAsking: boolean,
    echoErrors: boolean,
  },
);

/** The first line of a link to the daemon: the options, working directory and user of `polypod --mode rpc`. Never contains a key. */
export type LinkHeader = shape.ValueOf<typeof HEADER>;

export function readLinkHeader(line: string): LinkHeader {
  return readHeader(HEADER, line);
}
