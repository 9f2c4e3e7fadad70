import { isIPv6 } from 'node:net';
import { PolypodError } from '../../base/index.ts';
import type { Vendor } from './vendors.ts';

/** Environment variables, passed in as an argument. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The vendor's key, from the first of its variables that is set. */
export function vendorKey(vendor: Vendor, env: Environment): string | undefined {
  for (const name of vendor.keyEnv) {
    const key = validateKey(env[name], name);
    if (key !== undefined) return key;
  }
  return undefined;
}

/** Trims and validates a key; undefined if it is blank. Errors contain `source`, never the value. */
export function validateKey(text: string | undefined, source: string, what = 'key'): string | undefined {
  const key = text?.trim() ?? '';
  if (key === '') return undefined;
  // Such a key cannot be sent in a header, and the error of fetch would name neither the reason nor the key.
  if (!/^[\x20-\x7e]+$/.test(key))
    throw new PolypodError(
      'bad-request',
      `the ${what} in ${source} contains a line break or an unprintable character: copy it again`,
    );
  return key;
}

/** The vendor's base URL: from its usual environment variable if set, else the default. */
export function vendorBaseUrl(vendor: Vendor, env: Environment): string {
  const { baseUrlEnv } = vendor;
  const text = baseUrlEnv === undefined ? undefined : env[baseUrlEnv]?.trim();
  if (text === undefined || text === '') return vendor.baseUrl;
  const url = vendor.api === 'ollama' ? ollamaUrl(text) : httpUrl(text);
  if (url === undefined)
    throw new PolypodError(
      'bad-request',
      `${baseUrlEnv} is not an http or https address: write it like ${vendor.baseUrl}`,
    );
  const { baseUrlEnvPath = '' } = vendor;
  return url.endsWith(baseUrlEnvPath) ? url : url + baseUrlEnvPath;
}

/** Validates a base URL and strips trailing slashes; undefined if it is invalid. */
export function httpUrl(text: string): string | undefined {
  const trimmed = text.trim();
  if (!URL.canParse(trimmed)) return undefined;
  const { protocol, username, password, search, hash } = new URL(trimmed);
  if (protocol !== 'http:' && protocol !== 'https:') return undefined;
  // fetch rejects credentials in a URL, and a path appended after `?` or `#` would be lost.
  if (username !== '' || password !== '' || search !== '' || hash !== '') return undefined;
  return trimmed.replace(/\/+$/, '');
}

/**
 * Parses OLLAMA_HOST like Ollama does: with a scheme, the default port is the scheme's, without one it is 11434; the host is
 * optional. The server uses the same variable as its listen address, so "all interfaces" is replaced with loopback.
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
