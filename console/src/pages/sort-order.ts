/** The order of a listing. Folders come first, except by name, where the server's order is kept. */
import type { Entry } from '../objects/listing.ts'
import { ReversedList, type Rows } from '../objects/paged-list.ts'

export interface SortOrder {
  readonly by: 'name' | 'size' | 'time'
  readonly isDown: boolean
}

const sizeOf = (entry: Entry): number => (entry.kind === 'object' ? entry.size : -1)
const timeOf = (entry: Entry): number => (entry.kind === 'folder' ? -1 : entry.modifiedAt.getTime())

export function sorted(entries: Rows<Entry>, { by, isDown }: SortOrder): Rows<Entry> {
  if (by === 'name') return isDown ? new ReversedList(entries) : entries
  const measure = by === 'size' ? sizeOf : timeOf
  const sign = isDown ? -1 : 1
  return [...entries].sort((one, other) => {
    const folders = Number(other.kind === 'folder') - Number(one.kind === 'folder')
    return folders !== 0 ? folders : sign * (measure(one) - measure(other))
  })
}
