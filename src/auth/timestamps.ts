/** The two formats of a request's time. */
export interface Timestamp {
  /** As in the signed text: `yyyymmddThhmmssZ`. */
  readonly text: string
  readonly ms: number
}

const BASIC = /^\d{8}T\d{6}Z$/
const HTTP_DATE = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/

export const basicText = (ms: number): string => new Date(ms).toISOString().replace(/[-:]|\.\d{3}/g, '')

export const isoText = (ms: number): string => new Date(ms).toISOString()

/** Parses `yyyymmddThhmmssZ`; undefined when it is not a valid time. */
export function basicTimestamp(text: string): Timestamp | undefined {
  if (!BASIC.test(text)) return undefined
  const digits = (start: number, end: number): number => Number(text.slice(start, end))
  const [year, month, day] = [digits(0, 4), digits(4, 6), digits(6, 8)]
  const [hour, minute, second] = [digits(9, 11), digits(11, 13), digits(13, 15)]
  // Date.UTC maps years below 100 to 19xx.
  if (year < 1000 || month < 1 || month > 12 || hour > 23 || minute > 59 || second > 59) return undefined
  const ms = Date.UTC(year, month - 1, day, hour, minute, second)
  // Date.UTC rolls day 31 of a shorter month over to the next month.
  return new Date(ms).getUTCDate() === day ? { text, ms } : undefined
}

/** Parses a `Date` header in either format. */
export function dateHeader(text: string): Timestamp | undefined {
  if (!HTTP_DATE.test(text)) return basicTimestamp(text)
  const ms = Date.parse(text)
  return Number.isNaN(ms) ? undefined : { text: basicText(ms), ms }
}
