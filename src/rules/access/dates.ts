const DATE = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:\d\d))?$/
const EPOCH_SECONDS = /^\d{1,12}$/
const MINUTE_MS = 60_000

/**
 * Parses a condition's date, ISO 8601 or seconds since 1970, into milliseconds. It is parsed field by field, since
 * runtimes differ on dates such as 30 February, which are refused.
 */
export function readDate(text: string): number | undefined {
  if (EPOCH_SECONDS.test(text)) return Number(text) * 1000
  const match = DATE.exec(text)
  if (match === null) return undefined
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(part => Number(part ?? 0))
  if (hour! > 23 || minute! > 59 || second! > 59) return undefined
  const fraction = Number((match[7] ?? '').padEnd(3, '0').slice(0, 3))
  const at = Date.UTC(year!, month! - 1, day, hour, minute, second, fraction)
  const read = new Date(at)
  // Date.UTC maps years below 100 to 19xx and rolls excess months and days over.
  if (read.getUTCFullYear() !== year || read.getUTCMonth() !== month! - 1 || read.getUTCDate() !== day) return undefined
  return at - zoneMinutes(match[8]) * MINUTE_MS
}

function zoneMinutes(zone: string | undefined): number {
  if (zone === undefined || zone === 'Z') return 0
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4, 6))
  return zone.startsWith('-') ? -minutes : minutes
}
