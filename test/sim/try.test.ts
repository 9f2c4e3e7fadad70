import { test } from 'vitest';
test('x', async () => { await import('/tmp/try.ts'); });
