import { PolypodError, tryOrUndefined } from '../../base/index.ts';
import { isLoopbackUrl } from './loopback-url.ts';

/** The proxies that the environment names, and the hosts that are reached without one. */
export interface Proxies {
  readonly http?: ProxyVariable;
  readonly https?: ProxyVariable;
  /** The entries of NO_PROXY in lower case. */
  readonly bypass: readonly string[];
}

/** A variable and its value. The value can contain a password: no error may contain it. */
interface ProxyVariable {
  readonly name: string;
  readonly value: string;
}

/** The proxy for one request. */
export interface Proxy {
  /** The address without credentials. */
  readonly url: URL;
  /** The variable that names it, for errors. */
  readonly variable: string;
  /** The value of the Proxy-Authorization header. */
  readonly authorization?: string;
}

/** Reads HTTPS_PROXY, HTTP_PROXY and NO_PROXY. Names in lower case take precedence, as in curl. */
export function proxiesFrom(env: Readonly<Record<string, string | undefined>>): Proxies | undefined {
  const variable = (...names: readonly string[]): ProxyVariable | undefined => {
    const name = names.find((candidate) => (env[candidate] ?? '').trim() !== '');
    return name === undefined ? undefined : { name, value: (env[name] ?? '').trim() };
  };
  const http = variable('http_proxy', 'HTTP_PROXY');
  const https = variable('https_proxy', 'HTTPS_PROXY');
  if (http === undefined && https === undefined) return undefined;
  const bypass = (variable('no_proxy', 'NO_PROXY')?.value ?? '').toLowerCase().split(/[\s,]+/);
  return { ...(http && { http }), ...(https && { https }), bypass: bypass.filter((entry) => entry !== '') };
}

/**
 * The proxy for a URL; undefined for a direct connection. Loopback addresses are reached directly, unless NO_PROXY contains
 * `<-loopback>`, as in Chromium.
 */
export function proxyFor(url: string, proxies: Proxies | undefined): Proxy | undefined {
  if (proxies === undefined) return undefined;
  const target = new URL(url);
  const variable = target.protocol === 'https:' ? proxies.https : proxies.http;
  if (variable === undefined || isBypassed(target, proxies.bypass)) return undefined;
  if (isLoopbackUrl(url) && !proxies.bypass.includes(PROXY_LOOPBACK)) return undefined;
  return parseProxy(variable);
}

const PROXY_LOOPBACK = '<-loopback>';

function isBypassed(target: URL, bypass: readonly string[]): boolean {
  const host = hostName(target.hostname);
  const port = target.port || (target.protocol === 'https:' ? '443' : '80');
  return bypass.some((entry) => {
    if (entry === '*') return true;
    const { name, port: onlyPort } = splitEntry(entry);
    if (name === '' || (onlyPort !== undefined && onlyPort !== port)) return false;
    return host === name || (!/^[\d.]+$/.test(name) && host.endsWith(`.${name}`));
  });
}

/** Splits `host:port`, `.suffix`, `*.suffix` and `[::1]:port`. A bare IPv6 address has several colons and no port. */
function splitEntry(entry: string): { readonly name: string; readonly port: string | undefined } {
  const [, bracketed, bracketedPort] = /^\[(.+)\](?::(\d+))?$/.exec(entry) ?? [];
  if (bracketed !== undefined) return { name: bracketed, port: bracketedPort };
  const [, host = entry, port] = /^([^:]+):(\d+)$/.exec(entry) ?? [];
  return { name: hostName(host.replace(/^\*?\./, '')), port };
}

function hostName(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
}

function parseProxy({ name, value }: ProxyVariable): Proxy {
  const text = /^[a-z][a-z\d+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.hostname === '')
    throw new PolypodError(
      'bad-request',
      `${name} is not the address of an HTTP proxy: write it like http://proxy.example.com:3128`,
    );
  const authorization = basicCredentials(url, name);
  const address = new URL(url.origin);
  return { url: address, variable: name, ...(authorization !== undefined && { authorization }) };
}

function basicCredentials({ username, password }: URL, name: string): string | undefined {
  if (username === '' && password === '') return undefined;
  try {
    const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return `Basic ${Buffer.from(text).toString('base64')}`;
  } catch {
    // The cause is left out: it could contain the password.
    throw new PolypodError(
      'bad-request',
      `the user name or password in ${name} has a "%" that encodes no character: write %25 for a percent sign`,
    );
  }
}

/** The passwords in the proxy variables, as they are written and decoded, for redaction. */
export function proxySecrets(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const { http, https } = proxiesFrom(env) ?? {};
  return [http, https].flatMap((variable) => {
    const [, password] = /^(?:[^/]*\/\/)?[^/@]*?:([^/]*)@/.exec(variable?.value ?? '') ?? [];
    return password === undefined ? [] : [password, decodedOrSame(password)];
  });
}

function decodedOrSame(text: string): string {
  return tryOrUndefined(() => decodeURIComponent(text)) ?? text;
}
