import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  generateKeyPairSync,
  type KeyObject,
  type KeyPairKeyObjectResult,
  randomBytes,
  sign,
} from 'node:crypto';

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** A self-signed certificate for 127.0.0.1 and localhost, and its key. Generated each time, so that none is in the repository. */
export function selfSigned(): Certificate {
  return createCertificate({ subject: 'localhost', hosts: ['localhost'], isAuthority: true });
}

/** A private certificate authority, such as a company has. */
export function privateAuthority(): {
  readonly cert: string;
  readonly issue: (host: string) => Certificate;
} {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const subject = 'Private Authority';
  const { cert } = createCertificate({ subject, hosts: [], isAuthority: true, pair });
  return {
    cert,
    issue: (host) =>
      createCertificate({
        subject: host,
        hosts: [host],
        isAuthority: false,
        issuer: { subject, key: pair.privateKey },
      }),
  };
}

function createCertificate({
  subject,
  hosts,
  isAuthority,
  pair = generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  issuer = { subject, key: pair.privateKey },
}: {
  readonly subject: string;
  readonly hosts: readonly string[];
  readonly isAuthority: boolean;
  readonly pair?: KeyPairKeyObjectResult;
  readonly issuer?: { readonly subject: string; readonly key: KeyObject };
}): Certificate {
  const { publicKey, privateKey } = pair;
  const algorithm = sequence(objectId('2a8648ce3d040302'));
  const year = new Date().getUTCFullYear();
  const validity = sequence(time(year - 1), time(year + 1));
  const names = sequence(
    ...hosts.map((host) => der(0x82, Buffer.from(host))),
    der(0x87, Buffer.from([127, 0, 0, 1])),
  );
  const authority = isAuthority ? [der(0x01, Buffer.from([0xff]))] : [];
  const extensions = der(
    0xa3,
    sequence(
      sequence(objectId('551d11'), der(0x04, names)),
      sequence(objectId('551d13'), der(0x01, Buffer.from([0xff])), der(0x04, sequence(...authority))),
    ),
  );
  const serial = Buffer.concat([Buffer.from([1]), randomBytes(8)]);
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    algorithm,
    commonName(issuer.subject),
    validity,
    commonName(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    extensions,
  );
  const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', body, issuer.key)]));
  const text = sequence(body, algorithm, signature).toString('base64').replaceAll(/.{64}/g, '$&\n');
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

function commonName(text: string): Buffer {
  return sequence(der(0x31, sequence(objectId('550403'), der(0x0c, Buffer.from(text)))));
}

/** Writes them as cert.pem and key.pem to a directory. */
export function selfSignedFiles(directory: string): void {
  const { cert, key } = selfSigned();
  writeFileSync(join(directory, 'cert.pem'), cert, { mode: 0o644 });
  writeFileSync(join(directory, 'key.pem'), key, { mode: 0o600 });
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function objectId(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'));
}

function time(year: number): Buffer {
  return der(0x18, Buffer.from(`${year}0101000000Z`));
}
