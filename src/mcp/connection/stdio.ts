import type { Client } from '@modelcontextprotocol/client';
import { answerFailure, isAnswer, isTimeout, type McpFailure, startFailure } from './failure.ts';
import type { McpLinkOptions, LinkResult } from './link.ts';
import type { ServerProgram } from './process-group.ts';
import type { Sdk } from './sdk.ts';
import { StdioTransport } from './stdio-transport.ts';

/** Starts a server and initializes it. */
export async function connectStdio(
  sdk: Sdk,
  client: Client,
  program: ServerProgram,
  { onLost, timeoutMs, graceMs, signal }: McpLinkOptions,
): Promise<LinkResult> {
  const transport: StdioTransport = new StdioTransport(sdk, program, graceMs, () =>
    onLost(endFailure(transport)),
  );
  const end = (): Promise<void> => transport.close();
  try {
    await client.connect(transport, { timeout: timeoutMs, signal });
  } catch (thrown) {
    // Wait for the end first: only then all of stderr has been read.
    await end();
    return { failure: connectFailure(transport, program, thrown, timeoutMs) };
  }
  return {
    link: {
      client,
      pid: transport.pid,
      // A slow server may be busy; one with broken streams is lost.
      check: async (thrown) => (isAnswer(thrown) || isTimeout(thrown) ? undefined : end()),
      end,
    },
  };
}

function connectFailure(
  transport: StdioTransport,
  program: ServerProgram,
  thrown: unknown,
  timeoutMs: number,
): McpFailure {
  if (transport.pid === undefined) return startFailure(program, thrown);
  if (!isAnswer(thrown) && !isTimeout(thrown)) return endFailure(transport);
  const { text, permanent } = answerFailure(thrown, timeoutMs);
  return { text: withStderr(text, transport), permanent };
}

function endFailure(transport: StdioTransport): McpFailure {
  return { text: withStderr(transport.ending ?? 'it has closed its input', transport), permanent: false };
}

function withStderr(text: string, { stderr }: StdioTransport): string {
  const lines = stderr.lines(LINES_TOLD);
  return lines === '' ? text : `${text}; its last output was:\n${lines}`;
}

/** How many of the last stderr lines are quoted. */
const LINES_TOLD = 5;
