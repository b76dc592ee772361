/** Values of headers as text. A browser hands them over as one character per byte. */

/** Where the server finds bytes that are no UTF-8: as many characters above this one as the byte says. */
const BYTES_FROM = 0xf700
/** Text that would not become the same bytes again. */
const AMBIGUOUS = /[\ufffd\uf780-\uf7ff]/

/** Valid UTF-8 is decoded. Anything else keeps its bytes, so that a copy has the very same value. */
export function headerText(wire: string): string {
  const text = new TextDecoder().decode(Uint8Array.from(wire, char => char.charCodeAt(0)))
  if (!AMBIGUOUS.test(text)) return text
  return wire.replace(/[\x80-\xff]/g, byte => String.fromCharCode(BYTES_FROM + byte.charCodeAt(0)))
}
