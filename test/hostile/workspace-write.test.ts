import { hostileSuite } from './suite.ts';

hostileSuite({
  title: 'a hostile model in workspace-write mode',
  options: ['--mode', 'workspace-write'],
  writes: true,
  sample: 600,
});
