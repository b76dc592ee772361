/**
 * Damage to files of object bytes: bits, blocks, ends, whole files. A damaged object fails with an error and never
 * returns wrong bytes; the scrubber reports every damaged object; maintenance of a damaged store damages nothing else.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Random } from '../../src/lib/random.ts'
import { openFolder } from '../../src/server/compose.ts'
import { chance } from './chance.ts'
import { settle } from './maintenance.ts'
import type { Expectation } from './model.ts'
import { build, lookAtAll, scrubAll } from './rot.ts'
import { judge, type Suite } from './suite.ts'

const DAMAGES = 60
const BLOCK_BYTES = 4096
const KINDS = ['flip', 'flip', 'flip', 'zero', 'truncate', 'delete'] as const

export interface RotTotal {
  damages: number
  harmless: number
  hurtVersions: number
  readonly problems: string[]
}

export const newRotTotal = (): RotTotal => ({ damages: 0, harmless: 0, hurtVersions: 0, problems: [] })

/** Without the empty file that names the store. */
function blobFiles(folder: string): string[] {
  const blobs = join(folder, 'blobs')
  const names = readdirSync(blobs, { recursive: true, encoding: 'utf8' })
  return names.map(name => join(blobs, name)).filter(path => statSync(path).isFile() && statSync(path).size > 0)
}

/** Damages one file and describes how. */
function damage(folder: string, random: Random): string {
  const below = (limit: number): number => Math.floor(random.fraction() * limit)
  const files = blobFiles(folder)
  const path = files[below(files.length)]!
  const kind = KINDS[below(KINDS.length)]!
  const bytes = readFileSync(path)
  // The first record's header is hit more often than its size suggests: a walk through the file starts with it.
  const at = random.fraction() < 0.2 ? BLOCK_BYTES + below(36) : below(bytes.length)
  const label = `${kind} ${path.slice(folder.length)} at ${at}`
  if (kind === 'delete') rmSync(path)
  else if (kind === 'truncate') truncateSync(path, at)
  else {
    if (kind === 'flip') bytes[at]! ^= 1 << below(8)
    else bytes.fill(0, Math.min(at, bytes.length), Math.min(at + BLOCK_BYTES, bytes.length))
    writeFileSync(path, bytes)
  }
  return label
}

/** Damages one file of a copy of the store and checks everything, before and after maintenance. */
export async function hurtOnce(
  pristine: string,
  folder: string,
  expectation: Expectation,
  random: Random,
  total: RotTotal,
): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  cpSync(pristine, folder, { recursive: true, filter: path => !path.endsWith('.sock') })
  const what = damage(folder, random)
  const problem = (text: string): void => void total.problems.push(`${what}: ${text}`)
  const { store, close } = await openFolder({ folder })
  const before = await lookAtAll(store, expectation)
  for (const label of before.wrong) problem(`${label} has other bytes`)
  for (const label of before.missing) problem(`${label} is said not to be there`)
  const { hurt } = await scrubAll(store)
  for (const label of before.unreadable) if (!hurt.has(label)) problem(`the scrubber does not name ${label}`)
  if (before.unreadable.length === 0 && hurt.size > 0) problem(`the scrubber names ${[...hurt]}, all of them readable`)
  await settle(store).catch(error => problem(`maintenance: ${error}`))
  const after = await lookAtAll(store, expectation)
  for (const label of after.wrong) problem(`${label} has other bytes after maintenance`)
  const hurtBefore = new Set(before.unreadable)
  for (const label of [...after.unreadable, ...after.missing]) {
    if (!hurtBefore.has(label)) problem(`${label} was readable before maintenance`)
  }
  await close()
  total.damages++
  total.hurtVersions += before.unreadable.length
  if (before.unreadable.length === 0) total.harmless++
}

export const bitRot: Suite = {
  name: 'bit-rot',
  async run({ seed, cycles = DAMAGES, scratch }) {
    mkdirSync(scratch, { recursive: true })
    const pristine = join(scratch, 'pristine')
    const expectation = await build(pristine)
    const total = newRotTotal()
    for (let n = 1; n <= cycles; n++) {
      await hurtOnce(pristine, join(scratch, 'data'), expectation, chance(seed, n), total)
    }
    if (total.hurtVersions === 0) total.problems.push('no damage hurt anything: the check is blind')
    const { damages, harmless, hurtVersions } = total
    const figures = `${damages} damages, ${harmless} harmless, ${hurtVersions} versions answered with an error, 0 wrong`
    return judge(total.problems, figures)
  },
}
