import { mkdir } from 'node:fs/promises';
import { messageOf, PolypodError, withoutUndefined } from '../../base/index.ts';
import { findVendor } from '../../llm/index.ts';
import { startRecordingProxy } from '../../sim/index.ts';
import { transportFrom } from '../../wire/index.ts';
import { EXIT, runnable } from '../command.ts';
import { secretsIn } from '../secrets.ts';
import { LISTEN } from '../args/listen-options.ts';
import { serveUntilInterrupted } from '../hosting/until-interrupted.ts';

/** `polypod record`: a proxy between a client and a provider that records the exchanges. */
export const record = runnable({
  name: 'record',
  summary:
    'Run a proxy on loopback that records every exchange between a client and a provider as a cassette.',
  usage: '--to DIR PROVIDER|URL',
  options: {
    to: {
      type: 'text',
      short: 't',
      value: 'DIR',
      help: 'the directory for the cassettes, one file per exchange',
    },
    ...LISTEN,
  },
  details: `
Set the base URL of the client to the printed address. Keys are forwarded but never written; known secrets are removed
from addresses, headers and bodies. The proxy runs until it is interrupted.

To record Polypod's own requests, use polypod ask --record DIR.

Examples:
  polypod record --to cassettes anthropic
  polypod record --to cassettes http://127.0.0.1:11434`,
  async run({ values, positionals }, context) {
    const [target] = positionals;
    if (values.to === undefined || target === undefined || positionals.length > 1) {
      throw new PolypodError(
        'bad-request',
        'the provider or the directory is missing: polypod record --to DIR PROVIDER|URL',
      );
    }
    const directory = values.to;
    await mkdir(directory, { recursive: true, mode: 0o700 }).catch((thrown: unknown) => {
      throw new PolypodError('bad-request', `cannot record into ${directory}: ${messageOf(thrown)}`, {
        cause: thrown,
      });
    });
    const vendor = findVendor(target);
    const base = vendor === undefined || vendor.hasOwnAddress === true ? target : vendor.baseUrl;
    const proxy = await startRecordingProxy({
      target: base,
      directory,
      secrets: secretsIn(context.env),
      transport: transportFrom(context.env),
      ...withoutUndefined({ port: values.port }),
    });
    const text = `Recording ${base} into ${directory} on ${proxy.url} (Ctrl-C ends it). Use it as the base URL of a client.\n`;
    await serveUntilInterrupted(proxy, { json: values.json, text }, context);
    return EXIT.ok;
  },
});
