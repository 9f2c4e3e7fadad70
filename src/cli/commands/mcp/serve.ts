import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { redactor } from '../../../base/index.ts';
import type { AuditEvent } from '../../../audit/index.ts';
import { daemonLink, recordAudit } from '../../../daemon/index.ts';
import { Layout } from '../../../pod/sessions.ts';
import { type DataPaths, readConfig } from '../../../setup/index.ts';
import type { PermissionMode } from '../../../tools/index.ts';
import { type CommandContext, EXIT, type ExitCode } from '../../command.ts';
import { currentUserName } from '../../current-user.ts';
import { secretsIn } from '../../secrets.ts';
import { version } from '../../version.ts';
import { withActualStates } from '../ls.ts';
import { AllowedDirectories } from './directories.ts';
import { podsInDaemon, podsInProcess, type ServedPods } from './pods.ts';

/** How long the end waits for tools that do not stop. */
const SHUTDOWN_MS = 700;

export interface McpServeOptions {
  readonly dataPaths: DataPaths;
  readonly allowDirectories: readonly string[];
  readonly readOnly: boolean;
  readonly approvals: boolean;
  readonly isInProcess: boolean;
  readonly offline: boolean;
}

interface Backend {
  readonly pods: ServedPods;
  readonly mode: () => Promise<PermissionMode>;
  readonly audit: (event: AuditEvent) => void;
  readonly close: () => Promise<void>;
}

/** `polypod mcp serve`: serves one MCP host on stdin and stdout, until its input ends. */
export async function serveMcp(options: McpServeOptions, context: CommandContext): Promise<ExitCode> {
  const { dataPaths, allowDirectories, readOnly, approvals } = options;
  const { env, home, stdin, stdout, stderr, signal } = context;
  const report = (message: string): void => void stderr.write(`polypod mcp: ${message}\n`);
  const directories = await AllowedDirectories.open(process.cwd(), home, allowDirectories);
  const backend = await openBackend(options, context, report);
  const { pods, mode, audit } = backend;
  const layout = new Layout(dataPaths.dataDirectory);
  const parts = {
    pods,
    directories,
    caller: { by: currentUserName(context), door: 'mcp' },
    mode,
    actual: (rows: Parameters<typeof withActualStates>[0]) => withActualStates(rows, layout),
    audit,
  };
  const [{ serveStdio, StdioServerTransport }, { createServer }, { offeredTools }] = await Promise.all([
    import('@modelcontextprotocol/server/stdio'),
    import('./server.ts'),
    import('./tools.ts'),
  ]);
  const tools = offeredTools({ readOnly, approvals });
  const redact = redactor(secretsIn(env));
  const ended = Promise.race([once(stdin, 'end'), once(stdin, 'close'), once(signal, 'abort')]);
  const handle = serveStdio(() => createServer({ version: version(), tools, parts, redact, report }), {
    transport: new StdioServerTransport(stdin, stdout),
    onerror: ({ message }) => report(redact(message)),
  });
  try {
    if (!signal.aborted) await ended;
  } finally {
    await handle.close();
    await Promise.race([backend.close(), sleep(SHUTDOWN_MS)]);
  }
  return EXIT.ok;
}

/** Uses the daemon if one runs, and otherwise hosts the pods in this process. */
async function openBackend(
  { dataPaths, isInProcess, offline }: McpServeOptions,
  context: CommandContext,
  report: (message: string) => void,
): Promise<Backend> {
  const link = isInProcess || offline ? undefined : await daemonLink(dataPaths);
  if (link !== undefined) {
    link.close();
    return {
      pods: podsInDaemon(dataPaths),
      // Read for each prompt: the daemon applies changes at once.
      mode: async () => modeIn((await readConfig(dataPaths)).config),
      audit: (event) => void recordAudit(dataPaths, [event]),
      close: async () => {},
    };
  }
  const { openHostInProcess } = await import('../../hosting/host-in-process.ts');
  const here = await openHostInProcess({ dataPaths, offline }, context);
  here.warnings.forEach(report);
  const { host, setup, audit, close } = here;
  const { publishPods } = await import('../../hosting/publish-pods.ts');
  const published = publishPods({ host, dataPaths, setup, audit }).catch(() => undefined);
  return {
    pods: podsInProcess(here, dataPaths),
    mode: async () => modeIn(setup.config),
    audit: (event) => audit?.(event),
    close: async () => {
      await (await published)?.close();
      await close();
    },
  };
}

function modeIn({
  permissions,
}: {
  readonly permissions: { readonly mode?: PermissionMode };
}): PermissionMode {
  return permissions.mode ?? 'workspace-write';
}
