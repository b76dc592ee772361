/** Commands of the command line for this server, as a person would type them. */
import type { AdminApi } from '../api/admin-api.ts'

export type Settings = AdminApi['GetSettings']['output']['settings']

/** Safe in a shell: everything else is put between quotes. */
const word = (text: string): string => (/^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

const PLACES = ['data', 'meta', 'blobs', 'cluster'] as const

/** A command on the folders of the server, while it is stopped. */
export function folderCommand(name: string, settings: Settings): string {
  const flags = PLACES.flatMap(place => {
    const value = settings[place]
    return typeof value === 'string' ? [`--${place}`, word(value)] : []
  })
  return ['holdfast', name, ...flags].join(' ')
}

/** From any machine that reaches the console. */
export const backupCommand = (origin: string): string => `holdfast backup /backups/main --endpoint ${word(origin)}`
