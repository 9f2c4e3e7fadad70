import { isIPv4, isIPv6 } from 'node:net';

/**
 * What limits per address count by: an IPv4 address itself, also where it is written as IPv6, and the /64 network of an IPv6
 * address, all of which belongs to one customer.
 */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  if (isIPv4(plain) || !isIPv6(plain)) return plain;
  const [before = '', after] = plain.toLowerCase().split('::');
  const first = groupsIn(before);
  const last = after === undefined ? [] : groupsIn(after);
  const gap = after === undefined ? 0 : Math.max(0, 8 - first.length - last.length);
  const groups = [...first, ...Array<string>(gap).fill('0'), ...last];
  if (isLoopback(plain)) return plain;
  return `${groups.slice(0, 4).join(':')}::/64`;
}

/** Whether only programs on this machine have this address. */
export function isLoopback(address: string): boolean {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  return isIPv4(plain) ? plain.startsWith('127.') : plain === '::1';
}

/** Without leading zeros; an IPv4 address at the end stands for two groups. */
function groupsIn(text: string): readonly string[] {
  if (text === '') return [];
  return text
    .split(':')
    .flatMap((group) => (group.includes('.') ? ['0', '0'] : [group.replace(/^0+(?=.)/, '')]));
}
