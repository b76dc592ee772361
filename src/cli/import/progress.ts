/** Progress of an import: a bar on a terminal, an occasional line in a log, nothing with `--json`. */
import { systemClock } from '../../lib/clock.ts'
import type { CommandOutput } from '../command.ts'

const BAR_CHARACTERS = 30
const BAR_MS = 200
const LINE_MS = 10_000

export interface Progress {
  /** Versions done, delete markers included. */
  step(versions: number, bytes: number): void
  expect(versions: number): void
  end(): void
}

export const SILENT: Progress = { step() {}, expect() {}, end() {} }

const size = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`

/** `[#####     ] 50 % 1200 of 2400 versions`; without a total only the number done. */
export function barOf(done: number, total: number | undefined, bytes: number): string {
  if (total === undefined || total === 0) return `${done} versions, ${size(bytes)} copied`
  const share = Math.min(1, done / total)
  const bar = '#'.repeat(Math.floor(share * BAR_CHARACTERS)).padEnd(BAR_CHARACTERS)
  return `[${bar}] ${Math.floor(share * 100)} % ${done} of ${total} versions, ${size(bytes)} copied`
}

export function progressOn(stream: CommandOutput): Progress {
  const isTerminal = stream.isTTY === true
  let [done, bytes] = [0, 0]
  let total: number | undefined
  let shownAt = systemClock.elapsed()
  const show = (): void => {
    const text = barOf(done, total, bytes)
    stream.write(isTerminal ? `\r\x1b[K${text}` : `${text}\n`)
  }
  return {
    step(versions, more) {
      done += versions
      bytes += more
      const now = systemClock.elapsed()
      if (now - shownAt < (isTerminal ? BAR_MS : LINE_MS)) return
      shownAt = now
      show()
    },
    expect(versions) {
      total = versions
    },
    end() {
      if (isTerminal) stream.write('\r\x1b[K')
      else if (done > 0) show()
    },
  }
}
