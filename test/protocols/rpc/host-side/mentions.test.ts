import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withMentions } from '../../../../src/protocols/rpc/host-side/mentions.ts';
import { temporaryDirectory } from '../../../cli/polypod.ts';
import type { Line } from '../client.ts';
import { gist } from '../gist.ts';
import { describeOnEach } from '../each-connection.ts';

describe('a mentioned file', () => {
  const directory = (): string => {
    const root = temporaryDirectory();
    mkdirSync(join(root, 'src'));
    writeFileSync(join(root, 'notes.md'), 'one\ntwo\n');
    writeFileSync(join(root, 'src/a b.ts'), 'let x;');
    writeFileSync(join(root, 'huge.txt'), 'x'.repeat(300_000));
    writeFileSync(join(root, 'picture.bin'), Uint8Array.of(1, 0, 2));
    writeFileSync(join(root, 'secret'), 'outside');
    mkdirSync(join(root, 'inner'));
    symlinkSync(join(root, 'secret'), join(root, 'inner/link'));
    return root;
  };
  const notes = '<file path="notes.md">\none\ntwo\n\n</file>';

  it.each([
    ['look at @notes.md', [notes]],
    ['@notes.md', [notes]],
    ['(@notes.md), and @notes.md.', [notes]],
    ['@"src/a b.ts" please', ['<file path="src/a b.ts">\nlet x;\n</file>']],
    ['@huge.txt', ['<file path="huge.txt">\n[left out: too large]\n</file>']],
    ['mail ada@notes.md', []],
    ['@nobody, @src, @picture.bin and @ alone', []],
  ])('is appended to the prompt: %s', async (text, files) => {
    const content = [{ type: 'text', text }] as const;
    expect(await withMentions(content, directory())).toEqual([
      ...content,
      ...files.map((file) => ({ type: 'text', text: file })),
    ]);
  });

  it.each(['@../secret', '@/etc/passwd', '@link'])('must be in the working directory: %s', async (text) => {
    const content = [{ type: 'text', text }] as const;
    expect(await withMentions(content, join(directory(), 'inner'))).toEqual(content);
  });
});

describeOnEach((openFixture) => {
  describe('a prompt that mentions a file', () => {
    it('sends it to the model, and shows it as a separate message', async () => {
      const bodies: string[] = [];
      const { client, cwd } = await openFixture(({ body }) => {
        bodies.push(JSON.stringify(body));
        return { parts: [{ text: 'ok' }] };
      });
      writeFileSync(join(cwd, 'notes.md'), 'remember');
      const lines = await client.run('look at @notes.md');
      expect(bodies[0]).toContain('<file path=\\"notes.md\\">\\nremember\\n</file>');
      expect(gist(lines).slice(0, 7)).toEqual([
        'prompt ok',
        'agent_start',
        'turn_start',
        'message_start user',
        'message_end user',
        'message_start fileMention',
        'message_end fileMention',
      ]);
      const { messages } = await client.get('get_messages');
      expect(messages).toMatchObject([
        { role: 'user', content: [{ type: 'text', text: 'look at @notes.md' }] },
        {
          role: 'fileMention',
          files: [{ path: 'notes.md', content: 'remember', lineCount: 1, byteSize: 8 }],
          timestamp: expect.any(Number) as unknown,
        },
        { role: 'assistant' },
      ]);
      expect(await client.get('get_state')).toMatchObject({ messageCount: 3 });
      const { messages: branches } = await client.get('get_branch_messages');
      expect((branches as Line[]).map(({ text }) => text)).toEqual(['look at @notes.md']);
    });
  });
});
