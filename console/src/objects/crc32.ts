/** CRC-32, as the server checks it. The browser's own digests exist only on pages with HTTPS. */
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  return crc
})

/** Bytes at a time: a few milliseconds, so that the page stays responsive. */
const SLICE_BYTES = 2 ** 20
const START = 0xffffffff

function updated(crc: number, bytes: Uint8Array): number {
  let next = crc
  for (const byte of bytes) next = (next >>> 8) ^ TABLE[(next ^ byte) & 0xff]!
  return next
}

function base64Of(crc: number): string {
  const sum = ~crc >>> 0
  return btoa(String.fromCharCode(sum >>> 24, (sum >>> 16) & 0xff, (sum >>> 8) & 0xff, sum & 0xff))
}

export const crc32Base64 = (text: string): string => base64Of(updated(START, new TextEncoder().encode(text)))

export async function crc32OfBlob(blob: Blob, signal: AbortSignal): Promise<string> {
  let crc = START
  for (let at = 0; at < blob.size; at += SLICE_BYTES) {
    signal.throwIfAborted()
    crc = updated(crc, new Uint8Array(await blob.slice(at, at + SLICE_BYTES).arrayBuffer()))
  }
  return base64Of(crc)
}
