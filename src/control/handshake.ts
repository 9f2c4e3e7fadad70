import { isObject, type JsonObject, numberOf, PolypodError, stringOf } from '../base/index.ts';

/**
 * The version of the control protocol, which changes with the commands and events of pods. Raise it with every change after
 * which an older command and a newer daemon, or the reverse, misunderstand each other.
 */
export const CONTROL_VERSION = 4;

/** The first method on a connection. Its name and its fields are the same in every version. */
export const HELLO = 'hello';

/** Methods that work in every version, so that a command can replace a daemon of another version. */
export const UNVERSIONED_METHODS: ReadonlySet<string> = new Set(['stop']);

/** Which process serves a control socket: the daemon, or a command that hosts its pods itself. */
export type ControlPeer = 'daemon' | 'host';

/** The answer to `hello`: which process this is. */
export interface Greeting {
  readonly protocol: number;
  /** The version of Polypod; undefined if the process does not know the handshake. */
  readonly version: string | undefined;
  readonly pid: number | undefined;
}

/** For a daemon from before the handshake, which rejects `hello` as an unknown method. */
export const NO_GREETING: Greeting = { protocol: 0, version: undefined, pid: undefined };

export function greetingIn(line: JsonObject): Greeting | undefined {
  if (isObject(line.result)) {
    const { protocol, version, pid } = line.result;
    return { protocol: numberOf(protocol) ?? 0, version: stringOf(version), pid: numberOf(pid) };
  }
  return isObject(line.error) && line.error.code === 'unknown-method' ? NO_GREETING : undefined;
}

/** Throws if the process has another protocol version, with how to restart it. */
export function refuseOtherVersion({ protocol, version, pid }: Greeting, peer: ControlPeer): void {
  if (protocol === CONTROL_VERSION) return;
  const age = protocol < CONTROL_VERSION ? 'older' : 'newer';
  const who = `${PEERS[peer]}${pid === undefined ? '' : ` (process ${pid})`}`;
  const product = version === undefined ? `an ${age} Polypod` : `Polypod ${version}, which is ${age}`;
  throw new PolypodError(
    'conflict',
    `${who} runs ${product} than this command (control protocol ${protocol}, not ${CONTROL_VERSION}). ${REMEDIES[peer][age]}`,
  );
}

const PEERS: Readonly<Record<ControlPeer, string>> = {
  daemon: 'the daemon',
  host: 'the process that has the session open',
};

const REMEDIES: Readonly<Record<ControlPeer, Readonly<Record<'older' | 'newer', string>>>> = {
  daemon: {
    older: 'Restart it: run "polypod stop", then "polypod serve".',
    newer:
      'Update this one, or replace the daemon by this version: run "polypod stop", then "polypod serve".',
  },
  host: {
    older: 'End it, then resume the session here.',
    newer: 'Update this one, or end that process and resume the session here.',
  },
};
