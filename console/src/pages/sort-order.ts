/** The order of a listing. Folders come first, except by name, where the server's order is kept. */
import type { Entry } from '../objects/listing.ts'

export interface SortOrder {
  readonly by: 'name' | 'size' | 'time'
  readonly isDown: boolean
}

const sizeOf = (entry: Entry): number => (entry.kind === 'object' ? entry.size : -1)
const timeOf = (entry: Entry): number => (entry.kind === 'folder' ? -1 : entry.modifiedAt.getTime())

export function sorted(entries: readonly Entry[], { by, isDown }: SortOrder): readonly Entry[] {
  if (by === 'name') return isDown ? entries.toReversed() : entries
  const measure = by === 'size' ? sizeOf : timeOf
  const sign = isDown ? -1 : 1
  return entries.toSorted((one, other) => {
    const folders = Number(other.kind === 'folder') - Number(one.kind === 'folder')
    return folders !== 0 ? folders : sign * (measure(one) - measure(other))
  })
}
