import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Listener, promptCommand, hostFixture } from '../fixture.ts';

const call = (command: string) => ({ parts: [{ toolCall: { name: 'bash', arguments: { command } } }] });
const DONE = { parts: [{ text: 'done' }] };

describe('fallback rules', () => {
  it("are checked after the user's rules, and can be removed", async () => {
    const script = [call('touch a'), DONE, call('touch b'), DONE, call('touch c'), DONE];
    const agent = { rules: [{ command: 'touch b', action: 'deny' }] as const };
    const { host, cwd } = await hostFixture(script, { agent });
    const pod = await host.create({ cwd, settings: { fallbackRules: [{ tool: 'bash', action: 'auto' }] } });
    const listener = new Listener(pod);
    const statuses = () =>
      listener.events.flatMap((event) => (event.type === 'tool-end' ? [event.status] : []));
    const runs = (count: number) =>
      listener.waitFor(() => listener.types.filter((type) => type === 'run-end').length === count);
    await pod.handle(promptCommand('one'));
    await runs(1);
    await pod.handle(promptCommand('two'));
    await runs(2);
    expect(statuses()).toEqual(['done', 'denied']);
    await pod.handle({ type: 'configure', clear: ['fallbackRules'] });
    await pod.handle(promptCommand('three'));
    await listener.waitForType('approval-request');
    expect(['a', 'b', 'c'].map((name) => existsSync(join(cwd, name)))).toEqual([true, false, false]);
  });
});
