import { describe } from 'vitest';
import { describeEvents } from './events.contract.ts';
import { stageProgram } from './program.ts';
import { stage } from './stage.ts';

describe('over two streams', () => describeEvents(stage));
describe('over the pipes of the built program', () => describeEvents(stageProgram));
