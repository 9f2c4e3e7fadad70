import { expect, it } from 'vitest';
import { podStage, isState } from './stage.ts';
it('smoke', async () => {
  const s = await podStage([
    { parts: [{ thinking: 'Hm.' }, { text: 'Let me look.' }, { toolCall: { id: 'call_1', name: 'ls', arguments: { path: '.' } } }] },
    { parts: [{ text: 'Nothing there.' }] },
  ]);
  const a = await s.socketClient();
  const b = await s.processClient();
  const c = await s.socketClient();
  await c.say('subscribe', {});
  await a.say('run', { input: 'What is here?' });
  await a.hear(isState('idle'));
  await b.hear(isState('idle'));
  await c.hear(isState('idle'));
  await a.say('get_history');
  await a.hear((l) => l.event === 'history');
  console.log(a.heard.map((l) => JSON.stringify(l)).join('\n'));
  console.log(c.heard.map((l) => JSON.stringify(l)).join('\n'));
  await b.hear((l) => l.event === 'history');
  expect(b.heard).toEqual(a.heard);
});
