/** Where Polypod keeps what on this machine, and who may change it. */
export { diskFree, lockDataDirectory, makeDataDirectory } from './data-directory.ts';
export {
  commandsDirectory,
  controlSocket,
  daemonLock,
  daemonLogFile,
  type DataPaths,
  dataPathsFrom,
  hostSocket,
  hostSockets,
  keysFile,
  tasksDirectory,
} from './data-paths.ts';
export { existingDirectory } from './existing-directory.ts';
export { lockWithRetry } from './lock-with-retry.ts';
export { makePrivate } from './private-directory.ts';
export { refuseUnsafeFile } from './refuse-unsafe-file.ts';
export { hasRoomForPods, refuseDeepSockets, SHORTER } from './socket-path-length.ts';
