import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf, PolypodError, safeEnv } from '../../base/index.ts';

/** Opens a text in the editor of the user, on the current terminal. Returns the edited text. */
export async function editText(
  text: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const editor = env.VISUAL || env.EDITOR || 'vi';
  const directory = await mkdtemp(join(tmpdir(), 'polypod-input-'));
  try {
    const file = join(directory, 'input.md');
    await writeFile(file, text, { mode: 0o600 });
    await runEditor(editor, file, safeEnv(env, { secret: [], pass: [] }));
    return (await readFile(file, 'utf8')).replace(/\n$/, '');
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The variable may contain options, as in `code --wait`, so a shell reads it. */
async function runEditor(editor: string, file: string, env: Readonly<Record<string, string>>): Promise<void> {
  const code = await new Promise<number | null>((settle, fail) => {
    const child = spawn('sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit', env });
    child.on('error', fail);
    child.on('close', settle);
  }).catch((thrown: unknown) => {
    throw new PolypodError('bad-request', `the editor cannot be started: ${messageOf(thrown)}`, {
      cause: thrown,
    });
  });
  if (code === 0) return;
  throw new PolypodError(
    'bad-request',
    `the editor "${editor}" failed, so the input is unchanged: set VISUAL or EDITOR to your editor`,
  );
}
