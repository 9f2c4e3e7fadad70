import { randomUUID } from 'node:crypto';
import { mkdir, readFile, realpath, rename, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Document, isMap, parseDocument } from 'yaml';
import { type JsonObject, objectOf, systemCodeOf } from '../../base/index.ts';

/** Adds or replaces an account in the configuration file. Comments and the order of the file are kept. */
export async function writeAccount(configFile: string, name: string, settings: JsonObject): Promise<void> {
  const found = await readDocument(configFile);
  // A file without settings can still have comments.
  const document = isMap(found.contents) ? found : emptyDocument(found.commentBefore ?? found.comment);
  if (!isMap(document.get('accounts'))) document.set('accounts', document.createNode({}));
  document.setIn(['accounts', name], document.createNode(settings));
  await replaceFile(configFile, document.toString({ lineWidth: 0 }));
}

/** Removes an account from the configuration file and returns its settings; undefined if there is none. */
export async function deleteAccount(configFile: string, name: string): Promise<JsonObject | undefined> {
  const document = await readDocument(configFile);
  const accounts = objectOf(objectOf(document.toJS()).accounts);
  if (!Object.hasOwn(accounts, name)) return undefined;
  document.deleteIn(['accounts', name]);
  if (Object.keys(accounts).length === 1) document.delete('accounts');
  await replaceFile(configFile, document.toString({ lineWidth: 0 }));
  return objectOf(accounts[name]);
}

function emptyDocument(comment: string | null): Document {
  const document = new Document({ version: 1 });
  document.commentBefore = comment;
  return document;
}

async function readDocument(configFile: string): Promise<Document> {
  const text = await readFile(configFile, 'utf8').catch((thrown: unknown) => {
    if (systemCodeOf(thrown) === 'ENOENT') return '';
    throw thrown;
  });
  return parseDocument(text, { version: '1.2' });
}

async function replaceFile(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  // A link, as users of a repository for their settings have it, stays a link.
  const file = await realpath(path).catch(() => path);
  const mode = await stat(file).then(
    (found) => found.mode & 0o777,
    () => 0o600,
  );
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, text, { mode });
  await rename(draft, file);
}
