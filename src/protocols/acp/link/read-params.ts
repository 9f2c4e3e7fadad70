import { stat } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import { arrayOf, isObject, type JsonObject, objectOf, stringOf } from '../../../base/index.ts';
import type { PodSettings, ServerValues } from '../../../pod/index.ts';
import { invalidParam } from '../errors.ts';
import type { ClientCapabilities } from '../wire.ts';

/** Reads a field that must be text. */
export function textParam(params: JsonObject, field: string): string {
  const value = params[field];
  if (typeof value === 'string' && value !== '') return value;
  throw invalidParam(field, 'must be a text that is not empty');
}

/** The agent that does the work of a new session: `_meta.polypod.backend`. */
export function backendParam({ _meta }: JsonObject): string | undefined {
  const { backend } = objectOf(objectOf(_meta).polypod);
  if (backend === undefined) return undefined;
  if (typeof backend === 'string' && backend !== '') return backend;
  throw invalidParam('_meta.polypod.backend', 'must be the name of a back end');
}

/** Reads the directory of a session. */
export function directoryParam(params: JsonObject): string {
  const cwd = textParam(params, 'cwd');
  if (!isAbsolute(cwd)) throw invalidParam('cwd', 'must be an absolute path');
  // Editors write the same directory with or without a slash at its end.
  return resolve(cwd);
}

/** Reads the directory of a new session. */
export async function existingDirectoryParam(params: JsonObject): Promise<string> {
  const cwd = directoryParam(params);
  const isDirectory = await stat(cwd).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isDirectory) throw invalidParam('cwd', `must be a directory: ${cwd} is none`);
  return cwd;
}

/** Reads the additional directories of a session. */
export function directoriesParam({ additionalDirectories }: JsonObject): readonly string[] {
  if (additionalDirectories === undefined || additionalDirectories === null) return [];
  return arrayOf(additionalDirectories).map((path, index) => {
    if (typeof path === 'string' && isAbsolute(path)) return path;
    throw invalidParam(`additionalDirectories[${index}]`, 'must be an absolute path');
  });
}

/** The MCP servers that an editor names for a session. */
export interface NamedServers {
  /** Undefined if the list is empty. */
  readonly settings: PodSettings['editorServers'];
  /** The values of variables and headers, which the settings only name. */
  readonly values: ServerValues;
}

/** Reads the MCP servers of a session; undefined if the request has no list of them. */
export function serversParam({ mcpServers }: JsonObject): NamedServers | undefined {
  if (mcpServers === undefined || mcpServers === null) return undefined;
  if (!Array.isArray(mcpServers)) throw invalidParam('mcpServers', 'must be a list');
  const servers = arrayOf(mcpServers).map((server, index) =>
    serverOf(objectOf(server), `mcpServers[${index}]`),
  );
  return {
    settings:
      servers.length === 0
        ? undefined
        : Object.fromEntries(servers.map(({ name, settings }) => [name, settings])),
    values: Object.fromEntries(servers.map(({ name, values }) => [name, values])),
  };
}

interface NamedServer {
  readonly name: string;
  readonly settings: JsonObject;
  readonly values: Readonly<Record<string, string>>;
}

function serverOf(server: JsonObject, place: string): NamedServer {
  const name = stringOf(server.name);
  if (name === '') throw invalidParam(`${place}.name`, 'must be a text that is not empty');
  if (server.type === 'http' || server.type === 'sse') {
    const url = stringOf(server.url);
    if (!/^https?:\/\//.test(url)) throw invalidParam(`${place}.url`, 'must be an http or https address');
    if (server.type === 'sse')
      throw invalidParam(`${place}.type`, 'sse is not supported: use a server with streamable HTTP');
    const values = pairsIn(server.headers, `${place}.headers`);
    return { name, settings: { type: 'http', url, headers: Object.keys(values) }, values };
  }
  const command = stringOf(server.command);
  if (command === '') throw invalidParam(`${place}.command`, 'must be a text that is not empty');
  const values = pairsIn(server.env, `${place}.env`);
  return {
    name,
    settings: { command, args: arrayOf(server.args).map(stringOf), env: Object.keys(values) },
    values,
  };
}

/** A list of names and values as an object. */
function pairsIn(pairs: unknown, place: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    arrayOf(pairs).map((pair, index) => {
      const { name, value } = objectOf(pair);
      if (typeof name === 'string' && typeof value === 'string') return [name, value];
      throw invalidParam(`${place}[${index}]`, 'must have a name and a value');
    }),
  );
}

export function readCapabilities(value: unknown): ClientCapabilities {
  const { fs, terminal, auth, session, elicitation, _meta } = objectOf(value);
  const [files, signIn, sessions, asks, meta] = [fs, auth, session, elicitation, _meta].map(objectOf);
  return {
    readFile: files?.readTextFile === true,
    writeFile: files?.writeTextFile === true,
    terminal: terminal === true,
    terminalAuth: signIn?.terminal === true,
    legacyTerminalAuth: meta?.['terminal-auth'] === true,
    booleanOptions: isObject(objectOf(sessions?.configOptions).boolean),
    notices: isObject(sessions?.notices),
    compaction: isObject(sessions?.compaction),
    elicitation: isObject(asks?.form),
    urlElicitation: isObject(asks?.url),
    terminalOutput: meta?.terminal_output === true,
    eventNumbers: objectOf(meta?.polypod).eventNumbers === true,
  };
}
