/** The locations of Polypod's files, and checks of their permissions. */
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
export { fileVersion } from './file-version.ts';
export { lockWithRetry } from './lock-with-retry.ts';
export { makePrivateDirectory } from './private-directory.ts';
export { refuseUnsafeFile } from './refuse-unsafe-file.ts';
export { podSocketPathsFit, refuseLongSocketPath, SHORTER_PATH_HINT } from './socket-path-length.ts';
