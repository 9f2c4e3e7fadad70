import { describe } from 'vitest';
import { programFixture } from './program.ts';
import { inProcessFixture } from './in-process-fixture.ts';
import type { OpenRpcFixture } from './fixture.ts';

const FIXTURES: readonly (readonly [string, OpenRpcFixture])[] = [
  ['over two streams', inProcessFixture],
  ['over the pipes of the built program', (script, options) => programFixture(script, options)],
];

/** Runs the same tests for every kind of connection. */
export function describeOnEach(body: (openFixture: OpenRpcFixture) => void): void {
  describe.each(FIXTURES)('%s', (_, openFixture) => body(openFixture));
}
