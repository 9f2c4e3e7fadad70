import { type Files, type OpenFile, sealRecords } from '../../../src/store/index.ts';

/** An injected defect: receipts are written under an unknown key, as if they were not written. */
export function withoutReceipts(files: Files): Files {
  const spoil = (file: OpenFile): OpenFile => ({
    ...file,
    append: (bytes) => file.append(Buffer.from(bytes).includes(RECEIPT) ? renamed(bytes) : bytes),
  });
  return {
    ...files,
    openToAppend: (path) => spoil(files.openToAppend(path)),
    create: (path) => spoil(files.create(path)),
  };
}

const RECEIPT = '"receipt":{';

/** The same number of bytes, with valid checksums. */
function renamed(bytes: Uint8Array): Uint8Array {
  const lines = Buffer.from(bytes).toString().trimEnd().split('\n');
  const records = lines.map((line) =>
    `${line.slice(0, line.lastIndexOf(',"crc":'))}}`.replace(RECEIPT, '"removed":{'),
  );
  return Buffer.from(sealRecords(records));
}
