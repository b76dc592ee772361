/** CRC-32 of short request bodies. The browser's own digests exist only on pages with HTTPS. */
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  return crc
})

export function crc32Base64(text: string): string {
  let crc = 0xffffffff
  for (const byte of new TextEncoder().encode(text)) crc = (crc >>> 8) ^ TABLE[(crc ^ byte) & 0xff]!
  const sum = ~crc >>> 0
  return btoa(String.fromCharCode(sum >>> 24, (sum >>> 16) & 0xff, (sum >>> 8) & 0xff, sum & 0xff))
}
