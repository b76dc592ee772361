const ASCII = /^[\0-\x7f]*$/

/**
 * Lower case, but only for letters that round-trip through upper case. Plain lower-casing maps look-alikes such as the
 * Kelvin sign to `k`, so that a name spelt with one would pass for another.
 */
export function foldCase(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase()
  let folded = ''
  for (const letter of text) {
    const lower = letter.toLowerCase()
    folded += lower.toUpperCase() === letter ? lower : letter
  }
  return folded
}
