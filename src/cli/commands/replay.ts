import { PolypodError, withoutUndefined } from '../../base/index.ts';
import { startReplayServer } from '../../sim/index.ts';
import { EXIT, runnable } from '../command.ts';
import { LISTEN } from '../args/listen-options.ts';
import { serveUntilInterrupted } from '../hosting/until-interrupted.ts';

/** `polypod replay`: serves recorded exchanges to any client, without a network. */
export const replay = runnable({
  name: 'replay',
  summary: 'Replay recorded exchanges on loopback, byte for byte, without network access.',
  usage: 'DIR',
  options: {
    ...LISTEN,
    instant: { type: 'flag', help: 'replay without the recorded delays' },
  },
  details: `
A request is answered with the recording of the same method, path and body. A request that was not recorded fails with
its differences from the nearest recording. The server runs until it is interrupted.

Examples:
  polypod replay cassettes --port 8100
  polypod ask --replay cassettes -m anthropic "Hello"`,
  async run({ values, positionals }, context) {
    const [directory] = positionals;
    if (directory === undefined || positionals.length > 1) {
      throw new PolypodError('bad-request', 'the directory of the recordings is missing: polypod replay DIR');
    }
    const server = await startReplayServer({
      directory,
      timing: values.instant ? 'instant' : 'recorded',
      ...withoutUndefined({ port: values.port }),
    });
    const text = `Replaying ${directory} on ${server.url} (Ctrl-C ends it). Use it as the base URL of a client.\n`;
    await serveUntilInterrupted(server, { json: values.json, text }, context);
    return EXIT.ok;
  },
});
