/** Character references of XML. */
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** The character of a reference without its `&` and `;`. */
export function characterOf(reference: string): string | undefined {
  const [, hexadecimal, decimal] = /^#(?:x([0-9a-f]{1,6})|(\d{1,7}))$/i.exec(reference) ?? []
  if (hexadecimal === undefined && decimal === undefined) return ENTITIES[reference]
  const code = hexadecimal === undefined ? Number(decimal) : Number.parseInt(hexadecimal, 16)
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : undefined
}
