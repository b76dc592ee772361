/** Formats and parses the dates of headers and documents. Internally a time is milliseconds since 1970, UTC. */

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const TIME = '(\\d{2}):(\\d{2}):(\\d{2})'
const FIXED = new RegExp(`^[A-Z][a-z]{2}, (\\d{2}) ([A-Z][a-z]{2}) (\\d{4}) ${TIME} (?:GMT|UTC)$`)
const OBSOLETE = new RegExp(`^[A-Z][a-z]{5,8}, (\\d{2})-([A-Z][a-z]{2})-(\\d{2}) ${TIME} GMT$`)
const ASCTIME = new RegExp(`^[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([ \\d]\\d) ${TIME} (\\d{4})$`)
const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?:[Zz]|([+-])(\d{2}):?(\d{2}))?)?$/

/** R5, R17. `Sun, 06 Nov 1994 08:49:37 GMT`. */
export function formatHttpDate(ms: number): string {
  const day = Math.floor(ms / DAY_MS)
  const seconds = Math.floor((ms - day * DAY_MS) / 1000)
  return `${httpDayOf(day)}${MINUTES[Math.floor(seconds / 60)]}${HTTP_SECONDS[seconds % 60]}`
}

/** `Sun, 06 Nov 1994 `. */
function httpDayOf(day: number): string {
  const { year, month, date } = calendarDay(day)
  if (!isFourDigits(year)) return new Date(day * DAY_MS).toUTCString().slice(0, -'00:00:00 GMT'.length)
  return `${WEEKDAYS[(((day + 4) % 7) + 7) % 7]}, ${PAIRS[date]} ${MONTHS[month - 1]} ${fourDigits(year)} `
}

/** R17. `2026-11-15T02:31:00.000Z`. */
export function formatTimestamp(ms: number): string {
  const day = Math.floor(ms / DAY_MS)
  const rest = ms - day * DAY_MS
  return (
    dayOf(day) + MINUTES[Math.floor(rest / 60_000)] + SECONDS[Math.floor(rest / 1000) % 60] + FRACTIONS[rest % 1000]
  )
}

/** `2026-11-15T`. */
function dayOf(day: number): string {
  const { year, month, date } = calendarDay(day)
  // Other years have a sign and another width, which counts from the end.
  if (!isFourDigits(year)) return new Date(day * DAY_MS).toISOString().slice(0, -13)
  return `${fourDigits(year)}-${PAIRS[month]}-${PAIRS[date]}T`
}

const isFourDigits = (year: number): boolean => year >= 0 && year <= 9999
const fourDigits = (year: number): string => PAIRS[Math.floor(year / 100)]! + PAIRS[year % 100]!

/**
 * The Gregorian date of a day counted from 1970-01-01, by arithmetic: `Date` takes ten times as long, and a page of a
 * listing shows a thousand dates. Eras of 400 years begin on 1 March, so that a leap day is the last day of its year.
 */
function calendarDay(day: number): { readonly year: number; readonly month: number; readonly date: number } {
  const shifted = day + 719_468
  const era = Math.floor(shifted / 146_097)
  const dayOfEra = shifted - era * 146_097
  const leapDays = Math.floor(dayOfEra / 1_460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096)
  const yearOfEra = Math.floor((dayOfEra - leapDays) / 365)
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const fromMarch = Math.floor((5 * dayOfYear + 2) / 153)
  const month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  return { year, month, date: dayOfYear - Math.floor((153 * fromMarch + 2) / 5) + 1 }
}

/** Writes `formatTimestamp(ms)` as bytes into a buffer that has space for it; returns the end offset. */
export function writeTimestamp(ms: number, to: Uint8Array, start: number): number {
  const day = Math.floor(ms / DAY_MS)
  let at = writeDay(day, to, start)
  const rest = ms - day * DAY_MS
  const seconds = Math.floor(rest / 1000)
  const fraction = rest - seconds * 1000
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  at = writePair(hours, to, at)
  to[at++] = COLON
  at = writePair(minutes - hours * 60, to, at)
  to[at++] = COLON
  at = writePair(seconds - minutes * 60, to, at)
  to[at++] = POINT
  const hundreds = Math.floor(fraction / 100)
  to[at++] = ZERO + hundreds
  at = writePair(fraction - hundreds * 100, to, at)
  to[at++] = ZULU
  return at
}

