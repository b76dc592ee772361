/** Names for copies beside objects of the same name. */

/** `photo (2).jpg` for the second object that would be `photo.jpg`. */
export function numberedKey(key: string, number: number): string {
  const [name, dot] = [key.lastIndexOf('/') + 1, key.lastIndexOf('.')]
  const end = dot > name ? dot : key.length
  return number === 1 ? key : `${key.slice(0, end)} (${number})${key.slice(end)}`
}
