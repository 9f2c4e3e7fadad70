import { PassThrough, type Readable } from 'node:stream';
import { type OutputPipe, openOutputPipe } from './output-pipe.ts';
import { type OutputWindow, windowForModel } from './output-window.ts';

/** Where a program writes: one pipe for both outputs, or one for each. */
export interface Outputs {
  readonly pipes: readonly OutputPipe[];
  readonly stdout: OutputPipe;
  readonly stderr: OutputPipe;
  /** Everything that is written, in order of arrival. */
  readonly read: Readable;
  readonly apart: { readonly stdout: OutputWindow; readonly stderr: OutputWindow } | undefined;
}

/** Only one pipe preserves the order of both outputs, so two are used on request only. */
export async function openOutputs({
  scratch,
  env,
  apart,
}: {
  readonly scratch: string;
  readonly env: Readonly<Record<string, string>>;
  readonly apart: boolean;
}): Promise<Outputs> {
  const stdout = await openOutputPipe(scratch, env);
  if (!apart) return { pipes: [stdout], stdout, stderr: stdout, read: stdout.read, apart: undefined };
  const stderr = await openOutputPipe(scratch, env).catch(async (thrown: unknown) => {
    stdout.close();
    await stdout.write.close();
    throw thrown;
  });
  const pipes = [stdout, stderr];
  const read = new PassThrough();
  let open = pipes.length;
  for (const pipe of pipes) {
    pipe.read.pipe(read, { end: false });
    pipe.read.once('close', () => {
      open -= 1;
      if (open === 0) read.end();
    });
  }
  return { pipes, stdout, stderr, read, apart: { stdout: windowOn(stdout), stderr: windowOn(stderr) } };
}

function windowOn({ read }: OutputPipe): OutputWindow {
  const window = windowForModel();
  read.on('data', (bytes: Buffer) => window.add(bytes));
  return window;
}
