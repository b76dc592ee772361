/** IP addresses and CIDR ranges as policy conditions compare them. Node parses the addresses and compares the bits. */
import { BlockList, isIP, SocketAddress } from 'node:net'

export interface AddressRange {
  readonly family: 'ipv4' | 'ipv6'
  /** Length of the prefix that addresses in the range share. */
  readonly bits: number
  /** Holds this range alone. */
  readonly subnet: BlockList
}

const FAMILY_BITS = { ipv4: 32, ipv6: 128 } as const
const MAPPED_PREFIX_BITS = 96
const MAPPED_ADDRESS = /^\[::ffff:([0-9a-f]+):([0-9a-f]+)\]$/
const PREFIX_BITS = /^(?:0|[1-9]\d{0,2})$/

/**
 * Undefined for text that is not an address, or that has a zone index (`%eth0`). An IPv4-mapped IPv6 address becomes
 * the IPv4 address, because a dual-stack socket reports IPv4 peers in that form.
 */
export function readAddress(text: string): SocketAddress | undefined {
  const version = text.includes('%') ? 0 : isIP(text)
  if (version === 0) return undefined
  if (version === 4) return new SocketAddress({ address: text, family: 'ipv4' })
  const mapped = mappedAddress(text)
  return new SocketAddress({ address: mapped ?? text, family: mapped === undefined ? 'ipv6' : 'ipv4' })
}

/** The URL parser writes every spelling of an address in one canonical form; SocketAddress does so on Node only. */
function mappedAddress(ipv6: string): string | undefined {
  const match = MAPPED_ADDRESS.exec(new URL(`http://[${ipv6}]`).hostname)
  if (match === null) return undefined
  const [high, low] = [Number.parseInt(match[1]!, 16), Number.parseInt(match[2]!, 16)]
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.')
}

export function readRange(text: string): AddressRange | undefined {
  const [written, size, ...more] = text.split('/')
  const address = readAddress(written!)
  if (address === undefined || more.length > 0) return undefined
  const { family } = address
  if (size !== undefined && !PREFIX_BITS.test(size)) return undefined
  // The prefix of an IPv4-mapped range counts the 96 bits before the IPv4 address.
  const skippedBits = size !== undefined && family === 'ipv4' && written!.includes(':') ? MAPPED_PREFIX_BITS : 0
  const bits = size === undefined ? FAMILY_BITS[family] : Number(size) - skippedBits
  if (bits < 0 || bits > FAMILY_BITS[family]) return undefined
  const subnet = new BlockList()
  subnet.addSubnet(address, bits)
  return { family, bits, subnet }
}

/** No IPv4 address is in an IPv6 range or the reverse, not even in ::/0, where BlockList would find it. */
export function contains({ family, subnet }: AddressRange, address: SocketAddress): boolean {
  return address.family === family && subnet.check(address)
}
