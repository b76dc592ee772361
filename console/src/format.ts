/** Numbers and times as people read them. */
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

export function bytesText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10))
  const value = bytes / 1024 ** power
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[power]}`
}

/** Made when first used: the first formats of a page take the browser longer than the rest of its start. */
function lazily<T>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}

const numbers = lazily(() => new Intl.NumberFormat('en'))
const times = lazily(() => new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' }))
const exactTimes = lazily(() => new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' }))

export const countText = (count: number): string => numbers().format(count)
export const timeText = (time: Date): string => times().format(time)
export const exactTimeText = (time: Date): string => exactTimes().format(time)

/**
 * Characters that change the direction of the text around them, or that cannot be seen, are shown by their code: a key
 * must not look like another one.
 */
export const visibleText = (text: string): string =>
  text.replace(
    /[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu,
    char => `\\u{${char.codePointAt(0)!.toString(16)}}`,
  )

/** The last part of a key; a folder keeps its slash. */
export function lastPart(key: string): string {
  const body = key.endsWith('/') ? key.slice(0, -1) : key
  const name = key.slice(body.lastIndexOf('/') + 1)
  return name === '/' ? '(empty)/' : name
}
