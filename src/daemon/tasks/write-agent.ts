import { chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { uuidv7 } from '../../base/index.ts';
import { type DataPaths, makePrivateDirectory } from '../../setup/paths/index.ts';
import { type AgentRecord, clientKeyFile, recordFile } from './agent-files.ts';

type DataDirectory = Pick<DataPaths, 'dataDirectory'>;

/** Records the address of an agent, for clients on this machine. */
export function writeAgent(dataPaths: DataDirectory, record: AgentRecord): void {
  writePrivate(recordFile(dataPaths, record.name), `${JSON.stringify(record, undefined, 2)}\n`);
}

export function removeAgent(dataPaths: DataDirectory, name: string): void {
  rmSync(recordFile(dataPaths, name), { force: true });
}

export function writeClientKey(dataPaths: DataDirectory, key: string): void {
  writePrivate(clientKeyFile(dataPaths), `${key}\n`);
}

/** Writes a file atomically, readable only by its owner. */
export function writePrivate(file: string, text: string): void {
  makePrivateDirectory(dirname(file));
  const draft = `${file}.${uuidv7()}`;
  writeFileSync(draft, text, { mode: 0o600, flag: 'wx' });
  chmodSync(draft, 0o600);
  renameSync(draft, file);
}
