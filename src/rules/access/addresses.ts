/** Internet addresses and ranges, as conditions compare them. */

export interface AddressRange {
  /** 4 or 16. */
  readonly address: readonly number[]
  readonly bits: number
}

const OCTET = /^(?:0|[1-9]\d{0,2})$/
const GROUP = /^[0-9a-fA-F]{1,4}$/
const MAPPED = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]

/**
 * The bytes of an address; undefined for anything else. An octet with a leading zero is refused, since readers differ
 * on whether it is octal. An IPv4 address inside an IPv6 one is the IPv4 address: a dual-stack socket reports it so.
 */
export function readAddress(text: string): readonly number[] | undefined {
  const bytes = text.includes(':') ? readV6(text) : readV4(text)
  const isMapped = bytes?.length === 16 && MAPPED.every((byte, index) => bytes[index] === byte)
  return isMapped ? bytes.slice(MAPPED.length) : bytes
}

function readV4(text: string): number[] | undefined {
  const octets = text.split('.')
  if (octets.length !== 4 || !octets.every(octet => OCTET.test(octet) && Number(octet) < 256)) return undefined
  return octets.map(Number)
}

function readV6(text: string): number[] | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const [head, tail] = [readGroups(halves[0]!), readGroups(halves[1] ?? '')]
  if (head === undefined || tail === undefined) return undefined
  // Only the very end of an address may be written in octets.
  if (halves.length === 2 && halves[0]!.includes('.')) return undefined
  const gap = 16 - head.length - tail.length
  if (halves.length === 1 ? gap !== 0 : gap < 2) return undefined
  return [...head, ...new Array<number>(gap).fill(0), ...tail]
}

function readGroups(text: string): number[] | undefined {
  if (text === '') return []
  const groups = text.split(':')
  const bytes: number[] = []
  for (const [index, group] of groups.entries()) {
    const octets = index === groups.length - 1 && group.includes('.') ? readV4(group) : undefined
    if (octets !== undefined) bytes.push(...octets)
    else if (GROUP.test(group)) bytes.push(Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff)
    else return undefined
  }
  return bytes
}

export function readRange(text: string): AddressRange | undefined {
  const [written, size, ...more] = text.split('/')
  const address = readAddress(written!)
  if (address === undefined || more.length > 0) return undefined
  const all = address.length * 8
  if (size === undefined) return { address, bits: all }
  if (!/^(?:0|[1-9]\d{0,2})$/.test(size)) return undefined
  // The size of a range in mapped form counts the bits before the IPv4 address too.
  const isMapped = written!.includes(':') && address.length === 4
  const bits = isMapped ? Number(size) - MAPPED.length * 8 : Number(size)
  return bits < 0 || bits > all ? undefined : { address, bits }
}

/** IPv4 addresses lie in no IPv6 range and the other way round, not even in one of size 0. */
export function contains(range: AddressRange, address: readonly number[]): boolean {
  if (range.address.length !== address.length) return false
  return range.address.every((byte, index) => {
    const bits = Math.min(8, Math.max(0, range.bits - index * 8))
    return byte >> (8 - bits) === address[index]! >> (8 - bits)
  })
}
