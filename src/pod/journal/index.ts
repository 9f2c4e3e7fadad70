/** Numbers a pod's events, writes them and restores the pod from them. */
export { type UnnumberedEvent, Journal } from './journal.ts';
export { makeDirectories, type OpenSession, openSession, headerIn, readWhole } from './open-session.ts';
export { finishedCalls, interruptedCommands, interruptedShells, reconcile, recovery } from './recover.ts';
export { Recorder } from './recorder.ts';
export { persistedState, type Restored, restore } from './restore.ts';
