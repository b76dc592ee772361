/** When a scrub, a check or a backup started, and how long it took. */
import { timeText } from '../format.ts'
import { serverTexts } from '../texts/server.ts'
import { spentText } from './values.ts'

const t = serverTexts.integrity

interface RoundTimes {
  readonly startedAt?: string
  readonly endedAt?: string
}

export function timesText({ startedAt, endedAt }: RoundTimes): string | undefined {
  if (startedAt === undefined) return undefined
  const from = timeText(new Date(startedAt))
  if (endedAt === undefined) return t.since(from)
  return t.took(from, spentText((Date.parse(endedAt) - Date.parse(startedAt)) / 1000))
}
