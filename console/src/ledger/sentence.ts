/** An entry of the ledger as a sentence. */
import { exactTimeText } from '../format.ts'
import { ledgerTexts } from '../texts/ledger.ts'
import type { LedgerConfiguration, LedgerEntry, LedgerLock } from './entry.ts'

const t = ledgerTexts.sentences

/** The key of the object stands between the two parts; without an object the second one is empty. */
type EntrySentence = readonly [before: string, after: string]

const NO_LOCK: LedgerLock = { hold: null, retention: null }

/** With its time zone, which decides on which day a retention ends. */
const dateText = (time: string): string => exactTimeText(new Date(time))

function configured({ before, after }: LedgerEntry): string {
  const old = before as LedgerConfiguration | null
  const now = after as LedgerConfiguration | null
  if (now === null) return t.configuration
  if (old?.locks !== true) {
    return now.default === null ? t.lockOn : t.lockOnWithDefault(now.default.mode, now.default.days)
  }
  return now.default === null ? t.noDefault : t.lockDefault(now.default.mode, now.default.days)
}

function retained({ before, after }: LedgerEntry): EntrySentence {
  const old = ((before ?? NO_LOCK) as LedgerLock).retention
  const now = ((after ?? NO_LOCK) as LedgerLock).retention
  if (now === null) return t.lift
  if (old === null) return t.retain(now.mode, dateText(now.until))
  return t.retainFrom(now.mode, dateText(now.until), dateText(old.until))
}

function written({ after }: LedgerEntry): EntrySentence {
  const { hold, retention } = (after ?? NO_LOCK) as LedgerLock
  const locks = [
    ...(hold === 'ON' ? [t.withHold] : []),
    ...(retention === null ? [] : [t.withRetention(retention.mode, dateText(retention.until))]),
  ]
  return t.created(locks.join(t.and))
}

const held = ({ after }: LedgerEntry): EntrySentence =>
  ((after ?? NO_LOCK) as LedgerLock).hold === 'ON' ? t.hold : t.release

function clockTimes({ before, after }: LedgerEntry): readonly [string, string] {
  const timeOf = (state: unknown): string => dateText((state as { lockTime: string }).lockTime)
  return [timeOf(before), timeOf(after)]
}

const reasonOf = ({ reason = '' }: LedgerEntry): string => t.reasons[reason] ?? reason

const SENTENCES: Readonly<Record<string, (entry: LedgerEntry) => string | EntrySentence>> = {
  configuration: configured,
  'bucket removed': () => t.bucketRemoved,
  created: written,
  hold: held,
  retention: retained,
  removed: () => t.removed,
  'delete refused': entry => t.deleteRefused(reasonOf(entry)),
  'retention refused': entry => t.retentionRefused(reasonOf(entry)),
  'clock confirmed': entry => t.clockConfirmed(...clockTimes(entry)),
  'key disabled': ({ keyName = '' }) => t.keyDisabled(keyName),
  'key enabled': ({ keyName = '' }) => t.keyEnabled(keyName),
  'key rotated': ({ of = '', keyName = '', version = 0 }) => t.keyRotated(of, keyName, version),
  'keys rewrapped': () => t.keysRewrapped,
}

/** Of a changed entry any field may be missing or of another kind. */
function made(entry: LedgerEntry): string | EntrySentence {
  const other = t.other(entry.what)
  try {
    return SENTENCES[entry.what]?.(entry) ?? other
  } catch {
    return other
  }
}

export function sentenceOf(entry: LedgerEntry): EntrySentence {
  const sentence = made(entry)
  const [before, after] = typeof sentence === 'string' ? [sentence, ''] : sentence
  const bypass = entry.bypass === true && entry.what !== 'removed' ? t.bypass : ''
  const times = entry.times === undefined || entry.times === 1 ? '' : t.times(entry.times)
  return [before, after + bypass + times]
}

export function actorText({ by: { account, user } }: LedgerEntry): string {
  if (user !== undefined) return ledgerTexts.one.user(user, account)
  if (account === 'holdfast') return ledgerTexts.one.server
  return account === 'anonymous' ? ledgerTexts.one.anonymous : account
}