function writeDay(day: number, to: Uint8Array, start: number): number {
  const { year, month, date } = calendarDay(day)
  let at = start
  if (!isFourDigits(year)) {
    for (const character of dayOf(day)) to[at++] = character.charCodeAt(0)
    return at
  }
  const century = Math.floor(year / 100)
  at = writePair(century, to, at)
  at = writePair(year - century * 100, to, at)
  to[at++] = DASH
  at = writePair(month, to, at)
  to[at++] = DASH
  at = writePair(date, to, at)
  to[at++] = DAY_END
  return at
}

/** Upper bound of the bytes that `writeTimestamp` writes. */
export const TIMESTAMP_BYTES_MAX = 32

const [ZERO, DASH, DAY_END, COLON, POINT, ZULU] = Buffer.from('0-T:.Z') as unknown as [
  number,
  number,
  number,
  number,
  number,
  number,
]

function writePair(value: number, to: Uint8Array, at: number): number {
  const tens = Math.floor(value / 10)
  to[at] = ZERO + tens
  to[at + 1] = ZERO + value - tens * 10
  return at + 2
}

const DAY_MS = 86_400_000
const digits = (value: number, count: number): string => String(value).padStart(count, '0')
const PAIRS = Array.from({ length: 100 }, (_, n) => digits(n, 2))
const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']

/** Precomputed in as few pieces as fit in memory, since joining pieces dominates the cost. */
const MINUTES = Array.from({ length: 1440 }, (_, n) => `${digits(Math.floor(n / 60), 2)}:${digits(n % 60, 2)}:`)
const SECONDS = Array.from({ length: 60 }, (_, n) => `${digits(n, 2)}.`)
const HTTP_SECONDS = Array.from({ length: 60 }, (_, n) => `${digits(n, 2)} GMT`)
const FRACTIONS = Array.from({ length: 1000 }, (_, n) => `${digits(n, 3)}Z`)

/** The three formats of RFC 7231; undefined for anything else, and for dates and times that do not exist. */
export function parseHttpDate(text: string): number | undefined {
  const trimmed = text.trim()
  const fixed = FIXED.exec(trimmed)
  if (fixed !== null) return moment(Number(fixed[3]), monthOf(fixed[2]), fixed[1], fixed.slice(4))
  const obsolete = OBSOLETE.exec(trimmed)
  if (obsolete !== null) {
    // A two-digit year: no date in this system is before 1970.
    const year = Number(obsolete[3])
    return moment(year < 70 ? 2000 + year : 1900 + year, monthOf(obsolete[2]), obsolete[1], obsolete.slice(4))
  }
  const asctime = ASCTIME.exec(trimmed)
  if (asctime === null) return undefined
  return moment(Number(asctime[6]), monthOf(asctime[1]), asctime[2], asctime.slice(3, 6))
}

/**
 * R27. ISO 8601: a date, or a date and a time with optional seconds, fraction and zone; no zone means UTC. Undefined
 * for anything else, and for dates and times that do not exist.
 */
export function parseTimestamp(text: string): number | undefined {
  const match = ISO.exec(text.trim())
  if (match === null) return undefined
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', sign, zoneHour, zoneMinute] = match
  const ms = moment(Number(year), Number(month) - 1, day, [hour, minute, second])
  if (ms === undefined) return undefined
  const [offsetHours, offsetMinutes] = [Number(zoneHour ?? 0), Number(zoneMinute ?? 0)]
  if (offsetHours > 23 || offsetMinutes > 59) return undefined
  const offset = (offsetHours * 60 + offsetMinutes) * 60_000 * (sign === '-' ? -1 : 1)
  return ms + Number(fraction.padEnd(3, '0').slice(0, 3)) - offset
}

const monthOf = (name: string | undefined): number => MONTHS.indexOf(name ?? '')

/** Date.UTC would roll the 31st of a short month into the next month, and hour 25 into the next day. */
function moment(year: number, month: number, day: string | undefined, time: readonly string[]): number | undefined {
  const [hour, minute, second] = time.map(Number) as [number, number, number]
  if (hour > 23 || minute > 59 || second > 59 || month < 0 || month > 11 || year < 1000) return undefined
  const ms = Date.UTC(year, month, Number(day), hour, minute, second)
  return new Date(ms).getUTCDate() === Number(day) ? ms : undefined
}
