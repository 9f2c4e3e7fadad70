import { isIPv4, isIPv6 } from 'node:net';

/**
 * Returns the key for limits per address: the IPv4 address, also if it is written as IPv6, or the /64 network
 * of an IPv6 address, which belongs to one customer.
 */
export function networkKey(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  if (isIPv4(plain) || !isIPv6(plain)) return plain;
  const [before = '', after] = plain.toLowerCase().split('::');
  const first = addressGroups(before);
  const last = after === undefined ? [] : addressGroups(after);
  const gap = after === undefined ? 0 : Math.max(0, 8 - first.length - last.length);
  const groups = [...first, ...Array<string>(gap).fill('0'), ...last];
  if (isLoopback(plain)) return plain;
  return `${groups.slice(0, 4).join(':')}::/64`;
}

/** Returns whether an address is reachable only from this machine. */
export function isLoopback(address: string): boolean {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  return isIPv4(plain) ? plain.startsWith('127.') : plain === '::1';
}

/** Removes leading zeros; an IPv4 address at the end counts as two groups. */
function addressGroups(text: string): readonly string[] {
  if (text === '') return [];
  return text
    .split(':')
    .flatMap((group) => (group.includes('.') ? ['0', '0'] : [group.replace(/^0+(?=.)/, '')]));
}
