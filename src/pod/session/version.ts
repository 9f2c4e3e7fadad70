import { PolypodError } from '../../base/index.ts';
import { FORMAT_VERSION, type Header } from './entry.ts';

/** The header, unless what follows it cannot be read: entries of version 1 have no ids, newer ones are not known. */
export function readable(header: Header): Header {
  if (isReadable(header)) return header;
  const { version } = header;
  const next = version < 2 ? 'upgrade a copy of it' : 'update polypod';
  const found = `the session file has format ${version}, ${version < 2 ? 'older' : 'newer'} than this program reads`;
  throw new PolypodError('conflict', `${found}: ${next}; the file is left as it is`);
}

/** Whether the lines after the header are of a version that is known here. */
export function isReadable({ version }: Header): boolean {
  return version >= 2 && version <= FORMAT_VERSION;
}
