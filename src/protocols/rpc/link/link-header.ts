import { PolypodError, shape, tryParse } from '../../../base/index.ts';
import { TOOL_LIMIT } from '../../../pod/index.ts';

const { anyText, fields, flag, listOf, text } = shape;

const HEADER = fields(
  {
    cwd: text(),
    /** Whose commands these are. */
    by: text(),
  },
  {
    provider: text(),
    model: text(),
    thinking: anyText,
    /** The only models, as `--models` names them. */
    models: listOf(text()),
    resume: text(),
    fork: text(),
    isContinued: flag,
    /** Where session files go, if the client's host program has a place for them. */
    sessionDirectory: text(),
    system: anyText,
    appendSystem: anyText,
    toolLimit: TOOL_LIMIT,
    hasContextFiles: flag,
    hasMcp: flag,
    hasRules: flag,
    isAsking: flag,
    echoErrors: flag,
  },
);

/** The first line of a link to the daemon: what `polypod --mode rpc` was told, where, and by whom. Never a key. */
export type LinkHeader = shape.ValueOf<typeof HEADER>;

export function readLinkHeader(line: string): LinkHeader {
  const problems: shape.Problem[] = [];
  const header = HEADER.read(tryParse(line), [], (problem) => problems.push(problem));
  if (header !== undefined) return header;
  throw new PolypodError(
    'bad-request',
    `${shape.sentence('the header of the link', problems)}: is the daemon of another version? Restart it.`,
  );
}
