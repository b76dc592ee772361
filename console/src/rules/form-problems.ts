/** Values of forms that the server would refuse, told before they are sent. Only of documents that a form can show. */
import { rulesTexts } from '../texts/rules.ts'
import type { FormReading } from './element-reader.ts'
import type { LifecycleRuleForm } from './lifecycle-document.ts'
import type { DocumentKind } from './rule-kinds.ts'
import { type LockFields, readLock, readLogging, readWebsite, type WebsiteFields } from './small-documents.ts'
import type { XmlElement } from './xml-text.ts'

/** As many as the server accepts. */
const PERIOD_MAX = { Days: 36_500, Years: 100 } as const

function lockProblem({ mode, unit, period }: LockFields): string | undefined {
  if (mode === '') return undefined
  const isRight = isWhole(period, 1, PERIOD_MAX[unit])
  return isRight ? undefined : rulesTexts.lock.wrongPeriod(PERIOD_MAX[unit], rulesTexts.lock.units[unit])
}

function websiteProblem({ kind, index, hostName }: WebsiteFields): string | undefined {
  const t = rulesTexts.website
  if (kind === 'redirect') return /^[A-Za-z0-9.\-_:[\]]{1,255}$/.test(hostName) ? undefined : t.wrongHost
  return index === '' || index.includes('/') ? t.wrongIndex : undefined
}

const isWhole = (text: string, min: number, max: number): boolean =>
  /^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max

const DAYS_MAX = 2 ** 31 - 1
const isDays = (text: string): boolean => isWhole(text, 1, DAYS_MAX)

/** The first thing that is wrong with one rule. */
export function lifecycleProblem(form: LifecycleRuleForm): string | undefined {
  const { expiry, hasNoncurrent, noncurrentDays, keepNewest, abortDays, largerThan, smallerThan } = form
  const t = rulesTexts.lifecycle.wrong
  const sizes = [largerThan, smallerThan].filter(size => size !== '')
  if (sizes.some(size => !isWhole(size, 0, Number.MAX_SAFE_INTEGER))) return t.size
  if (sizes.length === 2 && Number(largerThan) >= Number(smallerThan)) return t.sizes
  if (expiry === 'days' && !isDays(form.days)) return t.days
  if (expiry === 'date' && form.date === '') return t.date
  if (hasNoncurrent && !isDays(noncurrentDays)) return t.noncurrentDays
  if (hasNoncurrent && keepNewest !== '' && !isWhole(keepNewest, 1, 100)) return t.keepNewest
  if (abortDays !== '' && !isDays(abortDays)) return t.abortDays
  const isNarrow = form.tags.length > 0 || sizes.length > 0
  if (isNarrow && abortDays !== '') return t.narrowUploads
  if (isNarrow && expiry === 'markers') return t.narrowMarkers
  return expiry === 'never' && !hasNoncurrent && abortDays === '' ? t.nothing : undefined
}

type Check = (root: XmlElement) => string | undefined

const checked =
  <F>(read: (root: XmlElement) => FormReading<F>, problemOf: (form: F) => string | undefined): Check =>
  root => {
    const { form, unknown } = read(root)
    return unknown.length > 0 ? undefined : problemOf(form)
  }

const CHECKS: Readonly<Partial<Record<DocumentKind, Check>>> = {
  lock: checked(readLock, lockProblem),
  website: checked(readWebsite, websiteProblem),
  logging: root =>
    root.children.length > 0
      ? checked(readLogging, ({ target }) => (target === '' ? rulesTexts.logging.needed : undefined))(root)
      : undefined,
}

/** Undefined where nothing is wrong, or only the server can tell. */
export const formProblem = (kind: DocumentKind, root: XmlElement | undefined): string | undefined =>
  root === undefined ? undefined : CHECKS[kind]?.(root)
