import { once } from 'node:events';
import type { CommandContext } from '../command.ts';

interface Server {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

/** Prints the address of a server, waits for an interrupt, and closes the server. */
export async function serveUntilInterrupted(
  server: Server,
  announcement: { readonly json: boolean; readonly text: string },
  { stdout, signal }: CommandContext,
): Promise<void> {
  const { url, port } = server;
  stdout.write(announcement.json ? `${JSON.stringify({ url, port })}\n` : announcement.text);
  if (!signal.aborted) await once(signal, 'abort');
  await server.close();
}
