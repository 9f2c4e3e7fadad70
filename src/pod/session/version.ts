import { PolypodError } from '../../base/index.ts';
import { FORMAT_VERSION, type Header } from './entry.ts';

/** Returns the header. Throws if the entries cannot be read: version 1 has no ids, and newer versions are unknown. */
export function readable(header: Header): Header {
  if (isReadable(header)) return header;
  const { version } = header;
  const next = version < 2 ? 'open a copy of it in pi, which upgrades it' : 'update polypod';
  const found = `the session file has format ${version}, ${version < 2 ? 'older' : 'newer'} than this program reads`;
  throw new PolypodError('conflict', `${found}: ${next}; the file was not changed`);
}

/** Whether the version of the lines after the header is known. */
export function isReadable({ version }: Header): boolean {
  return version >= 2 && version <= FORMAT_VERSION;
}
