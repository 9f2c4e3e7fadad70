import { shape } from '../../../base/index.ts';
import { readHeader } from '../../greeting.ts';

const HEADER = shape.fields(
  {
    /** The user who sends the commands. */
    by: shape.text(),
    /** The program that sets up an account in a terminal. */
    setup: shape.fields({ command: shape.text(), args: shape.listOf(shape.text()) }, {}),
  },
  {
    /** The agent that does the work of new sessions. */
    backend: shape.text(),
    /** Whether commands may run in terminals of the editor. */
    terminals: shape.boolean,
  },
);

/** The first line of a link to the daemon. It never contains a key. */
export type AcpLinkHeader = shape.ValueOf<typeof HEADER>;

export function readLinkHeader(line: string): AcpLinkHeader {
  return readHeader(HEADER, line);
}
