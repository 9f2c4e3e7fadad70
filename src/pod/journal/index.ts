/** How a pod's events are numbered, written and read again. */
export { type UnnumberedEvent, Journal } from './journal.ts';
export { makeDirectories, type OpenSession, openSession, headerIn, readWhole } from './open-session.ts';
export { finishedCalls, interruptedShells, reconcile, recovery } from './recover.ts';
export { Recorder } from './recorder.ts';
export { persistedState, type Restored, restore } from './restore.ts';
