import { BlockList, isIP } from 'node:net';

/** Also the address by which virtual machines of Azure reach their host. */
const V4 =
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4';
/** Also the ranges that translate to IPv4 addresses, which could be private. */
const V6 =
  '::/96 ::ffff:0:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 2002::/16 fc00::/7 fe80::/9 ff00::/8';

const PRIVATE = new BlockList();
for (const [family, ranges] of [
  ['ipv4', V4],
  ['ipv6', V6],
] as const)
  for (const range of ranges.split(' ')) {
    const [network = '', prefix] = range.split('/');
    PRIVATE.addSubnet(network, Number(prefix), family);
  }

/** Whether an address is not public: of this machine, a private network or a special use. IPv4 in IPv6 counts as IPv4. */
export function isPrivateAddress(address: string): boolean {
  const plain = address.replace(/%.*$/, '');
  const family = isIP(plain);
  if (family === 0) return true;
  return PRIVATE.check(plain, family === 4 ? 'ipv4' : 'ipv6');
}
