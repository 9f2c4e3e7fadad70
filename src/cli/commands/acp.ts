import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { asPolypodError, messageOf } from '../../base/index.ts';
import { watchConfig } from '../../daemon/index.ts';
import { ACP_SOCKET, type AcpLinkHeader, serveAcp } from '../../protocols/index.ts';
import { type DataPaths, offeredModel, offeredModels, promptFiles } from '../../setup/index.ts';
import { exclusive } from '../args/agent-options.ts';
import { DATA_DIR, dataPathsOf } from '../args/data-dir.ts';
import { refuseArguments } from '../args/no-arguments.ts';
import { type CommandContext, EXIT, type ExitCode, runnable } from '../command.ts';
import { currentUserName } from '../current-user.ts';
import { version } from '../version.ts';

const MAIN = fileURLToPath(new URL('main.js', import.meta.url));
/** How long the end waits for tools that do not stop. */
const SHUTDOWN_MS = 700;

/** `polypod acp`: serves one editor on stdin and stdout. */
export const acp = runnable({
  name: 'acp',
  summary: 'Serve an editor that speaks the Agent Client Protocol (ACP), on stdin and stdout.',
  usage: '[OPTIONS]',
  options: {
    setup: {
      type: 'flag',
      help: 'set up an account in this terminal, then exit; editors run this to sign in',
    },
    backend: {
      type: 'text',
      short: 'b',
      value: 'NAME',
      completes: 'backends',
      help: 'the agent that does the work of new sessions; see polypod backends',
    },
    model: { type: 'text', short: 'm', value: 'MODEL', help: 'the default model; needs --no-daemon' },
    offline: { type: 'flag', help: 'use only the simulated model; implies --no-daemon' },
    sandbox: { type: 'flag', help: 'run commands in bubblewrap; implies --no-daemon' },
    'no-daemon': { type: 'flag', help: 'host the sessions in this process, even if a daemon runs' },
    terminals: { type: 'flag', help: 'run approved commands in terminals of the editor (see below)' },
    ...DATA_DIR,
  },
  details: `
Editors start this program: Zed, JetBrains, Neovim (CodeCompanion), Emacs (agent-shell) and others. With a running daemon, it
connects the editor to it: sessions continue when the editor is closed, and other clients can use them at the same time.
Without a daemon, the sessions live in this process; their files are the same.

Files are read and written through the editor, if it offers that, so unsaved changes count. With --terminals, commands run in
terminals of the editor. They then have the environment of the editor, including its secrets, and neither resource limits nor a
process namespace of their own. The sandbox, read-only mode and commands that nobody approved never use them.

stdout belongs to the protocol; messages for people are printed on stderr.

Exit codes: 0 the editor has disconnected, 2 usage or configuration error, 3 system error.

Examples:
  polypod acp --setup
  polypod acp --offline`,
  async run({ values, positionals }, context) {
    refuseArguments('acp', positionals);
    if (values.setup) return setUp(context);
    if (values.offline && values.backend !== undefined) throw exclusive('--offline', '--backend');
    const dataPaths = dataPathsOf(values, context);
    const header: AcpLinkHeader = {
      by: currentUserName(context),
      setup: { command: process.execPath, args: [MAIN, 'acp', '--setup'] },
      ...(values.terminals && { terminals: true }),
      ...(values.backend !== undefined && { backend: values.backend }),
    };
    const { model, offline, sandbox } = values;
    const isInProcess = values['no-daemon'] || offline || sandbox || model !== undefined;
    if (!isInProcess && (await servedByDaemon(dataPaths, header, context))) return EXIT.ok;
    await serveHere({ dataPaths, model, offline, sandbox }, header, context);
    return EXIT.ok;
  },
});

/** The set-up that editors start in a terminal. */
async function setUp(context: CommandContext): Promise<ExitCode> {
  const { accounts } = await import('./accounts/accounts.ts');
  return accounts.run(['add'], context);
}

/** Relays the editor to the daemon. Resolves with false if no daemon runs. */
async function servedByDaemon(
  dataPaths: DataPaths,
  header: AcpLinkHeader,
  context: CommandContext,
): Promise<boolean> {
  const path = join(dataPaths.runtimeDirectory, ACP_SOCKET);
  if (!existsSync(path)) return false;
  const { connectUnix, relay } = await import('../hosting/relay.ts');
  const socket = await connectUnix(path);
  if (socket === undefined) return false;
  // The editor does not wait for the notices about keys and configuration.
  await relay(socket, header, context, () => {
    void import('../hosting/daemon-notices.ts').then(({ printDifferences }) =>
      printDifferences(dataPaths, context),
    );
  });
  return true;
}

interface HereOptions {
  readonly dataPaths: DataPaths;
  readonly model: string | undefined;
  readonly offline: boolean;
  readonly sandbox: boolean;
}

/** Hosts the sessions in this process. */
async function serveHere(
  { dataPaths, model, offline, sandbox }: HereOptions,
  header: AcpLinkHeader,
  context: CommandContext,
): Promise<void> {
  const { env, stdin, stdout, stderr, signal } = context;
  const { openHostInProcess } = await import('../hosting/host-in-process.ts');
  const { host, setup, warnings, audit, close } = await openHostInProcess(
    { dataPaths, model, offline, sandbox },
    context,
  );
  const warn = (message: string): void => void stderr.write(`polypod acp: ${message}\n`);
  warnings.forEach(warn);
  const { publishPods } = await import('../hosting/publish-pods.ts');
  const published = publishPods({ host, dataPaths, setup, audit }).catch(() => undefined);
  const reload = async (): Promise<void> => {
    try {
      (await setup.reload()).warnings.forEach(warn);
    } catch (thrown) {
      warn(`the configuration was not reloaded: ${messageOf(thrown)}`);
    }
  };
  const watched = watchConfig(setup, reload, { warn });
  try {
    await serveAcp(
      { input: stdin, output: stdout },
      header,
      {
        host,
        version: version(),
        mode: () => setup.config.permissions.mode ?? 'workspace-write',
        reload: async () => void (await setup.reload('keep')),
        survivesClient: false,
        inventory: {
          models: () => offeredModels({ env, config: setup.config, dataPaths, access: setup.models }),
          model: async (reference) => {
            const ready = await setup.models.choose(reference);
            return { model: await offeredModel(ready), notices: ready.notices };
          },
          promptFiles: (cwd) => promptFiles(cwd, dataPaths),
        },
      },
      signal,
    );
  } catch (thrown) {
    if (!signal.aborted) throw asPolypodError(thrown);
  } finally {
    (await watched)();
    const closed = published.then((pods) => pods?.close()).then(() => close());
    await Promise.race([closed, sleep(SHUTDOWN_MS, undefined, { ref: false })]);
  }
}
