import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Session } from '../contract/fixture.ts';
import { expectBalanced } from '../contract/fixture.ts';
import { agentCommand, attack, type BackendConfig, hostileDaemon } from './fixture.ts';

const FAULTS = {
  'exit-initialize': ['exit', 'initialize'],
  'exit-new': ['exit', 'session/new'],
  'exit-prompt': ['exit', 'session/prompt'],
  'leave-prompt': ['leave', 'session/prompt'],
  'close-initialize': ['close', 'initialize'],
  'close-prompt': ['close', 'session/prompt'],
  'long-initialize': ['long', 'initialize'],
  'long-prompt': ['long', 'session/prompt'],
  'garbage-initialize': ['garbage', 'initialize'],
  'garbage-prompt': ['garbage', 'session/prompt'],
  'silent-initialize': ['silent', 'initialize'],
  'silent-new': ['silent', 'session/new'],
  'silent-prompt': ['silent', 'session/prompt'],
  'stubborn-prompt': ['stubborn', 'session/prompt'],
} as const;

const backends = Object.entries(FAULTS).map(([name, fault]): [string, BackendConfig] => [
  name,
  { command: agentCommand(...fault) },
]);
const daemon = hostileDaemon(
  { hostile: { command: agentCommand() }, ...Object.fromEntries(backends) },
  {
    ANTHROPIC_API_KEY: 'sk-test-0123456789abcdefghij',
    OPENAI_API_KEY: 'sk-test-openai-0123456789',
    POLYPOD_TOKEN: 'token',
    GITHUB_TOKEN: 'token',
  },
);

/** Other sessions work. */
async function expectOthersWork(): Promise<void> {
  const session = await daemon.session();
  expect((await session.run(attack(({ say }) => say('I work')))).outcome).toEqual({ status: 'finished' });
  expect(session.answer()).toBe('I work');
}

function failureOf(outcome: Awaited<ReturnType<Session['ended']>>['outcome']): string {
  return outcome.status === 'failed' ? outcome.failure.message : outcome.status;
}

const hello = attack(({ say }) => say('hello'));

describe.for([
  ['exit-initialize', 'exit code 3'],
  ['exit-new', 'exit code 3'],
  ['exit-prompt', 'exit code 3'],
  ['leave-prompt', 'exit code 3'],
  ['close-initialize', 'closed its standard output'],
  ['close-prompt', 'closed its standard output'],
  ['long-initialize', 'bytes'],
  ['long-prompt', 'bytes'],
  ['garbage-initialize', 'lines that are not messages'],
  ['garbage-prompt', 'lines that are not messages'],
] as const)('an agent with the fault %s', ([name, message]) => {
  test('makes the run fail', async () => {
    const session = await daemon.session(name);
    expect(failureOf((await session.run(hello)).outcome)).toContain(message);
    expectBalanced(session.events);
    await expectOthersWork();
  });
});

// Together, because the agents have some seconds to react.
test('a run of an agent that does not answer can be cancelled', async () => {
  const cancelled = async (name: keyof typeof FAULTS): Promise<unknown> => {
    const session = await daemon.session(name);
    await session.prompt(hello);
    await session.next(name.endsWith('-prompt') ? 'block-delta' : 'input');
    await session.handle({ type: 'cancel' });
    return (await session.ended()).outcome;
  };
  const names = ['silent-initialize', 'silent-new', 'silent-prompt', 'stubborn-prompt'] as const;
  expect(await Promise.all(names.map(cancelled))).toEqual(names.map(() => ({ status: 'cancelled' })));
  await expectOthersWork();
});

