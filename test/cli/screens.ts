import { PassThrough, Writable } from 'node:stream';
import type { CommandContext } from '../../src/cli/command.ts';

/** A stream that behaves like a terminal, and its output. */
class Screen extends Writable {
  readonly isTTY: boolean;
  readonly columns = 40;
  text = '';
  #wake = (): void => {};

  constructor(isTTY: boolean) {
    super();
    this.isTTY = isTTY;
  }

  override _write(bytes: Buffer, _: string, done: () => void): void {
    this.text += bytes.toString();
    this.#wake();
    done();
  }

  async shows(text: string): Promise<void> {
    while (!this.text.includes(text))
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
  }
}

/** The context of a command whose output is a terminal or a pipe. */
export function screens(isTTY: boolean) {
  const [stdout, stderr] = [new Screen(isTTY), new Screen(isTTY)];
  const stdin = new PassThrough();
  const context: CommandContext = {
    stdin,
    stdout,
    stderr,
    env: { NO_COLOR: '1' },
    home: '/home/ada',
    signal: new AbortController().signal,
    exposeVariables: () => {},
    onHangUp: () => {},
    onUncaught: () => {},
  };
  return { context, stdin, stdout, stderr };
}
