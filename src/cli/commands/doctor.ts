import { examine, type Finding } from '../../daemon/index.ts';
import { EXIT, runnable } from '../command.ts';
import { refuseArguments } from '../args/no-arguments.ts';
import { DATA_DIR, dataPathsOf } from '../args/data-dir.ts';
import { hostFiles } from '../hosting/host-in-process.ts';
import { type TextColors, brush, wantsColour, sanitizeLine, sanitizeText } from '../../terminal/index.ts';

/** `polypod doctor`: reports problems and how to fix them. */
export const doctor = runnable({
  name: 'doctor',
  summary:
    'Check configuration, keys, disk, sockets, locks, the catalogue, the session files and the sandbox.',
  usage: '[OPTIONS]',
  options: {
    rebuild: { type: 'flag', help: 'rebuild the catalogue from the session files before the check' },
    json: { type: 'flag', help: 'print a JSON list' },
    ...DATA_DIR,
  },
  details: `
Every problem is printed with the next step. Keys are checked but never printed, and nothing is sent over the network.

Exit codes: 0 no problems, 1 problems found, 2 usage error.

Examples:
  polypod doctor
  polypod doctor --rebuild`,
  async run({ values, positionals }, context) {
    refuseArguments('doctor', positionals);
    const dataPaths = dataPathsOf(values, context);
    if (values.rebuild) {
      const host = await hostFiles(dataPaths);
      try {
        const { rows } = await host.sessions.rebuild();
        context.stderr.write(`polypod: the catalogue has ${rows} sessions now\n`);
      } finally {
        await host.shutdown();
      }
    }
    const findings = await examine({ env: context.env, dataPaths });
    const paint = brush(wantsColour(context.stdout, context.env));
    context.stdout.write(
      values.json
        ? `${JSON.stringify(findings, null, 2)}\n`
        : findings.map((finding) => formatFinding(finding, paint)).join(''),
    );
    return findings.some(({ state }) => state === 'bad') ? EXIT.failed : EXIT.ok;
  },
});

function formatFinding({ check, state, text, next }: Finding, paint: TextColors): string {
  const mark = state === 'ok' ? paint.green('ok     ') : paint.red(state.padEnd(7));
  const step = next === undefined ? '' : `${' '.repeat(10)}next: ${sanitizeText(next)}\n`;
  return `${mark}  ${paint.bold(sanitizeLine(check))}: ${sanitizeText(text)}\n${step}`;
}