describe('a flood', () => {
  test('of small updates arrives complete', async () => {
    const session = await daemon.session();
    await session.run(
      attack(async ({ sessionId, write }) => {
        const content = { type: 'text', text: 'x' };
        const update = { sessionUpdate: 'agent_message_chunk', content };
        const line = `${JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { sessionId, update } })}\n`;
        for (let count = 0; count < 20; count += 1) await write(line.repeat(1_000));
      }),
    );
    expect(session.answer()).toBe('x'.repeat(20_000));
  });

  test('of calls at once ends the program', async () => {
    const session = await daemon.session();
    const { outcome } = await session.run(
      attack(async ({ sessionId, write }) => {
        for (let count = 0; count < 2_000; count += 1) {
          const update = { sessionUpdate: 'tool_call', toolCallId: `c${count}`, status: 'in_progress' };
          await write(
            `${JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { sessionId, update } })}\n`,
          );
        }
        await new Promise(() => {});
      }),
    );
    expect(failureOf(outcome)).toContain('more than 1000 calls at once');
    expectBalanced(session.events);
    await expectOthersWork();
  });

  test('of parts of one answer ends the program', async () => {
    const session = await daemon.session();
    const { outcome } = await session.run(
      attack(async ({ update }) => {
        const content = { type: 'text', text: 'x' };
        for (let count = 0; count < 2_000; count += 1) {
          await update({ sessionUpdate: 'agent_message_chunk', content });
          await update({ sessionUpdate: 'agent_thought_chunk', content });
        }
        await new Promise(() => {});
      }),
    );
    expect(failureOf(outcome)).toContain('more than 2000 parts');
  });

  test('while a call runs ends the program', async () => {
    const session = await daemon.session();
    const { outcome } = await session.run(
      attack(async ({ update, bash, write, sessionId }) => {
        await update({ sessionUpdate: 'tool_call', ...bash('c1', 'pwd'), status: 'in_progress' });
        const content = [{ type: 'content', content: { type: 'text', text: 'running' } }];
        await update({ sessionUpdate: 'tool_call_update', toolCallId: 'c1', status: 'in_progress', content });
        const text = 'x'.repeat(1024 * 1024);
        for (let count = 0; count < 20; count += 1) {
          const chunk = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } };
          await write(
            `${JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { sessionId, update: chunk } })}\n`,
          );
        }
        await new Promise(() => {});
      }),
    );
    expect(failureOf(outcome)).toContain('too long');
    expectBalanced(session.events);
  });

  test('of answers that the agent does not read ends the program', async () => {
    const session = await daemon.session();
    const { outcome } = await session.run(
      attack(async ({ write }) => {
        process.stdin.pause();
        const method = 'x'.repeat(1024 * 1024);
        const line = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method })}\n`;
        for (let count = 0; count < 80; count += 1) await write(line);
        await new Promise(() => {});
      }),
    );
    expect(failureOf(outcome)).toContain('does not read its standard input');
    await expectOthersWork();
  });

  test('of invalid and deeply nested messages is ignored', async () => {
    const session = await daemon.session();
    await session.run(
      attack(async ({ write, say }) => {
        await write(Buffer.from([0xff, 0xfe, 0x0a, 0x7b, 0x22, 0xc3, 0x0a]));
        await write(`${'['.repeat(100_000)}${']'.repeat(100_000)}\n`);
        await write(
          `{"jsonrpc":"2.0","method":"session/update","params":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}\n`,
        );
        await write(
          '{"jsonrpc":"2.0","id":null,"method":7}\n{"id":"__proto__","result":{}}\n{"id":0,"result":{}}\n',
        );
        await write(
          '{"jsonrpc":"2.0","method":"session/update","params":{"__proto__":{"sessionId":"session-1"}}}\n',
        );
        await say('alive');
      }),
    );
    expect(session.answer()).toBe('alive');
  });
});

test('none of our keys is in the environment of the agent', async () => {
  const session = await daemon.session();
  await session.run(attack(({ say }) => say(JSON.stringify(process.env))));
  const env = JSON.parse(session.answer()) as Record<string, string>;
  const names = Object.keys(env).filter((name) => /^POLYPOD_|KEY|TOKEN/.test(name));
  expect(names).toEqual(['POLYPOD_CALL']);
  expect(readFileSync('/proc/self/cmdline', 'utf8')).not.toContain('sk-');
});
