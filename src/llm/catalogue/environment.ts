import { isIPv6 } from 'node:net';
import { PolypodError } from '../../base/index.ts';
import type { Vendor } from './vendors.ts';

/** The variables of the process, handed in by whoever may read them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The vendor's key: the first of its variables that is set. */
export function vendorKey(vendor: Vendor, env: Environment): string | undefined {
  for (const name of vendor.keyEnv) {
    const key = checkedKey(env[name], name);
    if (key !== undefined) return key;
  }
  return undefined;
}

/** A key without the blanks around it; undefined when nothing is left. `place` is what an error names, never the value. */
export function checkedKey(text: string | undefined, place: string): string | undefined {
  const key = text?.trim() ?? '';
  if (key === '') return undefined;
  // Such a key cannot be sent in a header; fetch would refuse it with a message that says neither why nor which.
  if (!/^[\x20-\x7e]+$/.test(key))
    throw new PolypodError(
      'bad-request',
      `the key in ${place} has a line break or an unprintable character inside: copy it again`,
    );
  return key;
}

/** Where to reach the vendor: its own address, or the one that its customary variable gives. */
export function vendorBaseUrl(vendor: Vendor, env: Environment): string {
  const { baseUrlEnv } = vendor;
  const text = baseUrlEnv === undefined ? undefined : env[baseUrlEnv]?.trim();
  if (text === undefined || text === '') return vendor.baseUrl;
  const url = vendor.wire === 'ollama' ? ollamaUrl(text) : httpUrl(text);
  if (url === undefined)
    throw new PolypodError(
      'bad-request',
      `${baseUrlEnv} is not an http or https address: write it like ${vendor.baseUrl}`,
    );
  const { baseUrlEnvPath = '' } = vendor;
  return url.endsWith(baseUrlEnvPath) ? url : url + baseUrlEnvPath;
}

/** An address to which a path can be appended, without the slash at its end; undefined when the text is no such thing. */
export function httpUrl(text: string): string | undefined {
  const trimmed = text.trim();
  if (!URL.canParse(trimmed)) return undefined;
  const { protocol, username, password, search, hash } = new URL(trimmed);
  if (protocol !== 'http:' && protocol !== 'https:') return undefined;
  // fetch refuses credentials in a URL, and a path appended after `?` or `#` would be lost.
  if (username !== '' || password !== '' || search !== '' || hash !== '') return undefined;
  return trimmed.replace(/\/+$/, '');
}

/**
 * OLLAMA_HOST as Ollama itself reads it: with a scheme the scheme's own port, without one 11434; the host may be left
 * out. It is also the address the server listens on, so "all interfaces" has to become one that can be connected to.
 */
function ollamaUrl(text: string): string | undefined {
  const hasScheme = /^https?:\/\//i.test(text);
  if (text === 'ollama.com') return 'https://ollama.com';
  const url = httpUrl(hasScheme ? text : `http://${withHostAndPort(text)}`);
  return url?.replace(/^(https?:\/\/)0\.0\.0\.0(?=[:/]|$)/i, '$1127.0.0.1').replace('[::]', '[::1]');
}

function withHostAndPort(text: string): string {
  if (isIPv6(text)) return `[${text}]:${OLLAMA_PORT}`;
  const slash = text.indexOf('/');
  const authority = slash < 0 ? text : text.slice(0, slash);
  const path = slash < 0 ? '' : text.slice(slash);
  const host = authority.startsWith(':') || authority === '' ? `127.0.0.1${authority}` : authority;
  return /:\d+$/.test(host) ? host + path : `${host}:${OLLAMA_PORT}${path}`;
}

const OLLAMA_PORT = 11434;
