import { hostileSuite } from './suite.ts';

hostileSuite({
  title: 'a hostile model in read-only mode',
  options: ['--mode', 'read-only'],
  writes: false,
  sample: 600,
});
