/**
 * Single bits flipped in the metadata file of a closed store, each checked by a process that may die of it. No loss
 * goes undetected, and a rebuild repairs all damage.
 */
import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Random } from '../../src/lib/random.ts'
import { openFolder } from '../../src/server/compose.ts'
import { round } from '../journal/round.ts'
import { chance } from './chance.ts'
import { Program } from './program.ts'
import { build } from './rot.ts'
import type { FlipVerdict, RebuildVerdict } from './rot-child.ts'
import { judge, type Suite } from './suite.ts'

const FLIPS = 100
const PAGE_BYTES = 4096
const HEAD_BYTES = 48
/** A damaged tree may contain cycles. */
const PATIENCE_MS = 10_000

type Verdict = FlipVerdict | 'died' | 'hung'

/** A child that lives until a flip ends it. */
class Looker {
  readonly #args: readonly string[]
  #child: Program | undefined

  constructor(args: readonly string[]) {
    this.#args = args
  }

  async verdictOf(offset: number, bit: number): Promise<Verdict> {
    const child = (this.#child ??= new Program('rot-child', this.#args))
    const answer = child.nextLine()
    child.send(`${offset} ${bit}`)
    const patience = new AbortController()
    const verdict = await Promise.race([
      answer.then(line => (line ?? 'died') as Verdict),
      wait(PATIENCE_MS, 'hung' as const, { signal: patience.signal }),
    ])
    patience.abort()
    if (verdict === 'died' || verdict === 'hung') await this.end()
    return verdict
  }

  /** In a separate process: the previous one may still have the folder open. */
  async rebuild(): Promise<RebuildVerdict> {
    await this.end()
    this.#child = new Program('rot-child', this.#args)
    const answer = this.#child.nextLine()
    this.#child.send('rebuild')
    return ((await answer) ?? 'not repaired') as RebuildVerdict
  }

  async end(): Promise<void> {
    await this.#child?.kill()
    this.#child = undefined
  }
}

/** Half of the bits are in a page's header and pointers, where a flip loses records that are themselves intact. */
function offsetIn(size: number, random: Random): number {
  const anywhere = Math.floor(random.fraction() * size)
  if (random.fraction() < 0.5) return anywhere
  return anywhere - (anywhere % PAGE_BYTES) + Math.floor(random.fraction() * HEAD_BYTES)
}

async function snapshot(folder: string): Promise<void> {
  const parts = await openFolder({ folder })
  await round(parts)
  await parts.close()
}

export const bitRotMeta: Suite = {
  name: 'bit-rot-meta',
  async run({ seed, cycles = FLIPS, scratch }) {
    mkdirSync(scratch, { recursive: true })
    const pristine = join(scratch, 'pristine')
    const folder = join(scratch, 'data')
    const states = join(scratch, 'expected.json')
    const expectation = await build(pristine)
    await snapshot(pristine)
    writeFileSync(states, JSON.stringify(expectation.save()))
    const { size } = statSync(join(pristine, 'meta', 'data.mdb'))
    const random = chance(seed)
    const looker = new Looker([pristine, folder, states])
    const counts: Partial<Record<Verdict, number>> = {}
    const problems: string[] = []
    let repaired = 0
    try {
      for (let n = 0; n < cycles; n++) {
        const offset = offsetIn(size, random)
        const bit = Math.floor(random.fraction() * 8)
        const verdict = await looker.verdictOf(offset, bit)
        counts[verdict] = (counts[verdict] ?? 0) + 1
        const where = `bit ${bit} at ${offset} of ${size}`
        if (verdict === 'wrong' || verdict === 'silent') problems.push(`${where}: ${verdict}`)
        if (verdict === 'harmless') continue
        if ((await looker.rebuild()) === 'repaired') repaired++
        else problems.push(`${where}: ${verdict}, and not repaired`)
      }
    } finally {
      await looker.end()
    }
    if (Object.keys(counts).every(verdict => verdict === 'harmless'))
      problems.push('no bit hurt anything: the look is blind')
    const figures = Object.entries(counts)
      .filter(([verdict]) => verdict !== 'wrong')
      .map(([verdict, count]) => `${count} ${verdict}`)
    const text = `${cycles} bits turned: ${figures.join(', ')}, ${counts.wrong ?? 0} wrong; ${repaired} repaired`
    return judge(problems, text)
  },
}
