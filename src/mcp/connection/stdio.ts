import type { Client } from '@modelcontextprotocol/client';
import { answerFailure, isAnswer, isTimeout, type McpFailure, startFailure } from './failure.ts';
import type { LinkOptions, Reached } from './link.ts';
import type { Program } from './process-group.ts';
import type { Sdk } from './sdk.ts';
import { StdioTransport } from './stdio-transport.ts';

/** Starts a server and says hello to it. */
export async function connectStdio(
  sdk: Sdk,
  client: Client,
  program: Program,
  { onLost, timeoutMs, graceMs, signal }: LinkOptions,
): Promise<Reached> {
  const transport: StdioTransport = new StdioTransport(sdk, program, graceMs, () =>
    onLost(endFailure(transport)),
  );
  const end = (): Promise<void> => transport.close();
  try {
    await client.connect(transport, { timeout: timeoutMs, signal });
  } catch (thrown) {
    // Before anything is said about it: only then all of its stderr has been read.
    await end();
    return { failure: connectFailure(transport, program, thrown, timeoutMs) };
  }
  return {
    link: {
      client,
      pid: transport.pid,
      // A server that takes long may be at work; one whose streams are broken is gone, or as good as gone.
      check: async (thrown) => (isAnswer(thrown) || isTimeout(thrown) ? undefined : end()),
      end,
    },
  };
}

function connectFailure(
  transport: StdioTransport,
  program: Program,
  thrown: unknown,
  timeoutMs: number,
): McpFailure {
  if (transport.pid === undefined) return startFailure(program, thrown);
  if (!isAnswer(thrown) && !isTimeout(thrown)) return endFailure(transport);
  const { text, permanent } = answerFailure(thrown, timeoutMs);
  return { text: withStderr(text, transport), permanent };
}

function endFailure(transport: StdioTransport): McpFailure {
  return { text: withStderr(transport.ending ?? 'it does not listen any more', transport), permanent: false };
}

function withStderr(text: string, { stderr }: StdioTransport): string {
  const lines = stderr.lines(LINES_TOLD);
  return lines === '' ? text : `${text}; it had written:\n${lines}`;
}

/** How many of the last lines of stderr go into a message. */
const LINES_TOLD = 5;
