import { expect, it } from 'vitest';
import { bindDoor, type Door, type DoorContext } from '../../src/protocols/index.ts';
import { doors } from '../../src/registry.ts';

it('a door gets the shared context and its own needs, and nothing else', async () => {
  const seen: object[] = [];
  const door: Door<{ readonly colour: string }> = {
    name: 'painted',
    needs: ['colour'],
    open: async (context) => {
      seen.push(context);
      return { status: () => ({}), close: async () => {} };
    },
  };
  const bound = bindDoor<{ readonly colour: string; readonly size: number }>(door, {
    colour: 'red',
    size: 3,
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the door reads only the keys
  const shared = { version: '1', directory: '/run' } as DoorContext;
  await bound.open(shared);
  expect(seen).toEqual([{ version: '1', directory: '/run', colour: 'red' }]);
});

it('the doors list their needs', () => {
  expect(doors.map(({ name, needs }) => [name, needs])).toEqual([
    ['pod', ['namedSockets', 'claimSocket']],
    ['hld', ['user', 'modelNamed']],
    ['rpc', ['inventory']],
    ['acp', ['inventory', 'defaultMode', 'reloadConfig']],
    ['tasks', ['tasks', 'monitoring']],
  ]);
});
