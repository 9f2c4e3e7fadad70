import { mkdir } from 'node:fs/promises';
import { messageOf, PolypodError } from '../../base/index.ts';
import { vendorNamed } from '../../llm/index.ts';
import { startRecordingProxy } from '../../sim/index.ts';
import { EXIT, runnable } from '../command.ts';
import { secretsIn } from '../secrets.ts';
import { LISTEN } from '../args/listen-options.ts';
import { serveUntilInterrupted } from '../hosting/until-interrupted.ts';

/** `polypod record`: stands between any client and a provider and writes down what passes. */
export const record = runnable({
  name: 'record',
  summary: 'Stand between any client and a provider on loopback, and record every exchange as a cassette.',
  usage: '--to DIR PROVIDER|URL',
  options: {
    to: { type: 'text', short: 't', value: 'DIR', help: 'where the cassettes go, one file per exchange' },
    ...LISTEN,
  },
  details: `
Point the client's base URL at the address it prints. Keys are passed on and never written; what is known to be secret
is removed from addresses, headers and bodies. It runs until it is interrupted.

To record our own requests there is no need of it: polypod ask --record DIR does the same.

Examples:
  polypod record --to cassettes anthropic
  polypod record --to cassettes http://127.0.0.1:11434`,
  async run({ values, positionals }, around) {
    const [target] = positionals;
    if (values.to === undefined || target === undefined || positionals.length > 1) {
      throw new PolypodError(
        'bad-request',
        'say what to record and where to: polypod record --to DIR PROVIDER|URL',
      );
    }
    const directory = values.to;
    await mkdir(directory, { recursive: true, mode: 0o700 }).catch((thrown: unknown) => {
      throw new PolypodError('bad-request', `cannot record into ${directory}: ${messageOf(thrown)}`, {
        cause: thrown,
      });
    });
    const base = vendorNamed(target)?.baseUrl ?? target;
    const proxy = await startRecordingProxy({
      target: base,
      directory,
      secrets: secretsIn(around.env),
      ...(values.port === undefined ? {} : { port: values.port }),
    });
    const text = `Recording ${base} into ${directory} on ${proxy.url} (Ctrl-C ends it). Use it as the base URL of a client.\n`;
    await serveUntilInterrupted(proxy, { json: values.json, text }, around);
    return EXIT.ok;
  },
});
