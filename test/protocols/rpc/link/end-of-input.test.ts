import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cliFixture } from '../../../cli/daemon.ts';
import { temporaryDirectory } from '../../../cli/polypod.ts';
import type { Line } from '../client.ts';
import { Program } from '../program.ts';

/** An extension that delays a session change for longer than a `bash` may take after the end of the input. */
const SLOW_SWITCH = `
  export default ({ on }) =>
    on('session_before_switch', () => new Promise((resolve) => setTimeout(resolve, 3000, {})));
`;

const answers = ({ lines }: Program): readonly Line[] => lines.filter(({ type }) => type === 'response');

describe('commands before the end of the input', () => {
  it('are all answered, also after one that leaves the session slowly', async () => {
    const home = temporaryDirectory();
    const extension = join(home, 'slow.mjs');
    writeFileSync(extension, SLOW_SWITCH);
    const program = new Program(['-e', extension], { HOME: home });
    program.send({ id: '1', type: 'switch_session', sessionPath: join(home, 'other.jsonl') });
    program.send({ id: '2', type: 'get_state' });
    program.send({ id: '3', type: 'set_session_name', name: 'other' });
    expect((await program.end()).code).toBe(0);
    expect(answers(program)).toMatchObject([
      { id: '1', command: 'switch_session', success: true, data: { cancelled: false } },
      { id: '2', command: 'get_state', success: true, data: { sessionFile: join(home, 'other.jsonl') } },
      { id: '3', command: 'set_session_name', success: true },
    ]);
  });

  it.each([
    ['of the program', async () => new Program()],
    [
      'of a daemon',
      async () => {
        const fixture = await cliFixture();
        await fixture.serve('--offline');
        return new Program([], fixture.env);
      },
    ],
  ])('%s are all answered, and a long bash command is cancelled', async (_, start) => {
    const program = await start();
    program.send({ id: '1', type: 'bash', command: 'sleep 600' });
    program.send({ id: '2', type: 'get_state' });
    program.send({ id: '3', type: 'bash', command: 'echo next' });
    program.send({ id: '4', type: 'prompt', message: 'hi [[sim text=Hello]]' });
    expect((await program.end()).code).toBe(0);
    const byId = new Map(answers(program).map((line) => [line.id, line]));
    expect(new Set(byId.keys())).toEqual(new Set(['1', '2', '3', '4']));
    expect(byId.get('1')).toMatchObject({ success: true, data: { cancelled: true } });
    expect(byId.get('2')).toMatchObject({ success: true });
    expect(byId.get('3')).toMatchObject({ success: true, data: { output: 'next\n' } });
    expect(byId.get('4')).toMatchObject({ success: true, data: { disposition: 'started' } });
  });

  it('are answered when they wait for a dialog that can no longer be answered', async () => {
    const home = temporaryDirectory();
    const extension = join(home, 'asking.mjs');
    writeFileSync(
      extension,
      `export default ({ on, ui }) =>
        on('session_before_switch', async () => ({ cancel: !(await ui.confirm('Leave?', 'Really?')) }));`,
    );
    const program = new Program(['-e', extension], { HOME: home });
    program.send({ id: '1', type: 'new_session' });
    await program.waitFor(({ type }) => type === 'extension_ui_request');
    expect((await program.end()).code).toBe(0);
    expect(answers(program)).toMatchObject([{ id: '1', success: true, data: { cancelled: true } }]);
  });
});
