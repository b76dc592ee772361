/** The findings of the last comparison by record key, for all processes and the next start. */
import { join } from 'node:path'
import type { Disk } from '../../lib/disk.ts'
import { replaceFile } from '../../lib/replace-file.ts'
import type { CopyFindings } from './compare.ts'
import { FINDINGS_FILE, openIfExists } from './files.ts'

const TITLE = 'holdfast findings 1'
const LINE = /^([a-z]+) ((?:[0-9a-f]{2})+)$/
const END = /^end (\d+)$/

interface FoundKeys {
  readonly keys: readonly Buffer[]
  /** Kinds of records, by the first byte of their key, with more findings than are listed. */
  readonly more: readonly number[]
}

const NONE: FoundKeys = { keys: [], more: [] }

export async function writeFindings(disk: Disk, folder: string, { named, more }: CopyFindings): Promise<void> {
  const lines = named.map(({ kind, key }) => `${kind} ${key.toString('hex')}\n`)
  for (const kind of more) lines.push(`more ${Buffer.from([kind]).toString('hex')}\n`)
  await replaceFile(disk, join(folder, FINDINGS_FILE), Buffer.from(`${TITLE}\n${lines.join('')}end ${lines.length}\n`))
}

/** Empty when the file does not exist, or was written by a version before 0.2.0, which left it empty. */
export async function readFindings(disk: Disk, folder: string): Promise<FoundKeys> {
  const file = await openIfExists(disk, join(folder, FINDINGS_FILE))
  if (file === undefined) return NONE
  try {
    const bytes = Buffer.alloc(await file.size())
    await file.read([bytes], 0)
    const [title, ...lines] = bytes.toString('latin1').trimEnd().split('\n')
    const count = END.exec(lines.at(-1) ?? '')?.[1]
    if (title !== TITLE || count !== String(lines.length - 1)) return NONE
    const keys: Buffer[] = []
    const more: number[] = []
    for (const line of lines.slice(0, -1)) {
      const [, kind, hex] = LINE.exec(line) ?? []
      if (hex === undefined) continue
      if (kind === 'more') more.push(Number.parseInt(hex, 16))
      else keys.push(Buffer.from(hex, 'hex'))
    }
    return { keys, more }
  } finally {
    await file.close()
  }
}
