/** The retention that a form describes: a mode and the last day. */

export type LockMode = 'governance' | 'compliance'

export interface Retention {
  readonly mode: LockMode
  readonly until: Date
}

export interface RetentionChoice {
  readonly mode: LockMode
  /** As date fields have it, like 2030-12-31; empty until a day is chosen. */
  readonly day: string
  readonly bypass: boolean
}

export const NO_CHOICE: RetentionChoice = { mode: 'governance', day: '', bypass: false }

const DAY_MS = 86_400_000
/** The server refuses more as a typing error that no one could undo. */
const DAYS_MAX = 36_525

/** The end of the chosen day here, if the server would accept it. */
export function retentionOf({ mode, day }: RetentionChoice, now: Date): Retention | undefined {
  const until = new Date(`${day}T23:59:59`)
  const ms = until.getTime() - now.getTime()
  return Number.isNaN(ms) || ms <= 0 || ms > DAYS_MAX * DAY_MS ? undefined : { mode, until }
}

/** The day so many days from now, for a date field. */
export function dayAfter(days: number, now: Date): string {
  const day = new Date(now.getFullYear(), now.getMonth(), now.getDate() + days)
  const two = (part: number): string => String(part).padStart(2, '0')
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`
}

/** Whether replacing one retention by the other weakens it, which only a bypass of governance allows. */
export const isWeaker = (wanted: Retention | undefined, current: Retention, now: Date): boolean =>
  current.until > now && (wanted === undefined || wanted.mode !== current.mode || wanted.until < current.until)
