import { PolypodError } from '../../base/index.ts';
import { type InspectedBackend, loadBackends, readConfig } from '../../setup/index.ts';
import { brush, sanitizeLine, sanitizeText, type TextColors, wantsColour } from '../../terminal/index.ts';
import { DATA_DIR, dataPathsOf } from '../args/data-dir.ts';
import { EXIT, runnable } from '../command.ts';

/** `polypod backends`: lists the agents that can do the work of a session. */
export const backends = runnable({
  name: 'backends',
  summary: 'List the agents that can do the work of a session: Claude Code, Codex and others.',
  usage: '[NAME…] [OPTIONS]',
  takes: 'backends',
  options: {
    'no-probe': { type: 'flag', help: 'do not start the agents to check that they ask for approval' },
    json: { type: 'flag', help: 'print a JSON list' },
    ...DATA_DIR,
  },
  details: `
Shows for each agent its version, whether a user is signed in, the exact command, and whether it asks for approval before it
runs a tool. For that check the agent is started with a simulated model on this machine; nothing is sent over the network.
An agent that runs tools without approval is not used.

Choose one with --backend NAME (run, chat, new, --mode rpc), or with backend in config.yaml.

Exit codes: 0 done, 1 a named agent cannot be used, 2 usage error.

Examples:
  polypod backends
  polypod backends claude --json`,
  async run({ values, positionals }, context) {
    const dataPaths = dataPathsOf(values, context);
    const { config } = await readConfig(dataPaths);
    const { backendNames, inspectBackends } = await loadBackends();
    const known = backendNames(config);
    const unknown = positionals.find((name) => !known.includes(name));
    if (unknown !== undefined)
      throw new PolypodError('not-found', `there is no back end "${unknown}": there are ${known.join(', ')}`);
    const inspected: InspectedBackend[] = [];
    const paint = brush(wantsColour(context.stdout, context.env));
    const inspection = inspectBackends({
      env: context.env,
      config,
      dataPaths,
      names: positionals.length === 0 ? known : positionals,
      probes: !values['no-probe'],
      signal: context.signal,
    });
    for await (const backend of inspection) {
      inspected.push(backend);
      // Each takes a moment, so each is printed when it is known.
      if (!values.json) context.stdout.write(formatBackend(backend, config.backend === backend.name, paint));
    }
    if (values.json) context.stdout.write(`${JSON.stringify(inspected, null, 2)}\n`);
    return positionals.length > 0 && inspected.some((backend) => !isUsable(backend)) ? EXIT.failed : EXIT.ok;
  },
});

function isUsable({ version, signedIn, probe }: InspectedBackend): boolean {
  const isRefused = probe?.status === 'runs-unasked' || probe?.status === 'failed';
  return version !== undefined && signedIn !== 'no' && !isRefused;
}

function formatBackend(backend: InspectedBackend, isDefault: boolean, paint: TextColors): string {
  const { name, title, command, version, signedIn, probe, trustsProject, problem } = backend;
  const mark =
    version === undefined ? paint.dim('-') : isUsable(backend) ? paint.green('ok') : paint.red('!!');
  const facts = [
    version ?? 'not installed',
    ...(version === undefined ? [] : [SIGNED_IN[signedIn]]),
    ...(probe === undefined ? [] : [PROBED[probe.status]]),
    ...(trustsProject ? ["trusts the project's configuration"] : []),
    ...(isDefault ? ['default'] : []),
  ];
  const detail = probe !== undefined && 'detail' in probe ? `      ${sanitizeText(probe.detail)}\n` : '';
  const step = problem === undefined ? '' : `      next: ${sanitizeText(problem)}\n`;
  const heading = `${mark.padEnd(2)}  ${paint.bold(sanitizeLine(name))}  ${sanitizeLine(title)}`;
  return `${heading}: ${facts.map(sanitizeLine).join(', ')}\n      ${sanitizeLine(command.join(' '))}\n${detail}${step}`;
}

const SIGNED_IN = { yes: 'signed in', no: 'not signed in', unknown: 'sign-in unknown' } as const;

const PROBED = {
  asks: 'asks for approval',
  'runs-unasked': 'RUNS TOOLS WITHOUT APPROVAL',
  failed: 'not checked for approvals',
  'not-supported': 'cannot be checked for approvals',
} as const;
