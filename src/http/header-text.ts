/**
 * The values of headers as text, and back to the very bytes that were sent. On the wire a value is bytes, which Node
 * hands over and takes as a character each. What is UTF-8 becomes the text that it means. What is not keeps its bytes,
 * each as a character of a range that nobody else uses; text that has such characters already is kept as bytes, too.
 */
const BYTES_FROM = 0xf700
const BEYOND_ASCII = /[^\0-\x7f]/
const EACH_BEYOND_ASCII = /[^\0-\x7f]/gu
const HIGH_BYTES = /[\x80-\xff]/g
const AMBIGUOUS = /[\ufffd\uf780-\uf7ff]/

export function headerText(wire: string): string {
  if (!BEYOND_ASCII.test(wire)) return wire
  const text = Buffer.from(wire, 'latin1').toString('utf8')
  if (!AMBIGUOUS.test(text)) return text
  return wire.replace(HIGH_BYTES, byte => String.fromCharCode(BYTES_FROM + byte.charCodeAt(0)))
}

function wireCharacter(character: string): string {
  const byte = character.charCodeAt(0) - BYTES_FROM
  if (byte >= 0x80 && byte <= 0xff) return String.fromCharCode(byte)
  return Buffer.from(character, 'utf8').toString('latin1')
}

/** A character for each byte. */
export const headerWire = (text: string): string =>
  BEYOND_ASCII.test(text) ? text.replace(EACH_BEYOND_ASCII, wireCharacter) : text

const isBlank = (text: string, at: number): boolean => text[at] === ' ' || text[at] === '\t'

/** Without white space at the ends. Space and tab only: a byte of a UTF-8 sequence may look like another kind of it. */
export function trimmed(wire: string): string {
  let [start, end] = [0, wire.length]
  while (start < end && isBlank(wire, start)) start++
  while (end > start && isBlank(wire, end - 1)) end--
  return wire.slice(start, end)
}

const NAME = /^[\w!#$%&'*+\-.^`|~]+$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/

/** Whether a header could be called so and say so: what stands for one elsewhere comes back as one. */
export const canBeHeader = (name: string, value: string): boolean => NAME.test(name) && !CONTROL.test(value)
