const ASCII = /^[\0-\x7f]*$/

/**
 * Lower case, but only for letters that come back when raised again. A look-alike such as the Kelvin sign falls
 * together with `k` in plain lower-casing, and a name made with it would pass for another.
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
