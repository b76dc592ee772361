/** Lifecycle rules as English sentences. */
import { bytesText, countText, visibleText } from '../format.ts'
import type { LifecycleRuleForm } from '../rules/lifecycle-document.ts'

/** A number as typed may be anything, until the server has judged it. */
function daysText(days: string): string {
  if (!/^\d+$/.test(days)) return `${visibleText(days === '' ? '?' : days)} days`
  return days === '1' ? '1 day' : `${countText(Number(days))} days`
}

const sizeText = (bytes: string): string => (/^\d+$/.test(bytes) ? bytesText(Number(bytes)) : visibleText(bytes))

type Filter = Pick<LifecycleRuleForm, 'prefix' | 'tags' | 'largerThan' | 'smallerThan'>

/** The things that a rule applies to, as in "objects under logs/". */
function things(noun: string, { prefix, tags, largerThan, smallerThan }: Filter): string {
  const tagged = tags.map(([name, value]) => visibleText(`${name}=${value}`)).join(' and ')
  const limits = [
    ...(prefix === '' ? [] : [`under ${visibleText(prefix)}`]),
    ...(tagged === '' ? [] : [`tagged ${tagged}`]),
    ...(largerThan === '' ? [] : [`larger than ${sizeText(largerThan)}`]),
    ...(smallerThan === '' ? [] : [`smaller than ${sizeText(smallerThan)}`]),
  ]
  return limits.length === 0 ? `all ${noun}` : `${noun} ${limits.join(', ')}`
}

function expirySentences(form: LifecycleRuleForm): string[] {
  const { expiry, days, date } = form
  if (expiry === 'never') return []
  if (expiry === 'markers') return [`Remove ${things('delete markers', form)} that have no version left.`]
  if (expiry === 'date') return [`Delete ${things('objects', form)} on ${date === '' ? '?' : date}.`]
  return [`Delete ${things('objects', form)} ${daysText(days)} after they were written.`]
}

function noncurrentSentences(form: LifecycleRuleForm): string[] {
  const { hasNoncurrent, noncurrentDays, keepNewest } = form
  if (!hasNoncurrent) return []
  const when =
    noncurrentDays === '' ? 'as soon as they are replaced' : `${daysText(noncurrentDays)} after they were replaced`
  const kept = keepNewest === '' ? '' : `, but keep the newest ${visibleText(keepNewest)}`
  return [`Delete ${things('noncurrent versions', form)} ${when}${kept}.`]
}

export function lifecycleSentences(form: LifecycleRuleForm): string[] {
  const { abortDays } = form
  const abort = `Abort ${things('unfinished uploads', form)} ${daysText(abortDays)} after they began.`
  return [...expirySentences(form), ...noncurrentSentences(form), ...(abortDays === '' ? [] : [abort])]
}
